/* What it costs a traced program to begin others, and to load a library again and again.
 *
 *	begin spawn COUNT         runs itself so often, one after the other; each fires once
 *	begin load COUNT LIBRARY  loads it so often, calls its plug(), and unloads it
 *
 * Prints the microseconds of one round, after some that warm up. */
#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>
#include <sys/wait.h>
#include <time.h>

#define WARM_UP 20

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int spawn(char **argv)
{
	char *once[] = {argv[0], "once", NULL};
	extern char **environ;
	pid_t pid;
	int status;

	return posix_spawn(&pid, argv[0], NULL, NULL, once, environ) ||
	       waitpid(pid, &status, 0) != pid || status;
}

static int load(char **argv)
{
	void *library = dlopen(argv[3], RTLD_NOW);
	void (*plug)(int) = library ? (void (*)(int))dlsym(library, "plug") : NULL;

	if (!plug)
		return 1;
	plug(1);
	return dlclose(library);
}

int main(int argc, char **argv)
{
	int (*round)(char **) = argc == 4 ? load : spawn;
	long count = argc > 2 ? atol(argv[2]) : 0;
	double start = 0;

	if (argc < 3) {
		DTRACE_PROBE(begin, once);
		return 0;
	}
	for (long i = -WARM_UP; i < count; i++) {
		if (!i)
			start = now_us();
		if (round(argv))
			return 1;
	}
	printf("%.0f\n", (now_us() - start) / (double)count);
	return 0;
}
