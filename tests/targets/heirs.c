// flags: -pthread -ldl
/* Children of fork that load and unload libraries with probes. All of them together count what they
 * fire: heirs:own, and plug(n) of the libraries, which fires once.
 *
 *   heirs MODE FIRST SECOND CHILDREN      waits for a line, prints "own N", "first N", "second N"
 *
 *   cycle      children unload what their parent has loaded, and load both, again and again
 *   parallel   children that load both, by turns, at the same time
 *   threads    ... while four other threads of theirs fire
 *   chain      each child is the child of the one before
 *   late       a child whose parent, and the parent of that, have ended two seconds ago */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nopal/sdt.h>

enum { OWN, FIRST, SECOND };

static long *fired; /* shared */
static const char *names[3];
static volatile int is_over;

static void count(int what)
{
	__atomic_add_fetch(&fired[what], 1, __ATOMIC_SEQ_CST);
}

static void own(int times)
{
	for (int i = 0; i < times; i++) {
		count(OWN);
		NOPAL_PROBE(heirs, own, i);
	}
}

static void *load(int which)
{
	void *library = dlopen(names[which], RTLD_NOW);
	void (*plug)(int n) = library ? (void (*)(int))dlsym(library, "plug") : NULL;

	if (!plug) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(1);
	}
	for (int i = 0; i < 10; i++) {
		count(which);
		plug(i);
	}
	return library;
}

static void load_by_turns(int times)
{
	for (int i = 0; i < times; i++) {
		dlclose(load(i % 2 ? SECOND : FIRST));
		own(3);
	}
}

static void *fire(void *arg)
{
	while (!is_over) {
		own(20);
		usleep(50);
	}
	return arg;
}

static void load_among_threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, fire, NULL);
	load_by_turns(6);
	is_over = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void run_children(const char *mode, int children, void *loaded)
{
	for (int i = 0; i < children; i++) {
		if (fork()) {
			if (loaded)
				wait(NULL);
			continue;
		}
		if (loaded)
			dlclose(loaded);
		if (!strcmp(mode, "threads"))
			load_among_threads();
		else
			load_by_turns(6);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
}

static void run_chain(int children)
{
	for (int i = 0; i < children; i++) {
		if (fork()) {
			wait(NULL);
			if (i)
				_exit(0);
			return;
		}
		dlclose(load(i % 2 ? SECOND : FIRST));
		own(3);
	}
	_exit(0);
}

/* The descriptor is closed when the last of them ends. */
static void run_late(void)
{
	char byte;
	int ends[2];

	if (pipe(ends))
		_exit(1);
	if (fork()) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) < 0)
			perror("read");
		return;
	}
	if (fork() || fork())
		_exit(0);
	sleep(2);
	load_by_turns(4);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	names[FIRST] = argv[2];
	names[SECOND] = argv[3];
	fired = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	getchar();
	if (!strcmp(argv[1], "late"))
		run_late();
	else if (!strcmp(argv[1], "chain"))
		run_chain(atoi(argv[4]));
	else
		run_children(argv[1], atoi(argv[4]), strcmp(argv[1], "cycle") ? NULL : load(FIRST));
	printf("own %ld\nfirst %ld\nsecond %ld\n", fired[OWN], fired[FIRST], fired[SECOND]);
	return 0;
}
