provider p { probe a(int ((*x)), void (*((*(f)))(char))[2], int (*signal(int sig, void (*f)(int)))(int)); };
