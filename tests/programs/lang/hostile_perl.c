/* A program that looks like Perl 5.36 and is not: a thread keeps writing anything into what a
 * tracer would read. Stacks of blocks lead to themselves, blocks are of any type, names steer
 * terminals. */
#define OBJECTS 9
#include "hostile.h"

const unsigned char PL_revision = 5, PL_version = 36, PL_subversion;
void *PL_runops_std;
__thread void *PL_current_context;

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
	put_text(at(7), 8, "\033[31mred\001\177\233;\r\033]0;title\007 end of the name....");
	put_text(at(8), 0, "\033[2Jfile\001");
}

int main(void)
{
	PL_current_context = at(0);
	return run(4);
}
