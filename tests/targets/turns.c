// flags: -pthread
/* A traced program that maps and unmaps memory all the time, where code for its probes may be put.
 *
 *   turns N        pieces of memory where the kernel puts them
 *   turns N near   also, half of the time, where the jump of the probe's nop leads
 *   turns N stays  all the time, and where that of the nop before it would lead
 *
 * It does so from the start, when it has printed "ready". After a line on stdin the probe
 * turns:text is fired N times, with a text on the heap. It prints "fired N" at the end. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sys/sdt.h>

#define PIECES	 32
#define PAGE	 4096u
#define AROUND	 (64 * PAGE)
#define NOP_JUMP 0x7be0f0cdu /* bytes that the jump in a 10-byte nop leads back */
#define PUN_JUMP 0x1f0f2e6bu /* ... and one in place of the 1-byte nop before it forward */

static atomic_int is_over;

static __attribute__((noinline)) void fire(const char *text)
{
	DTRACE_PROBE1(turns, text, text);
}

static void *map_anywhere(void *arg)
{
	void *pieces[PIECES] = {NULL};
	size_t sizes[PIECES];
	unsigned seed = (unsigned)(uintptr_t)arg;

	while (!is_over) {
		unsigned i = (unsigned)rand_r(&seed) % PIECES;

		if (pieces[i])
			munmap(pieces[i], sizes[i]);
		sizes[i] = (1 + (size_t)rand_r(&seed) % 64) * PAGE;
		pieces[i] = mmap(NULL, sizes[i], PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pieces[i] == MAP_FAILED)
			abort();
		usleep((useconds_t)rand_r(&seed) % 100);
	}
	return NULL;
}

static void *map_around(uintptr_t address)
{
	return mmap((char *)(address & ~(uintptr_t)(PAGE - 1)) - AROUND, 2 * AROUND, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static void *map_near(void *arg)
{
	while (!is_over) {
		void *piece = map_around((uintptr_t)arg - NOP_JUMP);

		usleep(200);
		if (piece != MAP_FAILED)
			munmap(piece, 2 * AROUND);
		usleep(200);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char *text = malloc(16);
	pthread_t threads[3];
	unsigned count = 0;
	long fired = 0;

	if (argc < 2 || !text)
		return 2;
	strcpy(text, "heap");
	for (uintptr_t i = 1; i <= 2; i++)
		if (pthread_create(&threads[count++], NULL, map_anywhere, (void *)i))
			return 1;
	if (argc > 2 && strcmp(argv[2], "stays") == 0) {
		if (map_around((uintptr_t)fire - NOP_JUMP) == MAP_FAILED ||
		    map_around((uintptr_t)fire + PUN_JUMP) == MAP_FAILED)
			return 1;
	} else if (argc > 2 && pthread_create(&threads[count++], NULL, map_near, (void *)fire)) {
		return 1;
	}
	puts("ready");
	fflush(stdout);
	getchar();
	for (; fired < atol(argv[1]); fired++)
		fire(text);
	is_over = 1;
	while (count)
		pthread_join(threads[--count], NULL);
	printf("fired %ld\n", fired);
	return 0;
}
