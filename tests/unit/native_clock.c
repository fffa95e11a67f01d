/* The TSC as CLOCK_MONOTONIC: against the real clock for two seconds, and against made-up clocks
 * that drift, are read inexactly, and jump. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "help/check.h"

#include "user/memory/store.h"
#include "user/inside/words.h"

static const struct span no_span;
static const struct program program = {.spans = &no_span, .span_count = 1};

static uint64_t monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int64_t distance(uint64_t a, uint64_t b)
{
	return llabs((int64_t)(a - b));
}

/* How far what a traced process reads is off; reading is repeated, for it may be interrupted. */
static int64_t error_now(struct native_store *s)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t before = monotonic(), ours = inside_nsecs(&s->hit, read_tsc());
		uint64_t after = monotonic();
		int64_t off = ours < before  ? (int64_t)(before - ours)
			      : ours > after ? (int64_t)(ours - after)
					     : 0;

		best = off < best ? off : best;
	}
	return best;
}

static void the_clock_is_right(void **state)
{
	const struct native_sizes sizes = {.cpus = 1};
	struct native_store *s = NULL;
	uint64_t last = 0, end;
	int64_t worst = 0;

	(void)state;
	assert_int_equal(native_store_open(&program, &sizes, &s, NULL), 0);
	for (end = monotonic() + 2000000000; monotonic() < end; usleep(20000)) {
		uint64_t now;

		for (int i = 0; i < 200; i++) {
			native_clock_tick(s);
			now = inside_nsecs(&s->hit, read_tsc());
			assert_true(now >= last);
			last = now;
		}
		worst = error_now(s) > worst ? error_now(s) : worst;
	}
	assert_true(worst < 1000);
	native_store_close(s);
}

/* A TSC of 2.9 GHz, and a clock that is steered: its rate swings by some millionths, as ntpd does
 * it; samples are up to 30 ns off. */
struct made_up {
	double tsc, ns;
	uint64_t random;
};

static void advance(struct made_up *m, double ns)
{
	double wave = (double)((uint64_t)(m->ns / 1e9) % 120) - 60;

	m->ns += ns;
	m->tsc += ns * 2.9 * (1 + wave * 5e-9);
}

static int64_t noise(struct made_up *m)
{
	m->random = m->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (int64_t)(m->random >> 33) % 61 - 30;
}

static bool add_sample(struct made_up *m, struct clock_fit *f)
{
	return clock_fit_add(f, (uint64_t)m->tsc, (uint64_t)((int64_t)m->ns + noise(m)));
}

static void begin(struct made_up *m, struct clock_fit *f)
{
	*f = (struct clock_fit){.first_tsc = (uint64_t)m->tsc, .first_ns = (uint64_t)m->ns};
	advance(m, 2e6);
	add_sample(m, f);
}

static void an_hour_stays_below_a_microsecond(void **state)
{
	struct made_up m = {.tsc = 1e12, .ns = 5e12, .random = 1};
	struct clock_fit f;
	int64_t worst = 0;

	(void)state;
	begin(&m, &f);
	for (double end = m.ns + 3600e9; m.ns < end; advance(&m, 10e6)) {
		int64_t off = distance(clock_line_ns(&f.line, (uint64_t)m.tsc), (uint64_t)m.ns);

		worst = off > worst ? off : worst;
		if ((uint64_t)m.tsc >= f.next)
			assert_false(add_sample(&m, &f));
	}
	assert_true(worst < 1000);
}

/* Between two lines there is no step, so that time never goes back. */
static void lines_meet(void **state)
{
	struct made_up m = {.tsc = 1e12, .ns = 5e12, .random = 7};
	struct clock_fit f;

	(void)state;
	begin(&m, &f);
	for (int i = 0; i < 1000; i++) {
		struct clock_line before = f.line;
		uint64_t tsc;

		advance(&m, 300e6);
		tsc = (uint64_t)m.tsc;
		add_sample(&m, &f);
		assert_int_equal(clock_line_ns(&before, tsc), clock_line_ns(&f.line, tsc));
	}
}

/* A machine that was stopped: the clock goes on where time is now. */
static void a_jump_is_followed(void **state)
{
	struct made_up m = {.tsc = 1e12, .ns = 5e12, .random = 3};
	struct clock_fit f;

	(void)state;
	begin(&m, &f);
	for (int i = 0; i < 20; i++) {
		advance(&m, 500e6);
		add_sample(&m, &f);
	}
	m.ns += 3e9;
	assert_true(add_sample(&m, &f));
	assert_true(distance(f.line.ns, (uint64_t)m.ns) < 100);
	for (int i = 0; i < 4; i++) {
		advance(&m, 1000e6);
		add_sample(&m, &f);
	}
	assert_true(distance(clock_line_ns(&f.line, (uint64_t)m.tsc), (uint64_t)m.ns) < 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clock_is_right),
		cmocka_unit_test(an_hour_stays_below_a_microsecond),
		cmocka_unit_test(lines_meet),
		cmocka_unit_test(a_jump_is_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
