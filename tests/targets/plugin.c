// flags: -rdynamic -fno-omit-frame-pointer -fno-optimize-sibling-calls -ldl
/* A program that loads a library with probes only when told to, and one that fires from a chain of
 * functions.
 *
 *   plugin load LIBRARY     waits for a line, then loads LIBRARY and calls its plug(n) for n = 0..9
 *   plugin run PROGRAM      waits for a line, then becomes PROGRAM
 *   plugin deep             outer() -> middle() -> inner(), which fires deep:end */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/sdt.h>

__attribute__((noinline)) void inner(int n)
{
	usleep(0); /* a leaf function would have no frame */
	DTRACE_PROBE1(deep, end, n);
	usleep(0);
}

__attribute__((noinline)) void middle(int n)
{
	inner(n + 1);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void outer(int n)
{
	middle(n + 1);
	__asm__ volatile("" ::: "memory");
}

static int load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*plug)(int) = library ? (void (*)(int))dlsym(library, "plug") : NULL;

	if (!plug) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	usleep(300000); /* a tracer has time to see it */
	for (int i = 0; i < 10; i++)
		plug(i);
	return 0;
}

int main(int argc, char **argv)
{
	char line[80];

	if (argc == 2 && !strcmp(argv[1], "deep")) {
		outer(1);
		return 0;
	}
	if (argc != 3 || !fgets(line, sizeof(line), stdin))
		return 2;
	if (!strcmp(argv[1], "load"))
		return load(argv[2]);
	execl(argv[2], argv[2], "loop", "10", (char *)NULL);
	return 1;
}
