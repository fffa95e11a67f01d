/* Probes whose arguments are in every place that compilers have: for intel.bats. */
#include <sys/sdt.h>

struct some {
	char c;
	short h;
	int i;
	long l;
	double d;
	float f;
	int a[8];
};

static int in_file = 7;
int global = 8;
char letter = 3;
short small = -3;
long large = 1L << 30;
__thread int of_thread = 5;
static const char *const words[] = {"even", "odd"};

__attribute__((noinline)) void fire(struct some *p, int n, long *v, unsigned char *b, double d,
				    float f)
{
	char c = (char)(n + 100);
	short h = (short)(n * -3);
	volatile int local = n * 2;
	volatile long longer = n - 10L;
	volatile char sign = (char)(-n);

	DTRACE_PROBE12(intel, many, 99, n, c, h, p->i, p->l, v[n], b[n], in_file, global, "text",
		       -1);
	DTRACE_PROBE6(intel, fields, p->c, p->h, p->a[n], letter, small, large);
	DTRACE_PROBE5(intel, floats, d, f, p->d, p->f, 1.5);
	DTRACE_PROBE2(intel, words, words[n & 1], of_thread);
	DTRACE_PROBE3(intel, locals, local, longer, sign);
	DTRACE_PROBE4(intel, constants, 'x', 1u << 31, 4000000000u, 0x7fffffff);
}

int main(int argc, char **argv)
{
	struct some x = {1, -2, 3, -4, 5.5, 6.25f, {10, 11, 12, 13, 14, 15, 16, 17}};
	long v[8] = {100, -101, 102, 103, 104, 105, 106, 107};
	unsigned char b[8] = {200, 201, 202, 203};

	(void)argv;
	fire(&x, argc, v, b, 2.5, 3.5f);
	in_file += argc;
	fire(&x, argc + 1, v, b, -2.5, -3.5f);
	return 0;
}
