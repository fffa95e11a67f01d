/* What untraced run-time probes cost, and how long loading takes. Each line is
 * "NAME NUMBER": nanoseconds a call, or milliseconds of a load.
 *
 * An empty call, and firing as libstapsdt does it (read the stub's first byte through a pointer,
 * take the arguments from a va_list, call the stub), are measured in the same loop. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nopal/runtime.h"
#include "nopal/sdt.h"

#define CALLS 20000000ul

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static __attribute__((noinline)) void empty(const struct nopal_probe *p, long a)
{
	__asm__ volatile("" : : "r"(p), "r"(a));
}

static void nothing(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	__asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f));
}

/* libstapsdt's published design: no check, all arguments through a va_list. */
struct published {
	void (*fire)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
	int count;
};
static __attribute__((noinline)) void published_fire(const struct published *p, ...)
{
	uint64_t arg[6] = {0};
	va_list args;

	va_start(args, p);
	for (int i = 0; i < p->count; i++)
		arg[i] = va_arg(args, uint64_t);
	va_end(args);
	p->fire(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

#define MEASURE(name, ...)                                                  \
	do {                                                                \
		double start = now();                                       \
		for (unsigned long i = 0; i < CALLS; i++) {                 \
			__VA_ARGS__;                                        \
			__asm__ volatile("" : : : "memory");                \
		}                                                           \
		printf("%s %.3f\n", name, (now() - start) / (double)CALLS); \
	} while (0)

static struct nopal_provider *make(unsigned count)
{
	static const struct nopal_probe_arg args[] = {{NOPAL_UINT64, "a"}, {NOPAL_STRING, "b"}};
	struct nopal_provider *r = nopal_provider_new("bench", 0, NULL);
	char name[32];

	for (unsigned i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "probe%u", i);
		if (!nopal_provider_probe(r, name, args, 2, NULL, NULL))
			exit(1);
	}
	return r;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The median of nine. */
static void measure_load(const char *name, unsigned count)
{
	double times[9];

	for (int i = 0; i < 9; i++) {
		struct nopal_provider *r = make(count);
		double start = now();

		if (nopal_provider_load(r, NULL))
			exit(1);
		times[i] = now() - start;
		nopal_provider_destroy(r);
	}
	qsort(times, 9, sizeof(times[0]), compare);
	printf("%s %.4f\n", name, times[4] / 1e6);
}

static void measure_calls(void)
{
	struct nopal_probe_arg args[6];
	struct nopal_provider *r = nopal_provider_new("bench", 0, NULL);
	struct published published = {nothing, 6};
	const struct nopal_probe *volatile kept;
	unsigned long enabled = 0;

	for (int i = 0; i < 6; i++)
		args[i] = (struct nopal_probe_arg){NOPAL_UINT64, NULL};
	kept = nopal_provider_probe(r, "six", args, 6, NULL, NULL);
	if (!kept || nopal_provider_load(r, NULL))
		exit(1);
	const struct nopal_probe *p = kept;
	MEASURE("loop", );
	MEASURE("empty-call", empty(p, (long)i));
	MEASURE("enabled-check", enabled += nopal_probe_enabled(p));
	MEASURE("disabled-fire-6", nopal_probe_fire(p, i, i, i, i, i, i));
	MEASURE("published-fire-6", published_fire(&published, i, i, i, i, i, i));
	MEASURE("static-probe-6", NOPAL_PROBE(bench, six, i, i, i, i, i, i));
	if (enabled)
		exit(1);
	nopal_provider_destroy(r);
}

/* A static probe that has to be called, as a stub has. */
static __attribute__((noinline)) void called(unsigned long i)
{
	NOPAL_PROBE(bench, static_called, i, i);
}

/* What a traced stub begins with: whether the kernel has made a call of it. */
static const char *trap_of(const struct nopal_probe *p)
{
	unsigned char first = *((const volatile unsigned char *)p - NOPAL_PROBE_DISTANCE);

	return first == 0xe8 ? "call" : first == 0xcc ? "breakpoint" : "other";
}

/* Fire for a tracer: a run-time probe or a static one, as often as asked; prints ns an event, and
 * for a run-time probe what the kernel has made of it. */
static int fire_traced(const char *what, unsigned long times)
{
	static const struct nopal_probe_arg args[] = {{NOPAL_UINT64, "a"}, {NOPAL_UINT64, "b"}};
	struct nopal_provider *r = nopal_provider_new("bench", 0, NULL);
	struct nopal_probe *p = nopal_provider_probe(r, "runtime", args, 2, NULL, NULL);
	const char *trap = "";
	double start;

	if (!p || nopal_provider_load(r, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	getchar();
	start = now();
	if (!strcmp(what, "runtime")) {
		for (unsigned long i = 0; i < times; i++)
			nopal_probe_fire(p, i, i);
		trap = trap_of(p);
	} else if (!strcmp(what, "static_called")) {
		for (unsigned long i = 0; i < times; i++)
			called(i);
	} else {
		for (unsigned long i = 0; i < times; i++)
			NOPAL_PROBE(bench, static_nop, i, i);
	}
	printf("%.1f %s\n", (now() - start) / (double)times, trap);
	nopal_provider_destroy(r);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return fire_traced(argv[1], strtoul(argv[2], NULL, 10));
	measure_calls();
	measure_load("load-1", 1);
	measure_load("load-1000", 1000);
	measure_load("load-10000", 10000);
	return 0;
}
