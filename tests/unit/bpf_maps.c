/* The maps of the BPF engine: every kind of value, read, cleared and zeroed. */
#include "help/bpf.h"

/* As few maps are reached, or as a script with too many to name them reaches them. */
static bool grouped;

static int group_maps(void **state)
{
	(void)state;
	return !(grouped = true);
}

/* What every aggregate makes of these values, in this order. */
static const long long values[] = {
	5, -3, 100, 0, -9223372036854775807LL - 1, 7, 9223372036854775807LL};
#define VALUE_COUNT 7

static void aggregates_single_and_keyed(void **state)
{
	static const struct {
		struct type type;
		const char *want;
	} rows[] = {
		{{.kind = TYPE_COUNT}, "7"},
		{{.kind = TYPE_SUM, .size = 8, .is_signed = true}, "108"},
		{{.kind = TYPE_MIN, .is_signed = true}, "-9223372036854775808 1"},
		{{.kind = TYPE_MAX, .is_signed = true}, "9223372036854775807 1"},
		{{.kind = TYPE_MIN}, "0 1"},
		{{.kind = TYPE_MAX}, "-3 1"}, /* as unsigned the greatest */
		{{.kind = TYPE_AVG, .is_signed = true}, "7 108"},
		{{.kind = TYPE_STATS, .is_signed = true}, "7 108"},
		{{.kind = TYPE_LHIST, .min = 0, .max = 10, .step = 3},
		 "[0]=2 [1]=1 [2]=1 [3]=1 [4]=2 "},
	};
	struct target t;
	struct run r;
	struct make *m = make_new();
	char want[256], line[64];

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 2);
	make_site(m, &t, "value", "-" ARGS_VALUE);
	make_slot(m, int_type);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 0);
	ADD(m, .op = OP_CONST, .d = 1, .imm = 9);
	ADD(m, .op = OP_PUT, .s = 0, .imm = 0, .a = 1);
	for (int i = 0; i < 9; i++) {
		uint16_t a = rows[i].type.kind == TYPE_COUNT ? REG_NO : 0;

		/* One map with keys for each two without: there is room for 16. */
		ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = a,
		    .map = make_map(m, none, rows[i].type, 1));
		if (i < 7)
			ADD(m, .op = OP_AGGREGATE, .s = 0, .a = a,
			    .map = make_map(m, int_type, rows[i].type, 10));
	}
	EXPECT_START(r, m, .group_maps = grouped);
	for (int i = 0; i < VALUE_COUNT; i++) {
		snprintf(line, sizeof(line), "value %lld", values[i]);
		target_tell(&t, line);
	}
	for (int i = 0, map = 0; i < 9; i++) {
		snprintf(want, sizeof(want), ":%s;", rows[i].want);
		assert_map(&r, (uint32_t)map++, want);
		snprintf(want, sizeof(want), "9:%s;", rows[i].want);
		if (i < 7)
			assert_map(&r, (uint32_t)map++, want);
	}
	run_stop(&r);
	target_stop(&t);
}

/* Every edge of every bucket lands where program/type.h says. */
static void histograms_have_the_right_buckets(void **state)
{
	static const struct {
		bool is_signed;
		uint8_t bits;
	} rows[] = {{true, 0}, {false, 0}, {true, 1}, {false, 2}, {true, 3}, {true, 5}};
	static uint64_t want[6][4096];
	struct target t;
	struct run r;
	struct make *m = make_new();

	(void)state;
	SKIP_WITHOUT_ROOT();
	memset(want, 0, sizeof(want));
	target_start(&t);
	make_clause(m, 1);
	make_site(m, &t, "value", "-" ARGS_VALUE);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 0);
	for (int i = 0; i < 6; i++)
		ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = 0,
		    .map = make_map(m, none,
				    (struct type){.kind = TYPE_HIST,
						  .is_signed = rows[i].is_signed,
						  .bits = rows[i].bits},
				    1));
	EXPECT_START(r, m, .group_maps = grouped);
	for (int shift = 0; shift < 64; shift++)
		for (int64_t near = -2; near <= 2; near++) {
			uint64_t v = (UINT64_C(1) << shift) + (uint64_t)near;
			char line[64];

			/* The target reads a long: what is beyond is written as negative. */
			snprintf(line, sizeof(line), "value %lld", (long long)v);
			target_tell(&t, line);
			for (int i = 0; i < 6; i++)
				want[i][hist_bucket(v, rows[i].is_signed, rows[i].bits)]++;
		}
	for (uint32_t i = 0; i < 6; i++) {
		struct buf b = BUF_INIT;

		buf_char(&b, ':');
		for (int k = 0; k < 4096; k++)
			if (want[i][k])
				buf_printf(&b, "[%d]=%llu ", k, (unsigned long long)want[i][k]);
		buf_char(&b, ';');
		assert_map(&r, i, b.ptr);
		buf_free(&b);
	}
	run_stop(&r);
	target_stop(&t);
}

/* @[str(arg1)] = count(), with texts on both sides of the length that divides the two hashes. */

/* Set, read, ask for and delete, single and keyed; a text as value. */
static void values_come_and_go(void **state)
{
	static const struct type fields[6] = {{.kind = TYPE_INT, .size = 8, .is_signed = true},
					      {.kind = TYPE_INT, .size = 8, .is_signed = true},
					      {.kind = TYPE_INT, .size = 8, .is_signed = true},
					      {.kind = TYPE_INT, .size = 8, .is_signed = true},
					      {.kind = TYPE_STR, .size = 64},
					      {.kind = TYPE_STR, .size = 64}};
	static const struct field f[] = {{1, SLOT_NO}, {2, SLOT_NO}, {3, SLOT_NO},
					 {4, SLOT_NO}, {REG_NO, 1},  {REG_NO, 2}};

	(void)state;
	SKIP_WITHOUT_ROOT();
	for (int keyed = 0; keyed < 2; keyed++) {
		struct make *m = make_new();
		uint16_t key = keyed ? 0 : SLOT_NO, numbers, texts;
		struct run r;

		make_clause(m, 5);
		make_place(m, ATTACH_BEGIN);
		make_slot(m, int_type);
		make_slot(m, str_type);
		make_slot(m, str_type);
		numbers = make_map(m, keyed ? int_type : none, int_type, keyed ? 10 : 1);
		texts = make_map(m, keyed ? int_type : none, str_type, keyed ? 10 : 1);
		m->literals[m->p.literal_count++] = STR("a value");
		ADD(m, .op = OP_CONST, .d = 0, .imm = 21);
		ADD(m, .op = OP_PUT, .s = 0, .imm = 0, .a = 0);
		ADD(m, .op = OP_MAP_HAS, .d = 1, .s = key, .map = numbers);
		ADD(m, .op = OP_MAP_SET, .s = key, .map = numbers, .a = 0);
		ADD(m, .op = OP_MAP_ADD, .d = 2, .s = key, .map = numbers, .a = 0);
		ADD(m, .op = OP_MAP_GET, .d = 3, .s = key, .map = numbers);
		ADD(m, .op = OP_MAP_HAS, .d = 4, .s = key, .map = numbers);
		ADD(m, .op = OP_TEXT, .s = 2, .imm = 0);
		ADD(m, .op = OP_MAP_COPY, .s = key, .map = texts, .t = 1);
		ADD(m, .op = OP_MAP_PUT, .s = key, .map = texts, .t = 2);
		ADD(m, .op = OP_MAP_COPY, .s = key, .map = texts, .t = 2);
		ADD(m, .op = OP_EMIT, .imm = make_format(m, FORMAT_PRINTF, fields, 6),
		    .field_count = 6, .fields = f);
		make_clause(m, 5);
		make_place(m, ATTACH_END);
		make_slot(m, int_type);
		ADD(m, .op = OP_CONST, .d = 0, .imm = 21);
		ADD(m, .op = OP_PUT, .s = 0, .imm = 0, .a = 0);
		ADD(m, .op = OP_MAP_DEL, .s = key, .map = numbers);
		ADD(m, .op = OP_MAP_DEL, .s = key, .map = texts);
		EXPECT_START(r, m, .group_maps = grouped);
		assert_int_equal(engine_bpf.run(r.e, ATTACH_BEGIN, 0, 0, &r.d), 0);
		assert_string_equal(run_text(&r), "0 21 42 1 '' 'a value';");
		assert_map(&r, numbers, keyed ? "21:42;" : ":42;");
		assert_map(&r, texts, keyed ? "21:'a value';" : ":'a value';");
		assert_int_equal(engine_bpf.run(r.e, ATTACH_END, 0, 1, &r.d), 0);
		assert_map(&r, numbers, "");
		assert_map(&r, texts, "");
		run_stop(&r);
	}
}

/* What a script reads of aggregates: sums over CPUs, extremes, averages. */
static void aggregates_can_be_read(void **state)
{
	static const struct {
		struct type type;
		const char *want;
	} rows[] = {
		{{.kind = TYPE_COUNT}, "0 3;"},
		{{.kind = TYPE_SUM, .size = 8, .is_signed = true}, "0 -22;"},
		{{.kind = TYPE_MIN, .is_signed = true}, "0 -30;"},
		{{.kind = TYPE_MAX, .is_signed = true}, "0 5;"},
		{{.kind = TYPE_MIN}, "0 3;"},
		{{.kind = TYPE_AVG, .is_signed = true}, "0 -7;"},
	};
	static const struct type fields[2] = {{.kind = TYPE_INT, .size = 8, .is_signed = true},
					      {.kind = TYPE_INT, .size = 8, .is_signed = true}};
	static const struct field f[] = {{0, SLOT_NO}, {1, SLOT_NO}};
	static const int64_t given[] = {3, -30, 5};

	(void)state;
	SKIP_WITHOUT_ROOT();
	for (int i = 0; i < 12; i++) {
		struct make *m = make_new();
		uint16_t key = i % 2 ? 0 : SLOT_NO;
		struct run r;

		make_clause(m, 4);
		make_place(m, ATTACH_BEGIN);
		make_slot(m, int_type);
		make_map(m, i % 2 ? int_type : none, rows[i / 2].type, i % 2 ? 4 : 1);
		ADD(m, .op = OP_ZERO, .s = 0);
		ADD(m, .op = OP_MAP_GET, .d = 0, .s = key);
		for (int k = 0; k < 3; k++) {
			ADD(m, .op = OP_CONST, .d = 2, .imm = given[k]);
			ADD(m, .op = OP_AGGREGATE, .s = key,
			    .a = rows[i / 2].type.kind == TYPE_COUNT ? REG_NO : 2);
		}
		ADD(m, .op = OP_MAP_GET, .d = 1, .s = key);
		ADD(m, .op = OP_EMIT, .imm = make_format(m, FORMAT_PRINTF, fields, 2),
		    .field_count = 2, .fields = f);
		EXPECT_START(r, m, .group_maps = grouped);
		assert_int_equal(engine_bpf.run(r.e, ATTACH_BEGIN, 0, 0, &r.d), 0);
		assert_string_equal(run_text(&r), rows[i / 2].want);
		run_stop(&r);
	}
}

/* Clearing writes nothing where no script reads: what comes is seen all the same, even a 0. */
static void clear_forgets_what_was(void **state)
{
	static const struct {
		struct type type;
		const char *one, *four; /* after the events 0; 0 1 2 3 */
	} rows[] = {
		{{.kind = TYPE_SUM, .size = 8, .is_signed = true}, ":0;", ":6;"},
		{{.kind = TYPE_COUNT}, ":1;", ":4;"},
	};
	struct target t;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	for (int i = 0; i < 2; i++) {
		struct make *m = make_new();
		struct run r;

		make_clause(m, 1);
		make_site(m, &t, "int", ARGS_INT);
		make_map(m, none, rows[i].type, 1);
		ADD(m, .op = OP_ARG, .d = 0, .imm = 0);
		ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = i ? REG_NO : 0);
		EXPECT_START(r, m, .group_maps = grouped);
		assert_map(&r, 0, "");
		assert_int_equal(map_zero(&r.e->maps, 0), 0);
		assert_map(&r, 0, "");
		for (int round = 0; round < 2; round++) {
			target_tell(&t, "int 1");
			assert_map(&r, 0, rows[i].one);
			assert_int_equal(map_clear(&r.e->maps, 0), 0);
			assert_map(&r, 0, "");
			target_tell(&t, "int 4");
			assert_map(&r, 0, rows[i].four);
			assert_int_equal(map_zero(&r.e->maps, 0), 0);
			assert_map(&r, 0, ":0;");
			assert_int_equal(map_zero(&r.e->maps, 0), 0);
			assert_map(&r, 0, ":0;");
			target_tell(&t, "int 4");
			assert_map(&r, 0, rows[i].four);
			assert_int_equal(map_clear(&r.e->maps, 0), 0);
		}
		run_stop(&r);
	}
	target_stop(&t);
}

static void clear_removes_and_zero_keeps(void **state)
{
	struct target t;
	struct run r;
	struct make *m = make_new();

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 1);
	make_site(m, &t, "int", ARGS_INT);
	make_map(m, none, (struct type){.kind = TYPE_COUNT}, 1);
	ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO);
	EXPECT_START(r, m, .group_maps = grouped);
	target_tell(&t, "int 10");
	map_zero(&r.e->maps, 0);
	assert_map(&r, 0, ":0;");
	target_tell(&t, "int 3");
	assert_map(&r, 0, ":3;");
	map_clear(&r.e->maps, 0);
	assert_map(&r, 0, "");
	target_tell(&t, "int 2");
	assert_map(&r, 0, ":2;");
	run_stop(&r);
	target_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aggregates_single_and_keyed),
		cmocka_unit_test(histograms_have_the_right_buckets),
		cmocka_unit_test(values_come_and_go),
		cmocka_unit_test(aggregates_can_be_read),
		cmocka_unit_test(clear_removes_and_zero_keeps),
		cmocka_unit_test(clear_forgets_what_was),
	};
	int failed = cmocka_run_group_tests_name("bpf_maps", tests, NULL, NULL);

	return failed + cmocka_run_group_tests_name("bpf_maps in groups", tests, group_maps, NULL);
}
