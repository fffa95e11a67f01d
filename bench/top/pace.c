/* Fires RATE events a second for SECONDS, half of them pace:query__start(int id, const char *text),
 * half pace:query__done(int id), evenly: a batch each millisecond.
 *
 *   pace RATE SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sys/sdt.h>

static void fire(long from, long end)
{
	static const char *const texts[] = {"select", "insert", "update", "commit"};

	for (long i = from; i < end; i += 2) {
		DTRACE_PROBE2(pace, query__start, (int)i, texts[i / 2 % 4]);
		DTRACE_PROBE1(pace, query__done, (int)i);
	}
}

int main(int argc, char **argv)
{
	long rate = argc > 1 ? atol(argv[1]) : 100000,
	     ticks = argc > 2 ? 1000 * atol(argv[2]) : 10000;
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long tick = 0; tick < ticks; tick++) {
		fire(tick * rate / 1000 / 2 * 2, (tick + 1) * rate / 1000 / 2 * 2);
		next.tv_nsec += 1000000;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	printf("%ld\n", ticks * rate / 1000 / 2 * 2);
	return 0;
}
