// flags: -ldl
/* A program that loads and unloads a library with probes, again and again.
 *
 *   reload LIBRARY N   after a line on stdin, N times: load it, call its plug(0), unload it; each
 *                      other time after 1 ms. Prints "called N".
 *
 * plug() is called at once, so a tracer that is late misses it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : 0;

	getchar();
	for (long i = 0; i < count; i++) {
		void *library = dlopen(argv[1], RTLD_NOW);
		void (*plug)(int n) = library ? (void (*)(int))dlsym(library, "plug") : NULL;

		if (!plug)
			return 1;
		plug(0);
		dlclose(library);
		if (i % 2)
			usleep(1000);
	}
	printf("called %ld\n", count);
	return 0;
}
