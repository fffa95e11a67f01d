/* What an untraced probe costs: ns per round of a loop, without a probe, with one, and with a probe
 * that tests its semaphore. The loop's work is one addition that the compiler must do. cost ROUNDS
 */
#include <nopal/sdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LOOP(name, body)                                                     \
	static __attribute__((noinline, aligned(64))) long name(long rounds) \
	{                                                                    \
		long sum = 0, i;                                             \
                                                                             \
		for (i = 0; i < rounds; i++) {                               \
			__asm__ volatile("" : "+r"(sum));                    \
			sum += i;                                            \
			body;                                                \
		}                                                            \
		return sum;                                                  \
	}

LOOP(empty, (void)0)
LOOP(probe, NOPAL_PROBE(bench, cost, i, sum))
LOOP(asked, if (NOPAL_ENABLED(bench, asked)) NOPAL_PROBE(bench, asked, i, sum))

static double run(long (*loop)(long), long rounds)
{
	struct timespec start, end;
	volatile long sink;

	clock_gettime(CLOCK_MONOTONIC, &start);
	sink = loop(rounds);
	clock_gettime(CLOCK_MONOTONIC, &end);
	(void)sink;
	return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
	       (double)rounds;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 50000000;

	run(probe, rounds / 10);
	printf("%.3f ", run(empty, rounds));
	printf("%.3f ", run(probe, rounds));
	printf("%.3f\n", run(asked, rounds));
	return 0;
}
