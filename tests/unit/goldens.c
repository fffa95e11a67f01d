/* Scripts of tests/cases/bpftrace through the compiler, the interpreter and the report, against
 * what bpftrace 0.17 prints for them, to the character. Needs neither root nor a kernel that
 * traces. */
#include "help/case_suite.h"

#include "engine/engine.h"
#include "report/report.h"
#include "symbols/symbols.h"
#include "script/script.h"

/* One script on its way from text to text. */
struct run {
	struct script *script;
	struct program *program;
	struct engine *engine;
	struct symbols *symbols;
	struct report *report;
	struct buf out;
	struct diag diag;
	bool over;
};

static void check(struct run *r, int err)
{
	struct buf messages = BUF_INIT;

	if (!err)
		return;
	diag_render(&r->diag, &messages);
	print_error("%s\n", messages.ptr ? messages.ptr : "");
	buf_free(&messages);
	fail_msg("error %d", err);
}

static void compile(struct run *r, const struct test_case *t)
{
	const struct script_options options = {.path = STR("script"), .unsafe = true};
	const struct script_source nowhere = {0}; /* BEGIN is everywhere */

	check(r, script_parse(case_text(t, "script"), &options, &r->script, &r->diag));
	check(r, script_resolve(r->script, &nowhere, &r->diag));
	check(r, script_compile(r->script, &r->program, &r->diag));
}

static int take_record(void *arg, struct str bytes)
{
	struct run *r = arg;
	enum report_action action = REPORT_DONE;
	int code, err = 0;

	if (!r->over)
		err = report_record(r->report, &r->engine->maps, bytes, &r->out, &action, &code);
	r->over |= action == REPORT_EXIT;
	return err;
}

static void run_begin(struct run *r, enum report_style style)
{
	const struct engine_options engine_options = {0};
	const struct report_options options = {
		.style = style, .trunc_trailer = STR(".."), .unsafe = true};

	check(r, symbols_new(&r->symbols));
	check(r, report_new(r->program, &options, r->symbols, &r->report));
	check(r, engine_interp.open(&engine_options, &r->engine, &r->diag));
	check(r, engine_build(r->engine, r->program, &r->diag));
	check(r, engine_attach(r->engine, &r->diag));
	if (style == REPORT_JSON)
		report_attached(r->report, script_probe_count(r->script), &r->out);
	for (uint32_t i = 0; i < r->program->clause_count; i++)
		check(r, engine_run(r->engine, ATTACH_BEGIN, 0, i, &r->diag));
	assert_true(engine_drain(r->engine, 0, take_record, r) >= 0);
	assert_true(r->over);
	check(r, report_all_maps(r->report, &r->engine->maps, &r->out));
}

static void run_free(struct run *r)
{
	engine_interp.close(r->engine);
	report_free(r->report);
	symbols_free(r->symbols);
	script_free(r->script);
	buf_free(&r->out);
	diag_free(&r->diag);
}

static void compare(const struct test_case *t, enum report_style style, const char *key)
{
	struct run r = {.diag = DIAG_INIT};

	compile(&r, t);
	run_begin(&r, style);
	case_expect(t, key, buf_as_str(&r.out));
	run_free(&r);
}

static void text_is_bpftrace_s(void **state)
{
	compare(*state, REPORT_TEXT, "text");
}

static void json_is_bpftrace_s(void **state)
{
	compare(*state, REPORT_JSON, "json");
}

int main(void)
{
	struct case_suite suite = {0};

	case_suite_add(&suite, "tests/cases/bpftrace/*.txt", "script text json",
		       text_is_bpftrace_s);
	case_suite_add(&suite, "tests/cases/bpftrace/*.txt", "script text json",
		       json_is_bpftrace_s);
	return case_suite_run(&suite, "goldens");
}
