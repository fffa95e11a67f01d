/* Fires bench:hit(int i, const char *text) COUNT times in a loop and prints the nanoseconds per
 * event: the cost at the probe, as the traced program sees it.
 *
 *   hits [COUNT] [BURSTS]		median over the bursts
 *   hits COUNT BURSTS THREADS		... of all threads, in time of the thread, after 60 bursts
 *					that only warm up; each is followed by a pause
 *
 * Built with -DUSE_LTTNG it is an event of LTTng-UST, with -DUSE_CALL a call that uftrace traces.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(USE_LTTNG)
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/lttng/hit_lttng.h"
#define FIRE(number, text) lttng_ust_tracepoint(bench, hit, number, text)
#elif defined(USE_CALL)
__attribute__((noinline)) void hit(int number, const char *text);
void hit(int number, const char *text)
{
	__asm__ volatile("" ::"r"(number), "r"(text) : "memory");
}
#define FIRE(number, text) hit(number, text)
#else
#include <sys/sdt.h>
#define FIRE(number, text) DTRACE_PROBE2(bench, hit, number, text)
#endif

/* uftrace shall only see hit(). */
#define QUIET __attribute__((no_instrument_function))

#define THREADS_MOST 64
#define WARM_UP	     60 /* bursts: a lap of the buffers */

static long count = 100000;
static int bursts = 9;
static clockid_t clock_id = CLOCK_MONOTONIC;
static const struct timespec pause_after = {.tv_nsec = 1000000}; /* readers of records follow */

static QUIET double now_ns(void)
{
	struct timespec t;

	clock_gettime(clock_id, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static QUIET int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static QUIET double run_burst(void)
{
	static const char text[] = "the quick brown fox";
	double start = now_ns();

	for (long i = 0; i < count; i++) {
		int number = (int)i;

		FIRE(number, text);
	}
	return (now_ns() - start) / (double)count;
}

static QUIET void *run(void *arg)
{
	bool is_paced = clock_id == CLOCK_THREAD_CPUTIME_ID;
	double *each = arg;

	for (int b = is_paced ? -WARM_UP : 0; b < bursts; b++) {
		double ns = run_burst();

		if (b >= 0)
			each[b] = ns;
		if (is_paced)
			nanosleep(&pause_after, NULL);
	}
	return NULL;
}

QUIET int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[3]) : 1, total;
	pthread_t all[THREADS_MOST];
	double *each;

	if (threads < 1 || threads > THREADS_MOST)
		return 2;
	count = argc > 1 ? atol(argv[1]) : count;
	bursts = argc > 2 ? atoi(argv[2]) : bursts;
	total = bursts * threads;
	each = calloc((size_t)total, sizeof(*each));
	if (argc > 3)
		clock_id = CLOCK_THREAD_CPUTIME_ID;
	for (int i = 1; i < threads; i++)
		pthread_create(&all[i], NULL, run, each + i * bursts);
	run(each);
	for (int i = 1; i < threads; i++)
		pthread_join(all[i], NULL);
	qsort(each, (size_t)total, sizeof(*each), compare);
	printf("%.1f\n", each[total / 2]);
	free(each);
	return 0;
}
