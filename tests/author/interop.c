/* A program with one probe of each interesting kind, for other people's tools to look at. */
#include <nopal/sdt.h>
#include <stdio.h>
#include <stdlib.h>

struct pair {
	int first, second;
};

__attribute__((noinline)) static int work(int n, const char *word, double ratio, struct pair pair,
					  long long big)
{
	NOPAL_PROBE(inter, plain, n, word, big, (short)-n, (unsigned char)200);
	NOPAL_PROBE(inter, real, n, ratio, (float)ratio, 7);
	NOPAL_PROBE(inter, wide, n, pair, 7);
#if defined __SIZEOF_INT128__ && !defined NARROW
	NOPAL_PROBE(inter, wider, n, pair, (__int128)big, (long double)ratio, 7);
#endif
	if (NOPAL_ENABLED(inter, asked)) {
		puts("enabled");
		fflush(stdout);
		NOPAL_PROBE(inter, asked, n);
	}
	return n + 1;
}

int main(int argc, char **argv)
{
	struct pair pair = {5, 6};
	char word[] = "word"; /* in memory that was touched: bpftrace cannot read other */
	int n, last = argc > 1 ? atoi(argv[1]) : 3;

	for (n = 1; n <= last; n++)
		work(n, word, 2.5, pair, -3);
	return 0;
}
