/* Runs of the interpreter engine: attaching, losses, clearing, BEGIN and END, extensions. */
#include <errno.h>
#include <unistd.h>

#include "help/interp.h"

static const char noisy[] = "map m0 \"@\" none -> count, 1 entries\n"
			    "format 0 value \"\" (int64)\n"
			    "format 1 time \"\" ()\n"
			    "clause 0: 1 registers\n"
			    "uprobe \"/x\" 0x10 name 0 func 0\n"
			    "r0 = builtin pid\n"
			    "aggregate m0, -\n"
			    "emit 0(r0)\n"
			    "emit 1()\n"
			    "return\n";

static int stop(void *arg, struct str bytes)
{
	(void)arg;
	(void)bytes;
	return 7;
}

/* A ring of 64 bytes holds four records of 16; control records always arrive, in order. */
static void full_ring_counts_losses(void **state)
{
	const struct engine_options options = {.ring_bytes = 50};
	struct context c = test_context();
	struct run_stats stats;
	struct bench b = {0};

	(void)state;
	bench_open(&b, noisy, &options);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(interp_fire(b.e, 0, 0, &c), 1);
	engine_interp.stats(b.e, &stats);
	assert_int_equal(stats.lost_records, 3);
	assert_int_equal(engine_interp.drain(b.e, 0, stop, NULL), 7);
	assert_string_equal(bench_show(&b), "time 100 time 100 time 100 time time time time @=7 ");
	assert_int_equal(interp_fire(b.e, 0, 0, &c), 1);
	assert_string_equal(bench_show(&b), "100 time @=8 ");
	engine_interp.stats(b.e, &stats);
	assert_int_equal(stats.lost_records, 3);
	assert_int_equal(stats.lost_updates, 0);
	bench_close(&b);
}

/* Only the traced process, only while attached, only places that are there. */
static void fires_only_what_is_attached(void **state)
{
	const struct engine_options options = {.pid = 100};
	struct context c = test_context();
	struct bench b = {0};

	(void)state;
	bench_open(&b, noisy, &options);
	assert_int_equal(interp_fire(b.e, 0, 0, &c), 1);
	c.pid = 99;
	assert_int_equal(interp_fire(b.e, 0, 0, &c), 0);
	c.pid = 100;
	assert_int_equal(interp_fire(b.e, 0, 1, &c), -EINVAL);
	assert_int_equal(interp_fire(b.e, 1, 0, &c), -EINVAL);
	engine_interp.detach(b.e);
	assert_int_equal(interp_fire(b.e, 0, 0, &c), 0);
	assert_string_equal(bench_show(&b), "100 time @=1 ");
	bench_close(&b);
	engine_interp.close(NULL);
}

static void maps_are_cleared_and_zeroed(void **state)
{
	struct context c = test_context();
	struct bench b = {0};

	(void)state;
	bench_open(&b,
		   "map m0 \"@a\" int64 -> sum(int64), 5 entries\n"
		   "map m1 \"@b\" none -> min(int64), 1 entries\n"
		   "clause 0: 1 registers\nbegin name 0 func 0\ns0 int64\n"
		   "r0 = const 4\ns0[0] = put r0\naggregate m0[s0], r0\naggregate m1, r0\nreturn\n",
		   NULL);
	interp_fire(b.e, 0, 0, &c);
	assert_int_equal(map_zero(&b.e->maps, 0), 0);
	assert_int_equal(map_zero(&b.e->maps, 1), 0);
	assert_string_equal(bench_show(&b), "@a[4]=0 @b=0,0 ");
	interp_fire(b.e, 0, 0, &c);
	assert_string_equal(bench_show(&b), "@a[4]=4 @b=4,1 ");
	assert_int_equal(map_clear(&b.e->maps, 0), 0);
	assert_string_equal(bench_show(&b), "@b=4,1 ");
	interp_fire(b.e, 0, 0, &c);
	assert_string_equal(bench_show(&b), "@a[4]=4 @b=4,1 ");
	bench_close(&b);
}

/* BEGIN, END and intervals run by themselves, in this process. */
static void begin_and_end_run(void **state)
{
	struct bench b = {0};
	struct buf want = BUF_INIT;

	(void)state;
	bench_open(
		&b,
		"format 0 value \"\" (int64)\n"
		"clause 0: 1 registers\nbegin name 0 func 0\nr0 = const 1\nemit 0(r0)\nreturn\n"
		"clause 1: 1 registers\nend name 0 func 0\nr0 = const 2\nemit 0(r0)\nreturn\n"
		"clause 2: 1 registers\nbegin name 0 func 0\nr0 = builtin pid\nemit 0(r0)\nreturn\n"
		"clause 3: 1 registers\ninterval 5 name 0 func 0\nr0 = const 4\nemit "
		"0(r0)\nreturn\n",
		NULL);
	assert_int_equal(engine_interp.run(b.e, ATTACH_BEGIN, 0, 0, &b.d), 0);
	assert_int_equal(engine_interp.run(b.e, ATTACH_BEGIN, 0, 2, &b.d), 0);
	assert_int_equal(engine_interp.run(b.e, ATTACH_BEGIN, 0, 9, &b.d), 0);
	buf_printf(&want, "1 %d ", (int)getpid());
	assert_string_equal(bench_show(&b), want.ptr);
	assert_int_equal(engine_interp.run(b.e, ATTACH_INTERVAL, 5, 3, &b.d), 0);
	assert_int_equal(engine_interp.run(b.e, ATTACH_END, 0, 0, &b.d), 0);
	assert_int_equal(engine_interp.run(b.e, ATTACH_END, 0, 1, &b.d), 0);
	assert_string_equal(bench_show(&b), "4 2 ");
	buf_free(&want);
	bench_close(&b);
}

/* An extension's clauses count on behind those that are there, and share the maps. */
static void extension_shares_maps(void **state)
{
	struct test_program more = {0}, other = {0};
	struct context c = test_context();
	struct bench b = {0};

	(void)state;
	bench_open(&b, noisy, NULL);
	program_read(&more, "map m0 \"@\" none -> count, 1 entries\nclause 0: 0 registers\n"
			    "uprobe \"/y\" 1 name 0 func 0\naggregate m0, -\nreturn\n");
	program_read(&other, "map m0 \"@\" none -> int64, 1 entries\n");
	assert_int_equal(engine_interp.extend(b.e, &more.program, &b.d), 0);
	assert_int_equal(engine_interp.extend(b.e, &other.program, &b.d), -EINVAL);
	assert_int_equal(interp_fire(b.e, 0, 0, &c), 1);
	assert_int_equal(interp_fire(b.e, 1, 0, &c), 1);
	assert_string_equal(bench_show(&b), "100 time @=2 ");
	bench_close(&b);
	program_unread(&more);
	program_unread(&other);
}

static void refuses_bad_programs(void **state)
{
	const struct engine_options options = {0};
	struct diag d = DIAG_INIT;
	struct test_program t = {0};
	struct engine *e;

	(void)state;
	program_read(&t, "clause 0: 1 registers\nbegin name 0 func 0\nr0 = mov r0\nreturn\n");
	assert_int_equal(engine_interp.open(&options, &e, &d), 0);
	assert_int_equal(engine_interp.build(e, &t.program, &d), -EINVAL);
	engine_interp.close(e);
	diag_free(&d);
	program_unread(&t);
}

/* Many keys, removed in another order than they came; number 5 stays. */
static void tables_hold_many_keys(void **state)
{
	struct context c = test_context();
	struct bench b = {0};

	(void)state;
	bench_open(&b,
		   "map m0 \"@\" int64 -> int64, 100000 entries\n"
		   "clause 0: 2 registers\nuprobe \"/x\" 0 name 0 func 0\ns0 int64\n"
		   "r0 = reg 1\ns0[0] = put r0\nmap_set m0[s0], r0\nreturn\n"
		   "clause 1: 2 registers\nuprobe \"/x\" 0 name 0 func 0\ns0 int64\n"
		   "r0 = reg 1\ns0[0] = put r0\nmap_del m0[s0]\nreturn\n",
		   NULL);
	for (uint64_t i = 0; i < 10000; i++) {
		c.regs[1] = i * 0x9e3779b97f4a7c15;
		assert_int_equal(interp_fire(b.e, 0, 0, &c), 1);
	}
	for (uint64_t i = 9999; i > 0; i--) {
		c.regs[1] = (i ^ (i > 8191 ? 0 : 5)) * 0x9e3779b97f4a7c15;
		assert_int_equal(interp_fire(b.e, 1, 0, &c), 1);
	}
	assert_string_equal(bench_show(&b), "@[1663341875487337577]=1663341875487337577 ");
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_ring_counts_losses),
		cmocka_unit_test(fires_only_what_is_attached),
		cmocka_unit_test(maps_are_cleared_and_zeroed),
		cmocka_unit_test(begin_and_end_run),
		cmocka_unit_test(extension_shares_maps),
		cmocka_unit_test(refuses_bad_programs),
		cmocka_unit_test(tables_hold_many_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
