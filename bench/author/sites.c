/* Functions that only pass arguments to a probe, once with it and once without: the difference is
 * what the probe costs. PROBE* come from the header that is measured; -DNONE leaves the
 * probes out. */
#ifdef NONE
#define DTRACE_PROBE(p, n)
#define DTRACE_PROBE3(p, n, a, b, c)
#define DTRACE_PROBE6(p, n, a, b, c, d, e, f)
#else
#include <sys/sdt.h>
#endif

struct order {
	long id;
	const char *name;
	int count;
	double price;
};

int no_arguments(int a)
{
	DTRACE_PROBE(bench, none);
	return a;
}

int three_in_registers(int a, const char *b, long c)
{
	DTRACE_PROBE3(bench, three, a, b, c);
	return a;
}

int six_in_registers(int a, const char *b, long c, short d, unsigned e, void *f)
{
	DTRACE_PROBE6(bench, six, a, b, c, d, e, f);
	return a;
}

int three_constants(int a)
{
	DTRACE_PROBE3(bench, constants, 1, 2, -3);
	return a;
}

int three_from_memory(int a, const struct order *o)
{
	DTRACE_PROBE3(bench, memory, o->id, o->name, o->count);
	return a;
}

int a_double(int a, double x, float y)
{
	DTRACE_PROBE3(bench, real, a, x, y);
	return a;
}
