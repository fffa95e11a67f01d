/* Scripts: the tables of tests/cases/script/ hold trees, programs, and every word of every message.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "help/case_suite.h"
#include "help/fake_source.h"

#define MAX_PARAMS 8

static void read_option(struct str option, struct script_options *o)
{
	if (str_eq_text(option, "messages")) /* the program is of no interest */
		return;
	if (str_eq_text(option, "pid"))
		o->pid = 7;
	else if (str_eq_text(option, "unsafe"))
		o->unsafe = true;
	else if (str_eq_text(option, "missing warn"))
		o->missing_probes = MISSING_WARN;
	else if (str_eq_text(option, "missing ignore"))
		o->missing_probes = MISSING_IGNORE;
	else
		fail_msg("unknown option '%.*s'", STR_FMT(option));
}

/* What the case says beside its script; params: room for MAX_PARAMS. */
static void read_options(const struct test_case *t, struct script_options *o, struct str *params)
{
	struct str cpu = case_value(t, "cpu"), rest = case_value(t, "args");

	/* Registers have other names elsewhere. */
	if (cpu.len && !str_eq_text(cpu, arch_host()->name))
		skip();
	for (const struct case_field *f = NULL; (f = case_next(t, "option", f));)
		read_option(case_field_value(f), o);
	while (rest.len && o->param_count < MAX_PARAMS)
		params[o->param_count++] = str_cut(&rest, ' ');
}

/* A case that expects a tree is parsed only, all others are compiled. */
static void test_case(void **state)
{
	const struct test_case *t = *state;
	struct str params[MAX_PARAMS];
	struct script_options options = {.path = STR("-e"), .params = params};
	struct fake fake = {false};
	struct script_source source = fake_source(&fake);
	bool is_tree = case_next(t, "tree", NULL);
	struct buf tree = BUF_INIT, program = BUF_INIT;
	struct diag d = DIAG_INIT;
	struct script *s = NULL;
	struct program *p = NULL;
	int err;

	read_options(t, &options, params);
	err = script_parse(case_value(t, "script"), &options, &s, &d);
	if (!err && is_tree)
		script_print_tree(s, &tree);
	if (!err && !is_tree)
		err = script_resolve(s, &source, &d);
	if (!err && !is_tree)
		err = script_compile(s, &p, &d);
	if (p)
		program_print(p, &program);
	case_expect(t, "tree", buf_as_str(&tree));
	if (!str_eq_text(case_value(t, "option"), "messages"))
		case_expect(t, "program", buf_as_str(&program));
	case_expect_messages(t, &d);
	assert_int_equal(err != 0, d.errors != 0);
	buf_free(&tree);
	buf_free(&program);
	script_free(s);
	diag_free(&d);
}

/* Compile for /bin/app, then let /bin/late appear. */
static void test_extend(void **state)
{
	struct script_options options = {.path = STR("-e"), .pid = 7};
	struct fake fake = {false};
	struct script_source source = fake_source(&fake);
	struct diag d = DIAG_INIT;
	struct script *s = NULL;
	struct program *p = NULL, *more = NULL;
	const void *image;

	(void)state;
	assert_int_equal(
		script_parse(STR("usdt:*:app:*a*t* { printf(\"%s\", probe); @[str(5)]++ }"),
			     &options, &s, &d),
		0);
	assert_int_equal(script_resolve(s, &source, &d), 0);
	assert_int_equal(script_compile(s, &p, &d), 0);
	assert_int_equal(script_probe_count(s), 1);
	assert_int_equal(script_extend(s, &source, &more, &image, &d), 0);
	assert_null(more);
	fake.late = true;
	assert_int_equal(script_extend(s, &source, &more, &image, &d), 0);
	assert_non_null(more);
	assert_int_equal(script_probe_count(s), 2);
	assert_int_equal(more->clause_count, 1);
	assert_int_equal(more->clauses[0].attach_count, 1);
	assert_int_equal(more->clauses[0].attaches[0].offset, 0x200);
	assert_int_equal(more->format_count, p->format_count);
	assert_int_equal(more->map_count, p->map_count);
	assert_true(type_equal(&more->maps[0].key, &p->maps[0].key));
	assert_true(more->name_count > p->name_count);
	for (uint32_t i = 0; i < p->name_count; i++)
		assert_true(str_eq(p->names[i], more->names[i]));
	more = NULL;
	assert_int_equal(script_extend(s, &source, &more, &image, &d), 0);
	assert_null(more);
	assert_int_equal(d.errors, 0);
	script_free(s);
	diag_free(&d);
}

/* A probe that is only there later: its maps have numbers from the start, its formats come with
 * it. */
static void test_extend_from_nothing(void **state)
{
	struct script_options options = {
		.path = STR("-e"), .pid = 7, .missing_probes = MISSING_IGNORE};
	struct fake fake = {false};
	struct script_source source = fake_source(&fake);
	struct diag d = DIAG_INIT;
	struct script *s = NULL;
	struct program *p = NULL, *more = NULL;
	const void *image;

	(void)state;
	assert_int_equal(
		script_parse(STR("usdt:*:app:late { @b = 1; print(\"x\") } END { @a = 2 }"),
			     &options, &s, &d),
		0);
	assert_int_equal(script_resolve(s, &source, &d), 0);
	assert_int_equal(script_compile(s, &p, &d), 0);
	assert_int_equal(p->clause_count, 1);
	assert_int_equal(p->format_count, 0);
	fake.late = true;
	assert_int_equal(script_extend(s, &source, &more, &image, &d), 0);
	assert_int_equal(more->clause_count, 1);
	assert_int_equal(more->format_count, 1);
	for (uint32_t i = 0; i < p->map_count; i++)
		assert_true(str_eq(more->maps[i].name, p->maps[i].name));
	script_free(s);
	diag_free(&d);
}

static void test_environment(void **state)
{
	struct script_options options = {.path = STR("-e"), .max_strlen = 100};
	struct script_facts facts;
	struct diag d = DIAG_INIT;
	struct script *s = NULL;
	struct str text = STR("config = { max_strlen = 200; max_map_keys = 300 } BEGIN { }");

	(void)state;
	setenv("BPFTRACE_STRLEN", "400", 1);
	setenv("NOPAL_STR_TRUNC_TRAILER", "~", 1);
	assert_int_equal(script_parse(text, &options, &s, &d), 0);
	script_facts(s, &facts);
	assert_int_equal(facts.max_strlen, 400);
	assert_int_equal(facts.max_map_keys, 300);
	assert_true(str_eq_text(facts.trunc_trailer, "~"));
	assert_true(facts.only_begin_end);
	assert_false(facts.needs_images);
	script_free(s);
	s = NULL;
	setenv("BPFTRACE_STRLEN", "much", 1);
	assert_int_equal(script_parse(text, &options, &s, &d), -EINVAL);
	assert_null(s);
	assert_string_equal(d.last->tag, "bad-setting");
	unsetenv("BPFTRACE_STRLEN");
	unsetenv("NOPAL_STR_TRUNC_TRAILER");
	diag_free(&d);
}

static int list_one(void *arg, struct str probe)
{
	buf_str(arg, probe);
	buf_char(arg, '\n');
	return 0;
}

static void test_list(void **state)
{
	struct script_options options = {.path = STR("-e")};
	struct fake fake = {false};
	struct script_source source = fake_source(&fake);
	struct diag d = DIAG_INIT;
	struct buf out = BUF_INIT;

	(void)state;
	assert_int_equal(script_list(STR("usdt:/bin/app:app:t*"), &options, false, &source,
				     list_one, &out, &d),
			 0);
	assert_string_equal(out.ptr, "usdt:/bin/app:app:tick\nusdt:/bin/app:app:tock\n");
	buf_clear(&out);
	assert_int_equal(script_list(STR("uprobe:/bin/app:work*"), &options, false, &source,
				     list_one, &out, &d),
			 0);
	assert_string_equal(out.ptr, "uprobe:/bin/app:work\nuprobe:/bin/app:work_hard\n");
	buf_clear(&out);
	assert_int_equal(
		script_list(STR("t:sched:*"), &options, false, &source, list_one, &out, &d), 0);
	assert_string_equal(out.ptr,
			    "tracepoint:sched:sched_switch\ntracepoint:sched:sched_wakeup\n");
	buf_clear(&out);
	assert_int_equal(script_list(STR("trace*:sched:*, uprobe:/bin/app:main,t:*openat"),
				     &options, false, &source, list_one, &out, &d),
			 0);
	assert_string_equal(out.ptr, "tracepoint:sched:sched_switch\n"
				     "tracepoint:sched:sched_wakeup\n"
				     "uprobe:/bin/app:main\n"
				     "tracepoint:syscalls:sys_enter_openat\n");
	buf_clear(&out);
	assert_int_equal(script_list(STR("*faults"), &options, false, &source, list_one, &out, &d),
			 0);
	assert_string_equal(out.ptr, "software:alignment-faults:\nsoftware:emulation-faults:\n"
				     "software:major-faults:\nsoftware:minor-faults:\n"
				     "software:page-faults:\n");
	buf_clear(&out);
	assert_int_equal(
		script_list(STR("u*:/bin/app:work"), &options, false, &source, list_one, &out, &d),
		0);
	assert_string_equal(out.ptr, "uprobe:/bin/app:work\n");
	assert_int_equal(
		script_list(STR("usdt:/a:b { }"), &options, false, &source, list_one, &out, &d),
		-EINVAL);
	buf_free(&out);
	diag_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_extend),
		cmocka_unit_test(test_extend_from_nothing),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_list),
	};
	struct case_suite suite = {0};

	case_suite_add(&suite, "tests/cases/script/*.txt",
		       "script args option cpu tree program tags says", test_case);
	case_suite_add_tests(&suite, tests);
	return case_suite_run(&suite, "script");
}
