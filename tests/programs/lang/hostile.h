/* Memory that looks like an interpreter's, and a thread that keeps writing anything into it, for
 * the programs that have a make() for one interpreter each. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS 4096

static uint64_t memory[WORDS];
static volatile int done;

static uint64_t *at(unsigned n)
{
	return memory + n * 64;
}

static void put(uint64_t *object, unsigned offset, uint64_t value)
{
	memcpy((char *)object + offset, &value, sizeof(value));
}

static void put_text(uint64_t *object, unsigned offset, const char *text)
{
	memcpy((char *)object + offset, text, strlen(text));
}

/* Of each program: write the objects, OBJECTS of them. */
static void make(unsigned round);

static void *spoil(void *unused)
{
	unsigned seed = 1;

	for (unsigned round = 0; !done; round++) {
		make(round);
		for (int i = 0; i < 40; i++) {
			uint64_t value = (uint64_t)rand_r(&seed) << 33 ^ (uint64_t)rand_r(&seed);

			if (value % 3 == 0)
				value = (uint64_t)(memory + value % WORDS);
			memory[(unsigned)rand_r(&seed) % (64 * OBJECTS)] = value;
		}
	}
	return unused;
}

/* Call getppid(): a few times as it should be, and then while the memory is spoiled. */
static int run(unsigned whole)
{
	pthread_t thread;

	for (unsigned i = 0; i < whole; i++) {
		make(2 * i);
		getppid();
	}
	pthread_create(&thread, NULL, spoil, NULL);
	for (int i = 0; i < 20000; i++)
		getppid();
	done = 1;
	pthread_join(thread, NULL);
	return 0;
}
