/* The traced side of tests/cli/runtime_storm.bats: 8 threads fire as fast as they can while two
 * others load, unload and add probes, until standard input ends.
 *
 *	storm:steady(n, ~n, n*3, n^5, n+6, n-7, n+8)	never unloaded. n is the thread's number
 *							<< 32 and counts by one: a tracer that has
 *							the first and the last has all between
 *	restless:probe(n, ~n)				comes and goes, with ever more others
 *	fleeting:p					a provider that is made and destroyed
 *
 * `storm calm` leaves out the events of restless: a debugger that translates code, as valgrind,
 * must have seen a stub before a tracer is there.
 *
 * Prints "ready"; at the end what is not as it was, and "storm: N events" or "storm: wrong". */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "held.h"

#include "runtime/runtime.h"
#include "nopal/runtime.h"

#define THREADS 8
#define MOST	48 /* probes of restless; each that is added is an image of its own */

static struct nopal_provider *storm, *restless;
static struct nopal_probe *steady, *probe;
static atomic_bool stop;
static atomic_ulong fired, loads, wrong;
static bool calm;

static struct nopal_probe *add(struct nopal_provider *r, const char *name, unsigned count)
{
	struct nopal_probe_arg args[NOPAL_MAX_VALUES];
	struct nopal_error e = {0, ""};
	struct nopal_probe *p;

	for (unsigned i = 0; i < count; i++)
		args[i] = (struct nopal_probe_arg){NOPAL_UINT64, NULL};
	p = nopal_provider_probe(r, name, args, count, NULL, &e);
	if (!p)
		fprintf(stderr, "storm: %s\n", e.text), exit(1);
	return p;
}

static void load(struct nopal_provider *r)
{
	struct nopal_error e = {0, ""};

	if (nopal_provider_load(r, &e))
		fprintf(stderr, "storm: %s\n", e.text), exit(1);
	atomic_fetch_add(&loads, 1);
}

static void unload(struct nopal_provider *r)
{
	struct nopal_error e = {0, ""};

	if (nopal_provider_unload(r, &e))
		fprintf(stderr, "storm: %s\n", e.text), exit(1);
}

/* ---- Threads ---- */

/* More values than there are registers live over the event, and floating ones. */
static __attribute__((noinline)) void fire(uint64_t n)
{
	uint64_t v[8], sum = n;
	double d = (double)(uint32_t)n;

	for (unsigned i = 0; i < 8; i++)
		v[i] = n * (i + 1);
	nopal_probe_fire(steady, n, ~n, n * 3, n ^ 5, n + 6, n - 7, n + 8);
	if (!calm)
		nopal_probe_fire(probe, n, ~n);
	for (unsigned i = 0; i < 8; i++)
		sum += v[i];
	if (sum != n * 37 || d != (double)(uint32_t)n)
		atomic_fetch_add(&wrong, 1);
}

static void *fire_all_the_time(void *arg)
{
	uint64_t n = (uint64_t)(uintptr_t)arg << 32;
	unsigned long count = 0;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		count += nopal_probe_enabled(steady);
		fire(n++);
	}
	atomic_fetch_add(&fired, count);
	return NULL;
}

static void *load_all_the_time(void *arg)
{
	unsigned long added = 0;

	while (!atomic_load(&stop)) {
		if (added < MOST && !(atomic_load(&loads) % 16)) {
			char name[16];

			snprintf(name, sizeof(name), "more%lu", added++);
			add(restless, name, 2);
		}
		load(restless);
		usleep(500);
		unload(restless);
	}
	return arg;
}

static void *make_all_the_time(void *arg)
{
	while (!atomic_load(&stop)) {
		struct nopal_provider *r = nopal_provider_new("fleeting", 0, NULL);

		add(r, "p", 1);
		load(r);
		usleep(500);
		nopal_provider_destroy(r);
	}
	return arg;
}

/* ---- What is left ---- */

/* Nobody traces any more, so every semaphore is 0 and every stub a nop. */
static void check_untouched(const struct nopal_probe *p)
{
	const struct image_slot *slot = p->info->slot;
	const unsigned char *data = slot->base + IMAGE_DATA;
	size_t at = image_layout_of(slot->count).semaphores_at;
	unsigned short semaphore;

	for (size_t i = 0; i < slot->count; i++) {
		memcpy(&semaphore, data + at + 2 * i, sizeof(semaphore));
		if (semaphore || slot->base[image_stub_at(i)] != NOPAL_PROBE_NOP) {
			printf("stub %zu: semaphore %u, byte %02x\n", i, semaphore,
			       slot->base[image_stub_at(i)]);
			atomic_fetch_add(&wrong, 1);
		}
	}
}

static void wait_for_input(void)
{
	char c;

	while (read(0, &c, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	void *(*others[])(void *) = {load_all_the_time, make_all_the_time};
	pthread_t threads[THREADS + 2];
	int files_before = files();
	long pages;

	calm = argc > 1 && !strcmp(argv[1], "calm");
	storm = nopal_provider_new("storm", 0, NULL);
	restless = nopal_provider_new("restless", 0, NULL);
	steady = add(storm, "steady", 7);
	probe = add(restless, "probe", 2);
	load(storm);
	((void (*)(void))((uintptr_t)steady - NOPAL_PROBE_DISTANCE))();
	for (uintptr_t i = 0; i < THREADS + 2; i++)
		pthread_create(&threads[i], NULL,
			       i < THREADS ? fire_all_the_time : others[i - THREADS], (void *)i);
	while (atomic_load(&loads) < (calm ? 20u : 200u))
		usleep(1000);
	pages = resident_pages();
	puts("ready");
	fflush(stdout);
	wait_for_input();
	pages = resident_pages() - pages;
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS + 2; i++)
		pthread_join(threads[i], NULL);
	check_untouched(steady);
	nopal_provider_destroy(restless);
	nopal_provider_destroy(storm);
	if (files() != files_before)
		printf("%d descriptors more\n", files() - files_before), wrong++;
	printf("memory %+ld KiB, %lu loads\n", pages * 4, atomic_load(&loads));
	if (wrong)
		return puts("storm: wrong"), 1;
	printf("storm: %lu events\n", atomic_load(&fired));
	return 0;
}
