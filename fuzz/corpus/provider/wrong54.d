provider p {
	probe a(int f(int)(int));
};
