// flags: -ldl
/* A traced program that must not be debugged.
 *
 *   undebuggable [LIBRARY]   asks for that (PR_SET_DUMPABLE), fires undebuggable:hit 5 times, and
 *                            then, if there is a LIBRARY, loads it and calls its plug(0). It
 *                            prints "went on". */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <sys/sdt.h>

int main(int argc, char **argv)
{
	void *library;
	void (*plug)(int n);

	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	usleep(300000);
	for (int i = 0; i < 5; i++)
		DTRACE_PROBE1(undebuggable, hit, i);
	library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	plug = library ? (void (*)(int))dlsym(library, "plug") : NULL;
	if (plug)
		plug(0);
	puts("went on");
	return 0;
}
