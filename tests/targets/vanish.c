// flags: -pthread -ldl
/* A traced program that passes pointers to memory which another thread gives back all the time.
 *
 *   vanish map N            mappings
 *   vanish heap N           the end of the heap, by brk(2)
 *   vanish library N FILE   text of a library that is loaded and unloaded
 *
 * It does so from the start. After a line on stdin, the probe vanish:text gets the pointer, until
 * it was fired N times and memory was given back 100 times. There is "map", "heap" or "library", if
 * it is mapped. It prints "fired N" at the end. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sys/sdt.h>

#define SIZE  (64 << 10)
#define LEAST 100

static const char *_Atomic text;
static atomic_long given_back;
static atomic_int is_over;
static const char *library;

static void offer(char *memory, const char *what)
{
	if (what)
		strcpy(memory, what);
	text = memory;
	for (volatile int i = 0; i < 5000; i++)
		;
}

static void map_and_unmap(void)
{
	char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	offer(memory, "map");
	munmap(memory, SIZE);
}

static void grow_and_shrink(void)
{
	char *memory = sbrk(SIZE);

	if (memory == (char *)-1)
		abort();
	offer(memory + SIZE / 2, "heap");
	sbrk(-SIZE);
}

static void load_and_unload(void)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		abort();
	offer(dlsym(handle, "plug_text"), NULL);
	dlclose(handle);
}

static void *run(void *arg)
{
	void (*const *once)(void) = arg;

	while (!is_over) {
		(*once)();
		given_back++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	void (*once)(void) = map_and_unmap;
	pthread_t thread;
	long fired = 0;

	if (argc < 3)
		return 2;
	if (argc > 3) {
		library = argv[3];
		once = load_and_unload;
	} else if (strcmp(argv[1], "heap") == 0) {
		once = grow_and_shrink;
	}
	setvbuf(stdout, malloc(1024), _IOLBF, 1024);
	if (pthread_create(&thread, NULL, run, &once))
		return 1;
	while (!text)
		;
	getchar();
	for (; fired < atol(argv[2]) || given_back < LEAST; fired++) {
		DTRACE_PROBE1(vanish, text, text);
		if (fired % 100 == 0) /* both may have one CPU: then each turn sees one state */
			sched_yield();
	}
	is_over = 1;
	pthread_join(thread, NULL);
	printf("fired %ld\n", fired);
	return 0;
}
