/* A program that looks like Perl 5.36 and is not: a thread keeps writing anything into what a
 * tracer would read. Stacks of blocks lead to themselves, blocks are of any type, names steer
 * terminals. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const unsigned char PL_revision = 5, PL_version = 36, PL_subversion;
void *PL_runops_std;
__thread void *PL_current_context;

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

/* A block: its type, the statement that it was entered from, its sub, and no statement to return
 * to. */
static void put_block(unsigned n, uint64_t type)
{
	put(at(2), n * 104, type);
	put(at(2), n * 104 + 16, (uint64_t)at(4));
	put(at(2), n * 104 + 48, 0);
	put(at(2), n * 104 + 72, (uint64_t)at(5));
}

/* interpreter 0, stack 1, blocks 2 and 3, statement 4, sub 5, its body 6, its name 7, file 8 */
static void make(unsigned round)
{
	static const uint64_t types[] = {0, 9, 0x49, 0xc9, 10, 11, 0x4b, 13};

	put(at(0), 208, (uint64_t)at(4));
	put(at(0), 224, (uint64_t)at(1));
	put(at(1), 8, (uint64_t)at(2));
	put(at(1), 16, round % 2 ? (uint64_t)at(1) : 0);
	put(at(1), 32, 3);
	put(at(1), 40, 3ull << 32); /* of a sort */
	for (unsigned i = 0; i < 8; i++)
		put_block(i, types[(i + round) % 8]);
	put(at(4), 32, 7ull << 32);
	put(at(4), 48, (uint64_t)at(8));
	put(at(5), 0, (uint64_t)at(6));
	put(at(6), 92, 0x8000);
	put(at(6), 56, (uint64_t)at(7));
	put(at(7), 0, 40ull << 32);
	memcpy((char *)at(7) + 8, "\033[31mred\001\177\233;\r\033]0;title\007 end of the name....",
	       48);
	memcpy(at(8), "\033[2Jfile\001", 10);
}

static void *spoil(void *self)
{
	unsigned seed = 1;

	for (unsigned round = 0; !done; round++) {
		make(round);
		for (int i = 0; i < 40; i++) {
			uint64_t value = (uint64_t)rand_r(&seed) << 33 ^ (uint64_t)rand_r(&seed);

			if (value % 3 == 0)
				value = (uint64_t)(memory + value % WORDS);
			memory[(unsigned)rand_r(&seed) % 576] = value;
		}
	}
	return self;
}

int main(void)
{
	pthread_t thread;

	PL_current_context = at(0);
	for (int i = 0; i < 4; i++) {
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
