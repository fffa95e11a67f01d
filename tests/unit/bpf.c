/* The BPF engine, traced for real: programs made by hand, fired by tests/targets/bpf_sites. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "help/bpf.h"

static void counts_events(void **state)
{
	struct target t;
	struct run r;
	struct make *m = make_new();

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 1);
	make_site(m, &t, "int", ARGS_INT);
	make_map(m, none, counter, 1);
	ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO);
	EXPECT_START(r, m, 0);
	assert_map(&r, 0, "");
	target_tell(&t, "int 1000");
	target_tell(&t, "threads 4 5000");
	assert_map(&r, 0, ":21000;");
	run_stop(&r);
	target_stop(&t);
}

static void prints_int_and_text(void **state)
{
	static const struct type fields[] = {{.kind = TYPE_INT, .size = 4, .is_signed = true},
					     {.kind = TYPE_STR, .size = 64}};
	struct target t;
	struct run r;
	struct make *m = make_new();
	uint16_t s;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 2);
	make_site(m, &t, "str", ARGS_INT);
	s = make_slot(m, str_type);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 0);
	ADD(m, .op = OP_ARG, .d = 1, .imm = 1);
	ADD(m, .op = OP_STR, .s = s, .a = 1, .b = REG_NO);
	ADD(m, .op = OP_EMIT, .imm = make_format(m, FORMAT_PRINTF, fields, 2), .field_count = 2,
	    .fields = (struct field[]){{0, SLOT_NO}, {REG_NO, s}});
	EXPECT_START(r, m, 0);
	target_tell(&t, "str hello world");
	target_tell(&t, "str x");
	target_tell(&t, "null");
	target_tell(&t, "bad");
	target_tell(&t, "edge");
	assert_string_equal(run_text(&r), "-7 'hello world';-7 'x';-7 ''!4;-7 ''!2;-7 'edge';");
	run_stop(&r);
	target_stop(&t);
}

/* Clauses that run at the same and at different sites, whose arguments lie in different places. */
static void clauses_share_sites(void **state)
{
	static const struct type fields[] = {{.kind = TYPE_INT, .size = 8, .is_signed = true},
					     {.kind = TYPE_NAME}};
	static const struct field f[] = {{0, SLOT_NO}, {1, SLOT_NO}};
	struct target t;
	struct run r;
	struct make *m = make_new();
	int64_t format;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	format = make_format(m, FORMAT_PRINTF, fields, 2);
	m->names[m->p.name_count++] = STR("other");
	make_clause(m, 2); /* all three sites */
	make_site(m, &t, "int", ARGS_INT);
	make_site(m, &t, "other", ARGS_OTHER)->name = 2;
	make_site(m, &t, "value", ARGS_VALUE);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 0);
	ADD(m, .op = OP_BUILTIN, .d = 1, .imm = BUILTIN_PROBE);
	ADD(m, .op = OP_EMIT, .imm = format, .field_count = 2, .fields = f);
	make_clause(m, 2); /* one of them once more */
	make_site(m, &t, "int", ARGS_INT);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 1);
	ADD(m, .op = OP_CONST, .d = 1, .imm = 77);
	ADD(m, .op = OP_EMIT, .imm = format, .field_count = 2, .fields = f);
	make_clause(m, 2); /* another, and the first */
	make_site(m, &t, "other", ARGS_OTHER)->name = 2;
	make_site(m, &t, "int", ARGS_INT);
	ADD(m, .op = OP_CONST, .d = 0, .imm = 3);
	ADD(m, .op = OP_BUILTIN, .d = 1, .imm = BUILTIN_FUNC);
	ADD(m, .op = OP_EMIT, .imm = format, .field_count = 2, .fields = f);
	EXPECT_START(r, m, 0);
	target_tell(&t, "int 2");
	target_tell(&t, "other 2");
	target_tell(&t, "value 0x123456789abcdef");
	assert_string_equal(run_text(&r), "0 0;0 77;3 1;1 0;8 77;3 1;"
					  "0 2;3 1;1 2;3 1;"
					  "81985529216486895 0;");
	run_stop(&r);
	target_stop(&t);
}

static void twelve_arguments_in_memory(void **state)
{
	struct target t;
	struct run r;
	struct make *m = make_new();
	struct field f[12];
	struct type types[12];

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 12);
	make_site(m, &t, "many", ARGS_MANY);
	for (uint16_t i = 0; i < 12; i++) {
		ADD(m, .op = OP_ARG, .d = i, .imm = i);
		f[i] = (struct field){i, SLOT_NO};
		types[i] = int_type;
	}
	ADD(m, .op = OP_EMIT, .imm = make_format(m, FORMAT_PRINTF, types, 12), .field_count = 12,
	    .fields = f);
	EXPECT_START(r, m, 0);
	target_tell(&t, "many");
	assert_string_equal(run_text(&r), "1 2 3 4 5 6 7 8 9 10 11 -12;");
	run_stop(&r);
	target_stop(&t);
}

/* Print str(arg1) at `str`; `size` is the limit of the text. */
static struct make *make_print_text(const struct target *t, struct type *type)
{
	static const struct field f[] = {{REG_NO, 0}};
	struct make *m = make_new();

	make_clause(m, 1);
	make_site(m, t, "str", ARGS_INT);
	make_slot(m, *type);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 1);
	ADD(m, .op = OP_STR, .s = 0, .a = 0, .b = REG_NO, .span = 5);
	ADD(m, .op = OP_EMIT, .imm = make_format(m, FORMAT_PRINTF, type, 1), .field_count = 1,
	    .fields = f);
	return m;
}

/* A file whose pages are not in memory: written, synced and dropped. */
static void make_cold_file(char *path, size_t at, const char *text)
{
	int fd = mkstemp(path);

	assert_int_equal(pwrite(fd, text, strlen(text) + 1, (off_t)at), (ssize_t)strlen(text) + 1);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

static void reads_pages_never_touched(void **state)
{
	struct type type = {.kind = TYPE_STR, .size = 64};
	char path[] = "/var/tmp/nopal-cold.XXXXXX", line[128];
	struct target t;
	struct run r;

	(void)state;
	SKIP_WITHOUT_ROOT();
	make_cold_file(path, 0, "cold text");
	snprintf(line, sizeof(line), "page %s", path);
	target_start(&t);
	EXPECT_START(r, make_print_text(&t, &type), 0);
	target_tell(&t, line);
	assert_string_equal(run_text(&r), "'cold text';");
	run_stop(&r);
	setenv("NOPAL_NO_FEATURES", "sleepable", 1);
	EXPECT_START(r, make_print_text(&t, &type), 0);
	unsetenv("NOPAL_NO_FEATURES");
	target_tell(&t, line);
	/* Without sleeping the same page cannot be read: it says so. */
	assert_string_equal(run_text(&r), "''!2;");
	run_stop(&r);
	target_stop(&t);
	unlink(path);
}

/* 72 bytes without a NUL, up to the end of the last mapped page. */
static void text_may_end_where_memory_ends(void **state)
{
	static const struct {
		uint32_t size;
		int limit; /* -1: none */
		const char *want;
	} rows[] = {
		{128, 72,
		 "'012345678901234567890123456789012345678901234567890123456789012345678901';"},
		{128, 71,
		 "'01234567890123456789012345678901234567890123456789012345678901234567890';"},
		{128, 70,
		 "'0123456789012345678901234567890123456789012345678901234567890123456789';"},
		{128, 73, "''!2;"},
		{128, -1, "''!2;"},
		{72, -1,
		 "'012345678901234567890123456789012345678901234567890123456789012345678901'!1;"},
	};
	struct target t;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct type type = {.kind = TYPE_STR, .size = rows[i].size};
		struct make *m = make_print_text(&t, &type);
		struct run r;

		if (rows[i].limit >= 0) {
			m->clauses[0].reg_count = 2;
			m->code[0][3] = m->code[0][2];
			m->code[0][2] = m->code[0][1];
			m->code[0][2].b = 1;
			m->code[0][1] = (struct insn){.op = OP_CONST, .d = 1, .imm = rows[i].limit};
			m->clauses[0].insn_count++;
		}
		EXPECT_START(r, m, 0);
		target_tell(&t, "tail");
		assert_string_equal(run_text(&r), rows[i].want);
		run_stop(&r);
	}
	target_stop(&t);
}

static int add_fault(void *arg, const struct run_fault *f)
{
	buf_printf(arg, "%u:%d:%llu;", f->span, (int)f->kind, (unsigned long long)f->count);
	return 0;
}

static void unreadable_memory_is_counted_by_place(void **state)
{
	struct type type = {.kind = TYPE_STR, .size = 8};
	struct buf faults = BUF_INIT;
	struct target t;
	struct run r;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	EXPECT_START(r, make_print_text(&t, &type), 0);
	target_tell(&t, "bad");
	target_tell(&t, "str 12345678");
	target_tell(&t, "str 123456789");
	target_tell(&t, "bad");
	assert_string_equal(run_text(&r), "''!2;'12345678';'12345678'!1;''!2;");
	engine_bpf.faults(r.e, add_fault, &faults);
	assert_string_equal(faults.ptr, "5:0:2;");
	buf_free(&faults);
	run_stop(&r);
	target_stop(&t);
}

/* Every record that was fired is delivered or counted as lost. */
static void a_full_ring_loses_exactly(void **state)
{
	struct target t;
	struct run r;
	struct run_stats stats;
	struct make *m = make_new();
	static const struct field f[] = {{0, SLOT_NO}};

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 1);
	make_site(m, &t, "int", ARGS_INT);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 0);
	ADD(m, .op = OP_EMIT, .imm = make_format(m, FORMAT_PRINTF, &int_type, 1), .field_count = 1,
	    .fields = f);
	ADD(m, .op = OP_EMIT, .imm = make_format(m, FORMAT_TIME, NULL, 0));
	EXPECT_START(r, m, .ring_bytes = 4096);
	target_tell(&t, "int 1000");
	run_text(&r);
	target_tell(&t, "int 10");
	run_text(&r);
	engine_bpf.stats(r.e, &stats);
	assert_true(stats.lost_records > 0);
	/* Data is delivered or counted; control is all there. */
	assert_int_equal(r.records + stats.lost_records, 2 * 1010);
	run_stop(&r);
	target_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_events),
		cmocka_unit_test(prints_int_and_text),
		cmocka_unit_test(clauses_share_sites),
		cmocka_unit_test(twelve_arguments_in_memory),
		cmocka_unit_test(reads_pages_never_touched),
		cmocka_unit_test(text_may_end_where_memory_ends),
		cmocka_unit_test(unreadable_memory_is_counted_by_place),
		cmocka_unit_test(a_full_ring_loses_exactly),
	};

	return cmocka_run_group_tests_name("bpf", tests, NULL, NULL);
}
