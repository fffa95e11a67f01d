/* One program for both headers: every kind of argument, 0 to 12 of them. It needs no library, so
 * that it can be built for any machine. C and C++, from C89 and C++98 on. */
#ifdef SEMAPHORES
#define _SDT_HAS_SEMAPHORES 1
#endif
#ifdef __cplusplus
extern "C" {
#endif
#ifdef SEMAPHORES
extern unsigned short kinds_integers_semaphore, kinds_more_semaphore, kinds_odd_semaphore,
	kinds_float_semaphore, counts_none_semaphore, counts_one_semaphore, counts_six_semaphore,
	counts_twelve_semaphore, cxx_new_semaphore, kinds_whole_semaphore, kinds_wide_semaphore;
#define DEFINE(name) unsigned short name __attribute__((section(".probes"), used))
DEFINE(kinds_integers_semaphore);
DEFINE(kinds_more_semaphore);
DEFINE(kinds_odd_semaphore);
DEFINE(kinds_float_semaphore);
DEFINE(counts_none_semaphore);
DEFINE(counts_one_semaphore);
DEFINE(counts_six_semaphore);
DEFINE(counts_twelve_semaphore);
DEFINE(cxx_new_semaphore);
DEFINE(kinds_whole_semaphore);
DEFINE(kinds_wide_semaphore);
#endif
#ifdef __cplusplus
}
#endif

#include <sys/sdt.h>

#define ALONE __attribute__((noinline, used))
#ifdef __cplusplus
typedef bool truth;
#else
__extension__ typedef _Bool truth;
#endif
#if defined __cplusplus && __cplusplus < 201103L && !defined __LP64__
#error "a C++98 without long long of its own has no 64-bit type here"
#elif defined __cplusplus && __cplusplus < 201103L
typedef long s64;
typedef unsigned long u64;
#else
__extension__ typedef long long s64;
__extension__ typedef unsigned long long u64;
#endif

#ifndef __x86_64__ /* built without a library, which compilers call to copy a struct */
#ifdef __cplusplus
extern "C"
#endif
	void *
	memcpy(void *to, const void *from, __SIZE_TYPE__ size)
{
	volatile char *t = (volatile char *)to;
	const volatile char *f = (const volatile char *)from;

	while (size--)
		*t++ = *f++;
	return to;
}
#endif

enum color { RED, GREEN = 7 };
struct bits {
	unsigned low : 3;
	int high : 5;
	int list[4];
};

ALONE static int integers(signed char a, unsigned char b, short c, unsigned short d, int e,
			  unsigned f, long g, unsigned long h, s64 i, u64 j)
{
	DTRACE_PROBE10(kinds, integers, a, b, c, d, e, f, g, h, i, j);
	return e;
}

ALONE static int more(char a, truth b, enum color c, const char *d, volatile int *e, const int f,
		      volatile short *g, struct bits *h)
{
	DTRACE_PROBE11(kinds, more, a, b, c, d, e, f, *g, h->list, h->list[2], *e, e + 1);
	return f;
}

ALONE static int odd(struct bits *p, int n)
{
	static int global = 4;
	char text[8];

	text[0] = (char)n;
	text[1] = 0;
	STAP_PROBE12(kinds, odd, +p->low, p->high + 0, n % 2, n | 8, "literal", text, text[n & 1],
		     global, &global, (void *)0, n == 4, (n ? n + 1 : n));
	return text[0];
}

ALONE static double floats(float a, double b, int c)
{
	DTRACE_PROBE4(kinds, float, a, b, c, (double)a + b);
	return b;
}

__extension__ typedef float __complex__ complex_float;
__extension__ typedef long double __complex__ complex_long_double;
struct three {
	char text[3];
};
struct twenty_four {
	int list[6];
};
union twenty {
	int n;
	char text[20];
};
struct large {
	char text[123];
};
struct twenty_four everywhere;
struct large large;

/* What is passed as bytes in memory, whether it has an address or not. */
ALONE static struct twenty_four made(int n)
{
	struct twenty_four s;

	s.list[0] = n;
	return s;
}

ALONE static int wholes(struct three a, struct twenty_four b, union twenty *c)
{
	const struct three *p = &a;

	DTRACE_PROBE3(kinds, whole, a, b, *c);
	DTRACE_PROBE3(kinds, whole, *p, everywhere, *c);
	DTRACE_PROBE3(kinds, whole, *p, made(b.list[0]), c[0]);
	DTRACE_PROBE6(kinds, whole, *p, b, large, *c, c, b.list[0]);
	return b.list[0];
}

/* SystemTap's header cannot have values of 16 bytes that gcc keeps in registers. */
ALONE static int wide(long double *a, complex_float *b, complex_long_double *c)
{
	DTRACE_PROBE3(kinds, wide, *a, *b, *c);
	return 1;
}

ALONE static int counts(int n, int m)
{
	DTRACE_PROBE(counts, none);
	if (n > m)
		STAP_PROBE1(counts, one, n);
	else
		DTRACE_PROBE1(counts, one, 42);
	STAP_PROBE6(counts, six, n, m, n + m, n - m, n * m, -1);
	DTRACE_PROBE12(counts, twelve, 1, 2, 3, n, m, 6, 7, 8, 9, 10, 11, 12);
	return n + m;
}

#if defined __cplusplus && __cplusplus >= 201103L
ALONE static int only_cxx(char16_t a, char32_t b, wchar_t c, int &d)
{
	DTRACE_PROBE4(cxx, new, a, b, c, d);
	return d;
}
#endif

int volatile zero;

int main(void)
{
	struct bits b;
	int n = zero + 4, sum = 0;
	volatile short small = -4;
	struct three three = {{1, 2, 3}};
	union twenty twenty;
	static complex_float complex = 4.0f;
	static complex_long_double longer = 4.0L;
	static long double real = 4.0L;

	b.low = 5;
	b.high = -3;
	b.list[2] = n;
	sum += integers(-1, 2, -3, 4, n, 6, -7, 8, -9, 10);
	sum += more('x', 1, GREEN, "word", &n, 3, &small, &b);
	sum += odd(&b, n);
	sum += (int)floats(1.5f, 2.5, n);
	twenty.n = n;
	sum += wholes(three, made(n), &twenty) + wide(&real, &complex, &longer) - 5;
	sum += counts(n, 2) + counts(n, 9);
#if defined __cplusplus && __cplusplus >= 201103L
	sum += only_cxx(u'a', U'b', L'c', n);
#endif
	return sum == 4 + 3 + 4 + 2 + 6 + 13 ? 0 : zero;
}
