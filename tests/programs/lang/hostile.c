/* A program that looks like Python 3.11 and is not: a thread keeps writing anything into what a
 * tracer would read. Lists and frames lead to themselves, lengths are beyond memory, names steer
 * terminals. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const unsigned Py_Version = 0x030b02f0;
uint64_t _PyRuntime[4096];

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

/* interpreter 0, thread 1, its C frame 2, frame 3, code 4, name 5, table of lines 6 */
static void make(uint64_t self)
{
	put(_PyRuntime, 40, (uint64_t)at(0));
	put(at(0), 0, (uint64_t)at(0));
	put(at(0), 16, (uint64_t)at(1));
	put(at(1), 8, (uint64_t)at(1));
	put(at(1), 152, self);
	put(at(1), 56, (uint64_t)at(2));
	put(at(2), 8, (uint64_t)at(3));
	put(at(3), 32, (uint64_t)at(4));
	put(at(3), 48, (uint64_t)at(3)); /* its own caller */
	put(at(3), 56, (uint64_t)at(4) + 190);
	put(at(4), 112, (uint64_t)at(5));
	put(at(4), 120, (uint64_t)at(5));
	put(at(4), 128, (uint64_t)at(5));
	put(at(4), 72, 7);
	put(at(4), 136, (uint64_t)at(6));
	put(at(5), 16, 40);
	put(at(5), 32, 1 << 2 | 1 << 5 | 1 << 6);
	memcpy((char *)at(5) + 48,
	       "\033[31mred\n\001\177\233;\r\033]0;title\007 end of the name....", 48);
	put(at(6), 16, 20);
	memset((char *)at(6) + 32, 0xf0, 20);
}

static void *spoil(void *self)
{
	unsigned seed = 1;

	while (!done) {
		make((uint64_t)self);
		for (int i = 0; i < 40; i++) {
			uint64_t value = (uint64_t)rand_r(&seed) << 33 ^ (uint64_t)rand_r(&seed);

			if (value % 3 == 0)
				value = (uint64_t)(memory + value % WORDS);
			memory[(unsigned)rand_r(&seed) % 448] = value;
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	make((uint64_t)pthread_self());
	for (int i = 0; i < 3; i++)
		getppid();
	pthread_create(&thread, NULL, spoil, (void *)pthread_self());
	for (int i = 0; i < 20000; i++)
		getppid();
	done = 1;
	pthread_join(thread, NULL);
	return 0;
}
