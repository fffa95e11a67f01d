/* Leaf functions that keep live data below the stack pointer, and live flags across a probe, as
 * compilers may: whoever traces the probes must not touch either. Prints calls and wrong results;
 * redzone CALLS. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>

#define ALONE __attribute__((noinline, noclone))

/* An array in the red zone (x86-64: 128 bytes below the stack pointer), live across the probe. */
ALONE static unsigned below(const unsigned *in, unsigned n)
{
	volatile unsigned kept[20];
	unsigned sum = 0, i;

	for (i = 0; i < 20; i++)
		kept[i] = in[i] * n;
	DTRACE_PROBE2(red, below, n, in);
	for (i = 0; i < 20; i++)
		sum = sum * 31 + kept[i];
	return sum;
}

/* The last words of the red zone and the first one, which a call would overwrite. */
ALONE static unsigned long edge(unsigned long a, unsigned long b)
{
	volatile unsigned long kept[2];

	kept[0] = a;
	kept[1] = b;
	STAP_PROBE1(red, edge, a);
	return kept[0] ^ (kept[1] << 1);
}

/* Flags of a comparison, used behind the probe. */
ALONE static unsigned flags(unsigned a, unsigned b)
{
#ifdef __x86_64__
	unsigned char less, odd;

	__asm__ volatile(
		"cmp %3, %2\n" STAP_PROBE_ASM(red, flags, STAP_PROBE_ASM_TEMPLATE(2)) "setb %0\n"
										      "setp %1\n"
		: "=&q"(less), "=&q"(odd)
		: "r"(a), "r"(b), STAP_PROBE_ASM_OPERANDS(2, a, b)
		: "cc");
	return less | (unsigned)odd << 1;
#else
	DTRACE_PROBE2(red, flags, a, b);
	return a < b;
#endif
}

static unsigned flags_expected(unsigned a, unsigned b)
{
#ifdef __x86_64__
	return (a < b) | (unsigned)!__builtin_parity((a - b) & 255) << 1;
#else
	return a < b;
#endif
}

int main(int argc, char **argv)
{
	unsigned long calls = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, wrong = 0, k;
	unsigned in[20], i;

	for (k = 0; k < calls; k++) {
		unsigned expected = 0, n = (unsigned)k * 2654435761u;

		switch (k % 3) {
		case 0:
			for (i = 0; i < 20; i++) {
				in[i] = n + i;
				expected = expected * 31 + in[i] * (n | 1);
			}
			wrong += below(in, n | 1) != expected;
			break;
		case 1: wrong += edge(k, k + 7) != (k ^ ((k + 7) << 1)); break;
		case 2:
			wrong +=
				flags(n, (unsigned)k << 16) != flags_expected(n, (unsigned)k << 16);
		}
	}
	printf("%lu calls, %lu wrong\n", calls, wrong);
	return wrong != 0;
}
