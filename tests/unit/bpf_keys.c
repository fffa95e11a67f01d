/* The keys of maps in the BPF engine: short and long ones, and what happens when a map is full or
 * its keys are fought over. */
#include <stdlib.h>

#include "base/array.h"
#include "help/bpf.h"

/* As few maps are reached, or as a script with too many to name them reaches them. */
static bool grouped;

static int group_maps(void **state)
{
	(void)state;
	return !(grouped = true);
}

static const struct type wide = {.kind = TYPE_STR, .size = 256};

static void text_keys_short_and_long(void **state)
{
	static const size_t lengths[] = {0,  1,	 7,  8,	  55,  56,  57, 58,
					 63, 64, 65, 200, 255, 256, 300};
	struct target t;
	struct run r;
	struct make *m = make_new();
	char line[400];

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 1);
	make_site(m, &t, "str", ARGS_INT);
	make_slot(m, wide);
	make_map(m, wide, (struct type){.kind = TYPE_COUNT}, 100);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 1);
	ADD(m, .op = OP_STR, .s = 0, .a = 0, .b = REG_NO);
	ADD(m, .op = OP_AGGREGATE, .s = 0, .a = REG_NO);
	EXPECT_START(r, m, .group_maps = grouped);
	for (int round = 0; round < 3; round++)
		for (size_t i = 15; i-- > 0;) { /* long before short: nothing may be left over */
			memset(line, 0, sizeof(line));
			memcpy(line, "str ", 4);
			memset(line + 4, 'a' + (int)i, lengths[i]);
			target_tell(&t, line);
		}
	for (size_t i = 0; i < 15; i++) {
		struct map_text text = {&r, 0, BUF_INIT};
		size_t shown = lengths[i] < 256 ? lengths[i] : 256;
		char *want = calloc(1, 400);

		want[0] = '\'';
		memset(want + 1, 'a' + (int)i, shown);
		strcpy(want + 1 + shown, lengths[i] > 256 ? "'!1:3;" : "':3;");
		assert_int_equal(map_each(&r.e->maps, 0, show_entry, &text), 0);
		assert_non_null(strstr(text.out.ptr, want));
		assert_null(strstr(strstr(text.out.ptr, want) + 1, want));
		free(want);
		buf_free(&text.out);
	}
	assert_int_equal(map_clear(&r.e->maps, 0), 0);
	assert_map(&r, 0, "");
	run_stop(&r);
	target_stop(&t);
}

static void tuple_keys_short_and_long(void **state)
{
	static const struct type parts[] = {{.kind = TYPE_INT, .size = 8, .is_signed = true},
					    {.kind = TYPE_STR, .size = 256},
					    {.kind = TYPE_INT, .size = 8, .is_signed = true}};
	static const struct type tuple = {
		.kind = TYPE_TUPLE, .elements = parts, .element_count = 3};
	struct target t;
	struct run r;
	struct make *m = make_new();
	char line[128] = "str ", want[300];

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 2);
	make_site(m, &t, "str", ARGS_INT);
	make_slot(m, wide);
	make_slot(m, tuple);
	make_map(m, tuple, int_type, 100);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 0);
	ADD(m, .op = OP_ARG, .d = 1, .imm = 1);
	ADD(m, .op = OP_STR, .s = 0, .a = 1, .b = REG_NO);
	ADD(m, .op = OP_PUT, .s = 1, .imm = 0, .a = 0);
	ADD(m, .op = OP_COPY, .s = 1, .imm = 8, .t = 0);
	ADD(m, .op = OP_PUT, .s = 1, .imm = 8 + 8 + 256, .a = 0);
	ADD(m, .op = OP_CONST, .d = 1, .imm = 5);
	ADD(m, .op = OP_MAP_ADD, .s = 1, .map = 0, .a = 1, .d = REG_NO);
	EXPECT_START(r, m, .group_maps = grouped);
	memset(line + 4, 'x', 90);
	target_tell(&t, "str short");
	target_tell(&t, line);
	target_tell(&t, "str short");
	target_tell(&t, line);
	snprintf(want, sizeof(want), "-7,'short',-7,:10;-7,'%s',-7,:10;", line + 4);
	assert_map(&r, 0, want);
	assert_int_equal(map_zero(&r.e->maps, 0), 0);
	snprintf(want, sizeof(want), "-7,'short',-7,:0;-7,'%s',-7,:0;", line + 4);
	assert_map(&r, 0, want);
	run_stop(&r);
	target_stop(&t);
}

static void a_full_map_counts_what_it_refuses(void **state)
{
	struct target t;
	struct run r;
	struct make *m = make_new();
	struct run_stats stats;
	struct buf b = BUF_INIT;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 1);
	make_site(m, &t, "int", ARGS_INT);
	make_slot(m, int_type);
	make_map(m, int_type, (struct type){.kind = TYPE_COUNT}, 3);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 0);
	ADD(m, .op = OP_PUT, .s = 0, .imm = 0, .a = 0);
	ADD(m, .op = OP_AGGREGATE, .s = 0, .a = REG_NO, .span = 7);
	EXPECT_START(r, m, .group_maps = grouped);
	target_tell(&t, "int 10");
	engine_bpf.stats(r.e, &stats);
	assert_int_equal(stats.lost_updates, 7);
	run_stop(&r);
	buf_free(&b);
	target_stop(&t);
}

static int count_entry(void *arg, struct str key, struct str value)
{
	(void)key;
	(void)value;
	++*(int *)arg;
	return 0;
}

/* Tell texts 0.. of which every other is too long for a short key; how many are in the map then? */
static int tell_texts(struct target *t, struct run *r, int count)
{
	char line[256];
	int entries = 0;

	for (int i = 0; i < count; i++) {
		snprintf(line, sizeof(line), "str %0*d", i % 2 ? 80 : 5, i);
		target_tell(t, line);
	}
	assert_int_equal(map_each(&r->e->maps, 0, count_entry, &entries), 0);
	return entries;
}

/* Short and long texts live in two kernel maps with one limit; what is removed makes room. */
static void short_and_long_keys_share_a_limit(void **state)
{
	static const struct type text_key = {.kind = TYPE_STR, .size = 128};
	static const struct insn ops[] = {
		{.op = OP_AGGREGATE, .s = 0, .a = REG_NO},
		{.op = OP_MAP_SET, .s = 0, .a = 0},
		{.op = OP_MAP_ADD, .s = 0, .a = 0, .d = REG_NO},
		{.op = OP_MAP_PUT, .s = 0, .t = 0},
		{.op = OP_MAP_DEL, .s = 0},
	};
	struct target t;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	for (int i = 0; i < 5; i++) {
		const struct type *kinds[] = {&counter, &int_type, &int_type, &text_key, &counter};
		struct make *m = make_new();
		struct run_stats stats;
		struct run r;

		make_clause(m, 1);
		make_site(m, &t, "str", ARGS_INT);
		make_slot(m, text_key);
		make_map(m, text_key, *kinds[i], 3);
		ADD(m, .op = OP_ARG, .d = 0, .imm = 1);
		ADD(m, .op = OP_STR, .s = 0, .a = 0, .b = REG_NO);
		if (ops[i].op == OP_MAP_DEL)
			make_insn(m, ops[0]);
		make_insn(m, ops[i]);
		EXPECT_START(r, m, .group_maps = grouped);
		assert_int_equal(tell_texts(&t, &r, 6), ops[i].op == OP_MAP_DEL ? 0 : 3);
		assert_int_equal(tell_texts(&t, &r, 6), ops[i].op == OP_MAP_DEL ? 0 : 3);
		engine_bpf.stats(r.e, &stats);
		assert_int_equal(stats.lost_updates, ops[i].op == OP_MAP_DEL ? 0 : 6);
		assert_int_equal(map_clear(&r.e->maps, 0), 0);
		assert_int_equal(tell_texts(&t, &r, 2), ops[i].op == OP_MAP_DEL ? 0 : 2);
		assert_int_equal(tell_texts(&t, &r, 4), ops[i].op == OP_MAP_DEL ? 0 : 3);
		run_stop(&r);
	}
	target_stop(&t);
}

/* Four threads insert and count the same keys at once. */
static void keys_fought_over_are_exact(void **state)
{
	struct target t;
	struct run r;
	struct make *m = make_new();
	struct map_text text = {&r, 0, BUF_INIT};
	int lines = 0;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 1);
	make_site(m, &t, "int", ARGS_INT);
	make_slot(m, int_type);
	make_map(m, int_type, (struct type){.kind = TYPE_COUNT}, 4096);
	make_map(m, none, int_type, 1);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 0);
	ADD(m, .op = OP_PUT, .s = 0, .imm = 0, .a = 0);
	ADD(m, .op = OP_AGGREGATE, .s = 0, .a = REG_NO);
	ADD(m, .op = OP_CONST, .d = 0, .imm = 1);
	ADD(m, .op = OP_MAP_ADD, .s = SLOT_NO, .map = 1, .a = 0, .d = REG_NO);
	EXPECT_START(r, m, .group_maps = grouped);
	target_tell(&t, "threads 4 2000");
	assert_map(&r, 1, ":8000;");
	assert_int_equal(map_each(&r.e->maps, 0, show_entry, &text), 0);
	for (char *at = strtok(text.out.ptr, ";"); at; at = strtok(NULL, ";"), lines++)
		assert_string_equal(strchr(at, ':'), ":4");
	assert_int_equal(lines, 2000);
	buf_free(&text.out);
	run_stop(&r);
	target_stop(&t);
}

/* Two probes whose stacks have one frame each, and the same hash. What finds the entry of the other
 * one is lost, counted, and changes nothing. */
static void another_stack_with_the_hash_is_refused(void **state)
{
	static const struct type stack = {.kind = TYPE_USTACK, .size = 8};
	static const struct {
		struct insn first, second; /* what the one probe does, and the other */
		const struct type *value;
		const char *want; /* of the one entry */
		unsigned lost;
	} rows[] = {
#define ROW(want, lost, value, ...) {{__VA_ARGS__}, {__VA_ARGS__}, value, want, lost}
		ROW("2", 2, &counter, .op = OP_AGGREGATE, .s = 0, .a = REG_NO),
		ROW("9", 2, &int_type, .op = OP_MAP_SET, .s = 0, .a = 0),
		ROW("18", 2, &int_type, .op = OP_MAP_ADD, .s = 0, .a = 0, .d = REG_NO),
		ROW("''", 2, &str_type, .op = OP_MAP_PUT, .s = 0, .t = 1),
#undef ROW
		{{.op = OP_AGGREGATE, .s = 0, .a = REG_NO},
		 {.op = OP_MAP_DEL, .s = 0, .d = REG_NO},
		 &counter,
		 "2",
		 0},
	};
	static const char *const names[] = {"int", "str"};
	struct target t;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct make *m = make_new();
		struct run_stats stats;
		char want[128];
		struct run r;

		make_map(m, stack, *rows[i].value, 10);
		for (int k = 0; k < 2; k++) {
			make_clause(m, 1);
			make_site(m, &t, names[k], ARGS_INT);
			make_slot(m, stack);
			make_slot(m, str_type);
			ADD(m, .op = OP_CONST, .d = 0, .imm = 9);
			ADD(m, .op = OP_ZERO, .s = 1);
			ADD(m, .op = OP_USTACK, .s = 0);
			make_insn(m, k ? rows[i].second : rows[i].first);
		}
		EXPECT_START(r, m, .group_maps = grouped, .one_hash = true);
		for (int k = 0; k < 4; k++)
			target_tell(&t, k % 2 ? "str x" : "int 1");
		snprintf(want, sizeof(want), "stack of 1:%s;", rows[i].want);
		assert_map(&r, 0, want);
		engine_bpf.stats(r.e, &stats);
		assert_int_equal(stats.lost_updates, rows[i].lost);
		run_stop(&r);
	}
	target_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_keys_short_and_long),
		cmocka_unit_test(tuple_keys_short_and_long),
		cmocka_unit_test(another_stack_with_the_hash_is_refused),
		cmocka_unit_test(a_full_map_counts_what_it_refuses),
		cmocka_unit_test(short_and_long_keys_share_a_limit),
		cmocka_unit_test(keys_fought_over_are_exact),
	};
	int failed = cmocka_run_group_tests_name("bpf_keys", tests, NULL, NULL);

	return failed + cmocka_run_group_tests_name("bpf_keys in groups", tests, group_maps, NULL);
}
