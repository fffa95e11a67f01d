/* Fires bench:hit(int i, const char *text) COUNT times in a loop and prints the nanoseconds per
 * event: the cost at the probe, as the traced program sees it.
 *
 *   hits [COUNT] [BURSTS]      median over the bursts */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sys/sdt.h>

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static const char text[] = "the quick brown fox";
	long count = argc > 1 ? atol(argv[1]) : 100000;
	int bursts = argc > 2 ? atoi(argv[2]) : 9;
	double *each = calloc((size_t)bursts, sizeof(*each));

	for (int b = 0; b < bursts; b++) {
		double start = now_ns();

		for (long i = 0; i < count; i++) {
			int number = (int)i;

			DTRACE_PROBE2(bench, hit, number, text);
		}
		each[b] = (now_ns() - start) / (double)count;
	}
	qsort(each, (size_t)bursts, sizeof(*each), compare);
	printf("%.1f\n", each[bursts / 2]);
	free(each);
	return 0;
}
