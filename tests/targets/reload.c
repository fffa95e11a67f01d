// flags: -ldl
/* A program that loads and unloads libraries with probes, again and again.
 *
 *   reload LIBRARY N [OTHER...]   after a line on stdin, N times: load the library, or one of them
 *                                 after the other, call its plug(0), unload it; each other time
 *                                 after 1 ms. Prints "called N", and how often plug() was at the
 *                                 address of the first time: "same N".
 *
 * plug() is called at once, so a tracer that is late misses it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : 0, same = 0;
	void (*first)(int n) = NULL;

	getchar();
	for (long i = 0; i < count; i++) {
		long which = i % (argc - 2);
		void *library = dlopen(argv[which ? 2 + which : 1], RTLD_NOW);
		void (*plug)(int n) = library ? (void (*)(int))dlsym(library, "plug") : NULL;

		if (!plug)
			return 1;
		plug(0);
		first = first ? first : plug;
		same += plug == first;
		dlclose(library);
		if (i % 2)
			usleep(1000);
	}
	printf("called %ld\nsame %ld\n", count, same);
	return 0;
}
