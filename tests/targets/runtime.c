/* Run-time probes to be traced from outside.
 *
 *   runtime demo [SECONDS]   provider capp, probe pair(uint64, uint64): "Probe fired!" while traced
 *   runtime traced SECONDS   the same, until a tracer has come and gone
 *   runtime wait             provider waiting, no events; until standard input ends
 *   runtime storm SECONDS    8 threads fire numbers that belong together while others load
 *   runtime flags SECONDS    a computation with probes in its middle: says whether it comes out
 *                            right
 *   runtime later            a provider that is made when a line comes; fires; ends at the next */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nopal/runtime.h"

static int broken(const struct nopal_error *e)
{
	fprintf(stderr, "runtime: %s\n", e->text);
	exit(1);
}

static struct nopal_provider *provider(const char *name)
{
	struct nopal_error e;
	struct nopal_provider *r = nopal_provider_new(name, 0, &e);

	if (!r)
		broken(&e);
	return r;
}

static struct nopal_probe *probe(struct nopal_provider *r, const char *name,
				 const struct nopal_probe_arg *args, unsigned count)
{
	struct nopal_error e;
	struct nopal_probe *p = nopal_provider_probe(r, name, args, count, "a test", &e);

	if (!p)
		broken(&e);
	return p;
}

static void load(struct nopal_provider *r)
{
	struct nopal_error e;

	if (nopal_provider_load(r, &e))
		broken(&e);
}

/* Goes on for a while after the tracer has gone. */
static int demo(double seconds, bool until_traced)
{
	static const struct nopal_probe_arg args[] = {{NOPAL_UINT64, "a"}, {NOPAL_UINT64, "b"}};
	struct nopal_provider *r = provider("capp");
	struct nopal_probe *pair = probe(r, "pair", args, 2);

	int left = -1;

	load(r);
	puts("ready");
	fflush(stdout);
	for (uint64_t i = 0; i < seconds * 50 && left != 0; i++) {
		if (nopal_probe_enabled(pair)) {
			puts("Probe fired!");
			fflush(stdout);
			left = until_traced ? 25 : -1;
		} else if (left > 0) {
			left--;
		}
		nopal_probe_fire(pair, UINT64_MAX - i, i);
		usleep(20000);
	}
	nopal_provider_destroy(r);
	return 0;
}

static int wait_for_end(void)
{
	struct nopal_provider *r = provider("waiting");

	probe(r, "none", NULL, 0);
	load(r);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	nopal_provider_destroy(r);
	return 0;
}

static int later(void)
{
	static const struct nopal_probe_arg arg = {NOPAL_INT32, "n"};
	struct nopal_provider *r;
	struct nopal_probe *p;

	puts("ready");
	fflush(stdout);
	getchar();
	r = provider("lateapp");
	p = probe(r, "request", &arg, 1);
	load(r);
	for (int i = 0; i < 100 && !nopal_probe_enabled(p); i++)
		usleep(20000);
	usleep(500000); /* the probe is changed before the tracer is all there */
	for (int i = 0; i < 5; i++)
		nopal_probe_fire(p, i);
	puts(nopal_probe_enabled(p) ? "traced" : "not traced");
	fflush(stdout);
	getchar();
	nopal_provider_destroy(r);
	return 0;
}

/* Values in registers, in the red zone, flags: as much as a leaf function can have alive around a
 * probe. The same steps with and without the probe must end the same. */
static __attribute__((noinline)) uint64_t steps(const struct nopal_probe *p, uint64_t seed)
{
	uint64_t v[24], sum = seed;
	bool carry = false;

	for (unsigned i = 0; i < 24; i++)
		v[i] = seed * (2 * i + 1);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t before = sum;

		sum += v[i % 24] + carry;
		if (p)
			nopal_probe_fire(p, sum, before);
		carry = sum < before;
		v[(i * 7) % 24] ^= sum << 13 | sum >> 51;
	}
	return sum;
}

static int flags(double seconds)
{
	static const struct nopal_probe_arg args[] = {{NOPAL_UINT64, "a"}, {NOPAL_UINT64, "b"}};
	struct nopal_provider *r = provider("flags");
	struct nopal_probe *p = probe(r, "step", args, 2);
	unsigned long wrong = 0, traced = 0;
	time_t end = time(NULL) + (time_t)seconds;

	load(r);
	puts("ready");
	fflush(stdout);
	for (uint64_t i = 1; time(NULL) < end; i++) {
		traced += nopal_probe_enabled(p);
		wrong += steps(p, i) != steps(NULL, i);
	}
	printf("%s, %lu wrong\n", traced ? "traced" : "not traced", wrong);
	nopal_provider_destroy(r);
	return 0;
}

/* ---- Storm ---- */

static struct {
	struct nopal_provider *r;
	struct nopal_probe *p;
	volatile int stop; /* no bool: gcc 12 forgets volatile where UBSan checks a bool */
} storm;

static void *fire(void *arg)
{
	uint64_t i = (uintptr_t)arg << 32, fired = 0;

	while (!storm.stop) {
		if (nopal_probe_enabled(storm.p))
			fired++;
		nopal_probe_fire(storm.p, i, ~i, i * 3, i + 4, i ^ 5, i - 6, i + 7, i + 8);
		i++;
	}
	return (void *)(uintptr_t)fired;
}

/* Every value follows from the first, so that a tracer can tell a wrong one. */
static int run_storm(double seconds)
{
	struct nopal_probe_arg args[8];
	pthread_t threads[8];
	struct timespec start, now;

	for (int i = 0; i < 8; i++)
		args[i] = (struct nopal_probe_arg){NOPAL_UINT64, NULL};
	storm.r = provider("storm");
	storm.p = probe(storm.r, "all", args, 8);
	load(storm.r);
	puts("ready");
	fflush(stdout);
	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, fire, (void *)i);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		struct nopal_provider *other = provider("other");

		probe(other, "p", args, 8);
		load(other);
		usleep(1000);
		nopal_provider_destroy(other);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < seconds);
	storm.stop = 1;
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	nopal_provider_destroy(storm.r);
	puts("done");
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "demo";
	double number = argc > 2 ? atof(argv[2]) : 10;

	if (!strcmp(what, "demo"))
		return demo(number, false);
	if (!strcmp(what, "traced"))
		return demo(number, true);
	if (!strcmp(what, "wait"))
		return wait_for_end();
	if (!strcmp(what, "flags"))
		return flags(number);
	if (!strcmp(what, "later"))
		return later();
	if (!strcmp(what, "storm"))
		return run_storm(number);
	return 2;
}
