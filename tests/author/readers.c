/* A program with every kind of argument, for other people's tools to read. It writes into the file
 * argv[1] what they must see, a line for each probe in the order of the hits: its name, and each
 * argument as 64 bits in hexadecimal, extended by its sign. Each probe is hit once. NARROW: without
 * values wider than a register. */
#include <nopal/sdt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifndef PROVIDER
#define PROVIDER read
#endif
#define ALONE __attribute__((noinline))

static FILE *truth;

/* These are not inline, so that arguments stay live across the probe and registers get scarce. */
ALONE static unsigned long seen_integer(long x)
{
	return (unsigned long)x;
}

ALONE static unsigned long seen_pointer(const volatile void *x)
{
	return (unsigned long)x;
}

ALONE static unsigned long seen_float(float x)
{
	unsigned int bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

ALONE static unsigned long seen_double(double x)
{
	unsigned long bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

ALONE static void expect(const char *name, int count, ...)
{
	va_list args;
	int i;

	fprintf(truth, "%s", name);
	va_start(args, count);
	for (i = 0; i < count; i++)
		fprintf(truth, " %lx", va_arg(args, unsigned long));
	va_end(args);
	fputc('\n', truth);
}

#define SEEN(x) \
	_Generic((x), float: seen_float, double: seen_double,                \
		 char *: seen_pointer, const char *: seen_pointer,           \
		 void *: seen_pointer, volatile long *: seen_pointer,                 \
		 default: seen_integer)(x)
#define SEEN_1(x)	SEEN(x)
#define SEEN_2(x, ...)	SEEN(x), SEEN_1(__VA_ARGS__)
#define SEEN_3(x, ...)	SEEN(x), SEEN_2(__VA_ARGS__)
#define SEEN_4(x, ...)	SEEN(x), SEEN_3(__VA_ARGS__)
#define SEEN_5(x, ...)	SEEN(x), SEEN_4(__VA_ARGS__)
#define SEEN_6(x, ...)	SEEN(x), SEEN_5(__VA_ARGS__)
#define SEEN_7(x, ...)	SEEN(x), SEEN_6(__VA_ARGS__)
#define SEEN_8(x, ...)	SEEN(x), SEEN_7(__VA_ARGS__)
#define SEEN_9(x, ...)	SEEN(x), SEEN_8(__VA_ARGS__)
#define SEEN_10(x, ...) SEEN(x), SEEN_9(__VA_ARGS__)
#define SEEN_11(x, ...) SEEN(x), SEEN_10(__VA_ARGS__)
#define SEEN_12(x, ...) SEEN(x), SEEN_11(__VA_ARGS__)

/* A probe, and what is to be seen at it. */
#define SHOW(name, count, ...)                                   \
	do {                                                     \
		NOPAL_PROBE(PROVIDER, name, __VA_ARGS__);        \
		expect(#name, count, SEEN_##count(__VA_ARGS__)); \
	} while (0)

/* Twelve arguments of one type: as many as there are need nearly every register. What they are made
 * of leaves its other bits in the registers. */
#define TWELVE(type, name)                                                                      \
	ALONE static void twelve_##name(long a, long b, long c, long d, long e, long f, long g, \
					long h, long i, long j, long k, long l)                 \
	{                                                                                       \
		SHOW(name, 12, (type)a, (type)b, (type)c, (type)d, (type)e, (type)f, (type)g,   \
		     (type)h, (type)i, (type)j, (type)k, (type)l);                              \
	}

/* clang-format off */
#define TYPES(X)			\
	X(bool, bools)			\
	X(char, chars)			\
	X(signed char, bytes)		\
	X(unsigned char, ubytes)	\
	X(short, shorts)		\
	X(unsigned short, ushorts)	\
	X(int, ints)			\
	X(unsigned int, uints)		\
	X(long, longs)			\
	X(unsigned long, ulongs)	\
	X(long long, llongs)		\
	X(char *, strings)		\
	X(void *, pointers)		\
	X(float, floats)		\
	X(double, doubles)
/* clang-format on */
TYPES(TWELVE)

/* One to twelve arguments, of all sizes. */
ALONE static void counts(long a, long b, long c, long d, long e, long f)
{
	SHOW(one, 1, (signed char)a);
	SHOW(two, 2, (bool)a, (signed char)b);
	SHOW(three, 3, (unsigned short)a, (signed char)b, c);
	SHOW(four, 4, (char *)a, (unsigned char)b, (short)c, (signed char)d);
	SHOW(five, 5, (int)a, (float)b, (signed char)c, (void *)d, (unsigned char)e);
	SHOW(six, 6, (signed char)a, (double)b, (unsigned int)c, d, (short)e, (signed char)f);
	SHOW(seven, 7, a, b, (int)c, (unsigned int)d, (short)e, (char)f, (unsigned char)(a + f));
	SHOW(eight, 8, (char)f, (bool)e, (short)d, c, (float)b, (double)a, (char *)f,
	     (char)(a + f));
	SHOW(nine, 9, a, b, c, d, e, f, (signed char)(a + f), (short)(a - f), (int)(b + e));
	SHOW(ten, 10, (char)a, (char)b, c, d, e, f, (char)(a + f), (short)(a - f), (float)c,
	     (int)d);
	SHOW(eleven, 11, 1, -1, c, 3l, e, f, (signed char)(a + f), (short)7, (float)c, (double)f,
	     (int)d);
	SHOW(twelve, 12, (char)f, (short)e, (int)d, c, (bool)b, (float)a, (double)f, (char *)e,
	     (unsigned char)d, (unsigned short)c, (unsigned int)b, (unsigned long)a);
}

struct bits {
	signed char byte;
	unsigned low : 3;
	int high : 5;
	short list[4];
	double real;
};

static volatile signed char global_byte = -5;
static __thread volatile unsigned short thread_short = 60000;
static volatile long global_longs[4] = {1, -2, 3, -4};

/* Values that are in memory: array elements, members, what is static or of a thread. */
ALONE static void memory(const struct bits *bits, const char *text, long n)
{
	float reals[3] = {0.5f, -1.25f, (float)n};

	SHOW(array, 8, text[n], text[n + 1], bits->list[n], bits->list[n + 1], reals[n],
	     global_longs[n], &global_longs[n], (char)(text[n] - 200));
	SHOW(member, 6, bits->byte, +bits->low, +bits->high, bits->real, &text[n], bits->list[3]);
	SHOW(statics, 6, global_byte, thread_short, global_longs[1], (void *)&global_byte,
	     (char *)"literal", global_byte * 3);
}

/* Constants, among them those at the edges of their types. */
ALONE static void constants(void)
{
	SHOW(constant, 12, 0, -1, (signed char)-128, (unsigned char)200, (short)-32768,
	     (unsigned short)65535, 2147483647, -2147483647 - 1, 4294967295u, (bool)1, 'x',
	     (char)-3);
	SHOW(large, 6, 0x7fffffffffffffffl, -0x7fffffffffffffffl - 1, 0xffffffffffffffffu,
	     0x8000000000000000u, 123456789012l, -123456789012l);
	SHOW(real, 4, 2.5, -2.5f, 0.0, (void *)0);
}

#ifndef NARROW
/* A struct that is as large as a register, beside others. */
ALONE static void wide(long a, long b)
{
	struct pair {
		int first, second;
	} pair = {(int)a, (int)b};

	NOPAL_PROBE(PROVIDER, wide, (signed char)a, pair, (unsigned char)b);
	expect("wide", 3, SEEN((signed char)a),
	       SEEN((unsigned long)(unsigned int)b << 32 | (unsigned int)a),
	       SEEN((unsigned char)b));
}
#endif

int main(int argc, char **argv)
{
	static volatile long seeds[12] = {
		-0x7e7d7c7b7a797877,
		0x1112131415161718,
		-1,
		0x7172737475767778,
		-0x101010102030405,
		255,
		0x70000000ffff8000,
		-32768,
		0x0f8f8f8f80000000,
		0,
		0x100,
		-0x8000000000000000,
	};
	static volatile char text[] = "abc\xff\x80xyz";
	struct bits bits = {-7, 5, -3, {-1, 2, -300, 400}, -0.75};

	truth = argc > 1 ? fopen(argv[1], "w") : stdout;
	if (!truth)
		return 1;
#define CALL(type, name)                                                                    \
	twelve_##name(seeds[0], seeds[1], seeds[2], seeds[3], seeds[4], seeds[5], seeds[6], \
		      seeds[7], seeds[8], seeds[9], seeds[10], seeds[11]);
	TYPES(CALL)
	counts(seeds[0], seeds[1], seeds[2], seeds[3], seeds[4], seeds[5]);
	memory(&bits, (const char *)text, seeds[9] + 2);
	constants();
#ifndef NARROW
	wide(seeds[0], seeds[3]);
#endif
	return fclose(truth) != 0;
}
