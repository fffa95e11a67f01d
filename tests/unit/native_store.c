/* The interpreter on the maps that traced processes share, against the interpreter on its own:
 * random programs must send the same records and leave the same maps, losses and faults.
 * DIFFERENTIAL=N runs N programs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "help/outcome.h"
#include "help/random_program.h"

#include "user/memory/store.h"

#define PROGRAMS 300
#define RUNS	 3

static void zero_half(struct outcome *o, const struct map_store *maps)
{
	for (uint32_t i = 0; i < o->p->map_count; i++)
		assert_int_equal(i % 2 ? map_zero(maps, i) : map_clear(maps, i), 0);
	outcome_maps(o, maps);
}

static void fire(struct engine *e)
{
	const struct str page = random_page();
	const struct area area = {(uintptr_t)page.ptr, page};
	const struct context c = {.areas = &area,
				  .area_count = 1,
				  .pid = 1,
				  .tid = 2,
				  .uid = 3,
				  .comm = str_from("me")};

	for (unsigned i = 0; i < RUNS; i++)
		assert_int_equal(interp_fire(e, 0, 0, &c), 1);
}

/* With `shared`, on the maps of a native store. */
static void run_program(struct outcome *o, bool shared)
{
	const struct engine_options options = {0};
	const struct native_sizes sizes = {.ring_bytes = 1 << 20, .cpus = 4};
	struct native_store *s = NULL;
	struct engine *e = NULL;
	struct run_stats stats;
	struct map_store maps;

	assert_int_equal(engine_interp.open(&options, &e, NULL), 0);
	assert_int_equal(engine_build(e, o->p, NULL), 0);
	if (shared) {
		assert_int_equal(native_store_open(o->p, &sizes, &s, NULL), 0);
		interp_use_store(e, &s->interp);
	}
	maps = shared ? native_store_maps(s) : e->maps;
	assert_int_equal(engine_attach(e, NULL), 0);
	for (int round = 0; round < 2; round++) {
		fire(e);
		if (shared)
			assert_true(native_ring_drain(s, outcome_record, o, NULL, NULL) >= 0);
		else
			assert_true(engine_drain(e, 0, outcome_record, o) >= 0);
		outcome_maps(o, &maps);
		zero_half(o, &maps);
	}
	if (shared) {
		native_store_stats(s, &stats);
		assert_int_equal(native_store_faults(s, outcome_fault, o), 0);
	} else {
		engine_stats(e, &stats);
		assert_int_equal(engine_faults(e, outcome_fault, o), 0);
	}
	outcome_counts(o, &stats);
	engine_close(e);
	native_store_close(s);
}

static void compare(uint64_t seed)
{
	static struct random_program random;
	struct outcome own = {.p = &random.program}, shared = {.p = &random.program};

	random_program_make(&random, seed);
	run_program(&own, false);
	run_program(&shared, true);
	if (!outcome_same(&own, "own", &shared, "shared"))
		fail_msg("program %llu differs", (unsigned long long)seed);
	outcome_free(&own);
	outcome_free(&shared);
}

static void shared_maps_are_like_own_maps(void **state)
{
	const char *count = getenv("DIFFERENTIAL");
	uint64_t programs = count ? strtoull(count, NULL, 0) : PROGRAMS;

	(void)state;
	random_page_open();
	for (uint64_t seed = 1; seed <= programs; seed++)
		compare(seed);
	random_page_close();
}

/* ---- the memory itself */

static const struct map_def some_maps[] = {
	{.name = STR("@n"), .value = {.kind = TYPE_COUNT}, .max_entries = 1},
	{.name = STR("@by"),
	 .key = {.kind = TYPE_INT, .size = 8},
	 .value = {.kind = TYPE_INT, .size = 8},
	 .max_entries = 100},
};
static const struct span no_span;
static const struct program some_program = {
	.maps = some_maps, .map_count = 2, .spans = &no_span, .span_count = 1};

static struct native_store *open_some(void)
{
	const struct native_sizes sizes = {
		.cpus = 2, .scratch_size = 1000, .scratch_count = 3, .grows = true};
	struct native_store *s = NULL;

	assert_int_equal(native_store_open(&some_program, &sizes, &s, NULL), 0);
	return s;
}

/* Else a traced process could make the tracer fault. */
static void it_cannot_be_resized(void **state)
{
	struct native_store *s = open_some();

	(void)state;
	assert_int_equal(ftruncate(s->fd, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(s->fd, (off_t)s->layout.size * 2), -1);
	assert_int_equal(fallocate(s->fd, 0, 0, (off_t)s->layout.size * 2), -1);
	assert_int_equal(fcntl(s->fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	native_store_close(s);
}

static void frames_are_claimed_once(void **state)
{
	struct native_store *s = open_some();
	char *frames[4];
	uint64_t marks[4];
	struct run_stats stats;

	(void)state;
	for (int i = 0; i < 3; i++) {
		frames[i] = inside_scratch_claim(&s->hit, &marks[i]);
		assert_non_null(frames[i]);
		memset(frames[i], i, 1000);
	}
	assert_null(inside_scratch_claim(&s->hit, &marks[3]));
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 1000; k++)
			assert_int_equal(frames[i][k], i);
	((struct scratch_head *)(void *)frames[1])[-1].thread = 0;
	assert_ptr_equal(inside_scratch_claim(&s->hit, &marks[1]), frames[1]);
	native_store_stats(s, &stats);
	assert_int_equal(stats.lost_scratch, 1);
	native_store_close(s);
}

/* By siglongjmp() out of a signal handler, into code whose next run has other things on the stack.
 */
static void a_frame_that_its_thread_has_left_is_taken_again(void **state)
{
	struct native_store *s = open_some();
	uint64_t marks[4];
	struct process_page page = {
		.range_count = 1,
		.ranges = {{(uintptr_t)marks, (uintptr_t)(marks + 4)}},
	};
	char *frames[3];

	(void)state;
	s->hit.process = &page;
	s->hit.tid = 77;
	for (int i = 0; i < 3; i++)
		frames[i] = inside_scratch_claim(&s->hit, &marks[i]);
	assert_null(inside_scratch_claim(&s->hit, &marks[3]));
	marks[1] = 0;
	assert_ptr_equal(inside_scratch_claim(&s->hit, &marks[3]), frames[1]);
	assert_ptr_equal(inside_scratch_claim(&s->hit, &marks[2]), frames[2]);
	s->hit.tid = 78;
	marks[0] = 0;
	assert_null(inside_scratch_claim(&s->hit, &marks[1]));
	native_store_close(s);
}

static void exit_stops_the_others(void **state)
{
	static const struct emit_shape shape = {.is_control = 1, .is_exit = 1};
	struct native_store *s = open_some();

	(void)state;
	assert_false(native_store_is_stopped(s));
	inside_emit(&s->hit, &shape, NULL);
	assert_true(native_store_is_stopped(s));
	native_store_close(s);
}

static bool says(const struct diag *d, const char *tag)
{
	return d->first && !strcmp(d->first->tag, tag);
}

/* 2^51 bytes, which no process can map. */
static void too_much_memory_is_refused(void **state)
{
	const struct native_sizes sizes = {.ring_bytes = 1 << 30, .cpus = 1 << 20};
	struct native_store *s = NULL;
	struct diag d = DIAG_INIT;

	(void)state;
	assert_int_equal(native_store_open(&some_program, &sizes, &s, &d), -ENOMEM);
	assert_true(says(&d, "user-memory"));
	assert_null(s);
	diag_free(&d);
}

/* Flags of the CPU said so: in most virtual machines they lack where the kernel uses the TSC. */
static void the_kernels_clock_source_says_whether_the_tsc_is_a_clock(void **state)
{
#if defined(__aarch64__) /* where all have one counter */
	skip();
#endif
	static const struct {
		const char *text;
		bool is_tsc;
	} rows[] = {
		{"tsc\n", true},
		{"tsc-early\n", true},
		{"kvm-clock\n", true},
		{"hpet\n", false},
		{"acpi_pm\n", false},
		{"jiffies", false},
		{"tsc2\n", false},
		{"hyperv_clocksource_tsc_page\n", true},
		{"", true},
	};
	char path[] = "/tmp/nopal-clock-XXXXXX", name[CLOCK_NAME];
	int fd = mkstemp(path);

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, rows[i].text, strlen(rows[i].text), 0),
				 strlen(rows[i].text));
		assert_int_equal(native_clock_is_tsc(path, name), rows[i].is_tsc);
		assert_int_equal(strlen(name), strcspn(rows[i].text, "\n"));
	}
	close(fd);
	unlink(path);
	assert_true(native_clock_is_tsc(path, name));
}

/* Types that become known later, of maps that nothing uses yet. */
static bool is_first(void *arg, uint32_t map)
{
	(void)arg;
	return map == 0;
}

static void an_extension_brings_types(void **state)
{
	struct map_def maps[2] = {some_maps[0], some_maps[1]};
	struct program p = some_program;
	struct native_store *s = open_some();
	uint64_t key[2] = {1, 2}, at = s->shapes[0].entries_at;
	struct diag d = DIAG_INIT;

	(void)state;
	maps[1].key = (struct type){.kind = TYPE_STR, .size = 8};
	p.maps = maps;
	assert_int_equal(native_store_extend(s, &p, is_first, NULL, &d), 0);
	assert_int_equal(s->shapes[0].entries_at, at);
	inside_map_set(&s->hit, &s->shapes[1], key, 77, 0);
	assert_int_equal(inside_map_get(&s->hit, &s->shapes[1], key), 77);
	maps[0].value.kind = TYPE_SUM;
	s->program = &some_program;
	assert_int_equal(native_store_extend(s, &p, is_first, NULL, &d), -EINVAL);
	native_store_close(s);
	diag_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_maps_are_like_own_maps),
		cmocka_unit_test(it_cannot_be_resized),
		cmocka_unit_test(frames_are_claimed_once),
		cmocka_unit_test(a_frame_that_its_thread_has_left_is_taken_again),
		cmocka_unit_test(exit_stops_the_others),
		cmocka_unit_test(too_much_memory_is_refused),
		cmocka_unit_test(the_kernels_clock_source_says_whether_the_tsc_is_a_clock),
		cmocka_unit_test(an_extension_brings_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
