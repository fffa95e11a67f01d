/* Records and maps as text and JSON: the tables of tests/cases/report/. A case builds a program of
 * a few maps and formats, then lets records arrive and maps be printed through a store that only
 * has what the case says. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "help/case_suite.h"
#include "help/report_case.h"

#include "report/histogram.h"
#include "report/moment.h"
#include "report/render.h"
#include "symbols/symbols.h"

/* ---- the maps that the case says ---- */

static int fake_each(void *self, uint32_t map, map_entry_fn *fn, void *arg)
{
	struct bench *b = self;
	int err = 0;

	for (size_t i = 0; i < b->entry_count && !err; i++)
		if (b->entries[i].map == map && !b->entries[i].gone)
			err = fn(arg, b->entries[i].key, b->entries[i].value);
	return err;
}

static int fake_clear(void *self, uint32_t map)
{
	struct bench *b = self;

	for (size_t i = 0; i < b->entry_count; i++)
		b->entries[i].gone |= b->entries[i].map == map;
	return 0;
}

static int fake_zero(void *self, uint32_t map)
{
	struct bench *b = self;

	for (size_t i = 0; i < b->entry_count; i++)
		if (b->entries[i].map == map)
			b->entries[i].value =
				str_of(arena_alloc(&b->arena, b->entries[i].value.len + 1),
				       b->entries[i].value.len);
	return 0;
}

/* ---- running a case ---- */

static void run_step(struct bench *b, struct report *r, const struct step *s, struct buf *out)
{
	const struct map_store maps = {b, fake_each, fake_clear, fake_zero, NULL};
	enum report_action action = REPORT_DONE;
	struct run_fault fault = {.span = (uint32_t)s->numbers[2]};
	const struct run_stats stats = {.lost_records = s->numbers[0],
					.lost_updates = s->numbers[1],
					.lost_scratch = s->numbers[2],
					.loop_limits = s->numbers[3]};

	switch (s->kind) {
	case STEP_RECORD:
		b->error = report_record(r, &maps, s->bytes, out, &action, &b->exit_code);
		assert_int_equal(b->error, 0);
		buf_str(out, report_failure(r));
		break;
	case STEP_MAPS: assert_int_equal(report_all_maps(r, &maps, out), 0); break;
	case STEP_LOST: report_lost(r, &stats, 12, 4 << 20, out); break;
	case STEP_ATTACHED: report_attached(r, (unsigned)s->numbers[0], out); break;
	case STEP_FAULT:
		fault.kind = (int)s->numbers[0];
		fault.count = s->numbers[1];
		report_fault(r, &fault, out);
		break;
	}
}

static void run_style(struct bench *b, enum report_style style, const struct buf *expected)
{
	struct symbols *symbols = NULL;
	struct report *r = NULL;
	struct buf out = BUF_INIT;
	struct entry entries[256];

	b->options.style = style;
	memcpy(entries, b->entries, sizeof(entries));
	assert_int_equal(symbols_new(&symbols), 0);
	assert_int_equal(report_new(&b->program, &b->options, symbols, &r), 0);
	for (size_t i = 0; i < b->step_count; i++)
		run_step(b, r, &b->steps[i], &out);
	memcpy(b->entries, entries, sizeof(entries));
	buf_char(&out, '\0'); /* compared as C text below */
	assert_string_equal(out.ptr, expected->len ? expected->ptr : "");
	report_free(r);
	symbols_free(symbols);
	buf_free(&out);
}

static void run_case(void **state)
{
	const struct test_case *t = *state;
	struct bench *b = malloc(sizeof(*b));

	assert_non_null(b);
	bench_init(b);
	for (size_t i = 0; i < t->field_count; i++)
		take_field(b, &t->fields[i]);
	assert_true(b->has_text || b->has_json);
	if (b->has_text)
		run_style(b, REPORT_TEXT, &b->text);
	if (b->has_json)
		run_style(b, REPORT_JSON, &b->json);
	bench_free(b);
}

/* ---- what tables cannot say ---- */

static void times_are_formatted(void **state)
{
	static const struct {
		const char *format;
		int64_t nsecs;
		const char *expected;
	} rows[] = {
		{"%Y-%m-%d %H:%M:%S", 0, "1970-01-01 00:00:00"},
		{"%H:%M:%S.%f", 3661000123999, "01:01:01.000123"},
		{"%f", -1, "999999"},
		{"%S", -1, "59"},
		{"100%% %", 0, "100% %"},
		{"%q|%", 0, "%q|%"},
		{"%-d|%02e|%_H|", 0, "1|01| 0|"},
		{"", 0, ""},
	};

	(void)state;
	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf out = BUF_INIT;

		moment_format(str_from(rows[i].format), rows[i].nsecs, false, &out);
		assert_string_equal(out.ptr ? out.ptr : "", rows[i].expected);
		buf_free(&out);
	}
}

static struct report *report_of(struct bench *b)
{
	struct report *r = NULL;

	assert_int_equal(report_new(&b->program, &b->options, NULL, &r), 0);
	return r;
}

/* Each way in which a record can be shorter than its fields leaves nothing behind. */
static void malformed_records_show_nothing(void **state)
{
	struct bench *b = malloc(sizeof(*b));
	struct str line = STR("\"%d %s %d\\n\" int64 str int64");
	struct buf out = BUF_INIT;
	enum report_action action = REPORT_DONE;
	struct report *r;
	int code = 0;

	(void)state;
	bench_init(b);
	on_printf(b, &line);
	line = STR("1 \"some text\" 2");
	add_record(b, &line);
	r = report_of(b);
	buf_text(&out, "before");
	for (uint32_t size = 0; size < b->steps[0].bytes.len; size += 4) {
		char *copy = malloc(size ? size : 1);

		memcpy(copy, b->steps[0].bytes.ptr, size);
		if (size >= 4)
			memcpy(copy, &size, sizeof(size));
		assert_int_equal(report_record(r, &(struct map_store){0}, str_of(copy, size), &out,
					       &action, &code),
				 -EPROTO);
		assert_string_equal(out.ptr, "before");
		free(copy);
	}
	report_free(r);
	buf_free(&out);
	bench_free(b);
}

static void exit_ends_the_run(void **state)
{
	struct bench *b = malloc(sizeof(*b));
	struct str line = STR("3");
	struct buf out = BUF_INIT;
	enum report_action action = REPORT_DONE;
	struct report *r;

	(void)state;
	bench_init(b);
	on_exit_code(b, &line);
	r = report_of(b);
	assert_int_equal(report_record(r, &(struct map_store){0}, b->steps[0].bytes, &out, &action,
				       &b->exit_code),
			 0);
	assert_int_equal(action, REPORT_EXIT);
	assert_int_equal(b->exit_code, 3);
	assert_int_equal(out.len, 0);
	report_free(r);
	bench_free(b);
}

static void later_names_are_known(void **state)
{
	static const struct str more_names[] = {{"a", 1}, {"b", 1}};
	struct program more;
	struct bench *b = malloc(sizeof(*b));
	struct str line = STR("\"%s\\n\" name");
	struct buf out = BUF_INIT;
	enum report_action action;
	struct report *r;
	int code;

	(void)state;
	bench_init(b);
	on_printf(b, &line);
	line = STR("1");
	add_record(b, &line);
	line = STR("\"a\"");
	on_names(b, &line);
	r = report_of(b);
	report_record(r, &(struct map_store){0}, b->steps[0].bytes, &out, &action, &code);
	more = b->program;
	more.names = more_names;
	more.name_count = 2;
	assert_int_equal(report_extend(r, &more), 0);
	report_record(r, &(struct map_store){0}, b->steps[0].bytes, &out, &action, &code);
	assert_string_equal(out.ptr, "(unknown)\nb\n");
	report_free(r);
	buf_free(&out);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_formatted),
		cmocka_unit_test(malformed_records_show_nothing),
		cmocka_unit_test(exit_ends_the_run),
		cmocka_unit_test(later_names_are_known),
	};
	struct case_suite suite = {0};

	case_suite_add(&suite, "tests/cases/report/*.txt", NULL, run_case);
	case_suite_add_tests(&suite, tests);
	return case_suite_run(&suite, "report");
}
