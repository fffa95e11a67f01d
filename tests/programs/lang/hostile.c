/* A program that looks like Python 3.11 and is not: a thread keeps writing anything into what a
 * tracer would read. Lists and frames lead to themselves, lengths are beyond memory, names steer
 * terminals. */
#define OBJECTS 7
#include "hostile.h"

const unsigned Py_Version = 0x030b02f0;
uint64_t _PyRuntime[4096];

static uint64_t self;

/* interpreter 0, thread 1, its C frame 2, frame 3, code 4, name 5, table of lines 6 */
static void make(unsigned round)
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
	put_text(at(5), 48, "\033[31mred\n\001\177\233;\r\033]0;title\007 end of the name....");
	put(at(6), 16, 20);
	memset((char *)at(6) + 32, 0xf0, 20);
}

int main(void)
{
	self = (uint64_t)pthread_self();
	return run(3);
}
