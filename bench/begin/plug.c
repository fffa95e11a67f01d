/* The library that begin.c loads. */
#include <sys/sdt.h>

void plug(int n)
{
	DTRACE_PROBE1(begin, plug, n);
}
