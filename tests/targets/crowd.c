// flags: -ldl
/* A program that loads a library with probes where little or much is free around it.
 *
 *   crowd LIBRARY COUNT [full]   loads LIBRARY and calls its plug(n) COUNT times; with `full` it
 *                                maps 3 GiB before, which jumps upwards from the library lead into
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : 0;
	void *library;
	void (*plug)(int n);

	if (argc > 3 && mmap(NULL, 3ul << 30, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		return 1;
	library = dlopen(argv[1], RTLD_NOW);
	plug = library ? (void (*)(int n))dlsym(library, "plug") : NULL;
	if (!plug)
		return 1;
	for (long i = 0; i < count; i++)
		plug((int)i);
	return 0;
}
