/* The script room against tables of scripts: trees, programs, and every word of every message.
 *
 * A case of a table is
 *   -- its name
 *   params: a b | pid | unsafe | missing warn     any of these, one a line
 *   ==
 *   the script
 *   ==
 *   what must come out: tags of messages in brackets, then the text */
#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "help/fake_source.h"

#define MAX_CASES 400

struct table_case {
	struct str name, options, script, expected;
	bool is_tree;
};

struct cases {
	char *texts[4];
	struct table_case items[MAX_CASES];
	size_t count;
};

static char *read_file(const char *path)
{
	struct buf text = BUF_INIT;
	char bytes[4096];
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	while ((n = fread(bytes, 1, sizeof(bytes), f)) > 0)
		buf_add(&text, bytes, n);
	fclose(f);
	assert_false(text.failed);
	return text.ptr;
}

/* Cut *rest in front of the next line that is `line`, and behind it. */
static struct str until_line(struct str *rest, const char *line)
{
	struct str part = {rest->ptr, 0};

	while (rest->len) {
		struct str one = str_cut(rest, '\n');

		if (str_eq_text(one, line))
			return part;
		part.len = (size_t)(rest->ptr - part.ptr);
	}
	return part;
}

static struct str until_next_case(struct str *rest)
{
	struct str part = {rest->ptr, 0};

	while (rest->len && !str_starts(*rest, STR("-- "))) {
		str_cut(rest, '\n');
		part.len = (size_t)(rest->ptr - part.ptr);
	}
	/* One empty line stands between cases. */
	if (str_ends(part, STR("\n")))
		part.len--;
	return part;
}

static void add_cases(struct cases *c, unsigned number, const char *path, bool is_tree)
{
	struct str rest = str_from(c->texts[number] = read_file(path));

	until_next_case(&rest);
	while (rest.len) {
		struct table_case *t = &c->items[c->count++];

		assert_true(c->count < MAX_CASES);
		t->name = str_cut(&rest, '\n');
		t->options = until_line(&rest, "==");
		t->script = until_line(&rest, "==");
		if (str_ends(t->script, STR("\n")))
			t->script.len--;
		t->expected = until_next_case(&rest);
		t->is_tree = is_tree;
	}
}

/* What the lines in front of a script say. */
static void read_options(struct str lines, struct script_options *o, struct str *params)
{
	while (lines.len) {
		struct str line = str_cut(&lines, '\n');

		if (str_eq_text(line, "pid"))
			o->pid = 7;
		else if (str_eq_text(line, "unsafe"))
			o->unsafe = true;
		else if (str_starts(line, STR("cpu: "))) {
			/* Registers have other names elsewhere. */
			str_cut(&line, ' ');
			if (!str_eq_text(line, arch_host()->name))
				skip();
		} else if (str_eq_text(line, "missing warn"))
			o->missing_probes = MISSING_WARN;
		else if (str_eq_text(line, "missing ignore"))
			o->missing_probes = MISSING_IGNORE;
		else if (str_starts(line, STR("params: ")))
			for (str_cut(&line, ' '); line.len;)
				params[o->param_count++] = str_cut(&line, ' ');
		else
			fail_msg("unknown option '%.*s'", STR_FMT(line));
	}
}

static void run_script(const struct table_case *t, struct buf *out)
{
	struct str params[8];
	struct script_options options = {.path = STR("-e"), .params = params};
	struct fake fake = {false};
	struct script_source source = fake_source(&fake);
	struct diag d = DIAG_INIT;
	struct script *s = NULL;
	struct program *p = NULL;
	int err;

	read_options(t->options, &options, params);
	err = script_parse(t->script, &options, &s, &d);
	if (!err && t->is_tree)
		script_print_tree(s, out);
	if (!err && !t->is_tree)
		err = script_resolve(s, &source, &d);
	if (!err && !t->is_tree)
		err = script_compile(s, &p, &d);
	if (p)
		program_print(p, out);
	for (const struct message *m = d.first; m; m = m->next)
		buf_printf(out, "[%s]%s", m->tag, m->next ? " " : "\n");
	diag_render(&d, out);
	assert_int_equal(err != 0, d.errors != 0);
	script_free(s);
	diag_free(&d);
}

static void test_case(void **state)
{
	const struct table_case *t = *state;
	struct buf out = BUF_INIT;

	run_script(t, &out);
	if (!str_eq(buf_as_str(&out), t->expected))
		fail_msg("script:\n%.*s\nexpected:\n%.*s\ngot:\n%.*s", STR_FMT(t->script),
			 STR_FMT(t->expected), STR_FMT(buf_as_str(&out)));
	buf_free(&out);
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
	assert_int_equal(script_place_count(s), 1);
	assert_int_equal(script_extend(s, &source, &more, &image, &d), 0);
	assert_null(more);
	fake.late = true;
	assert_int_equal(script_extend(s, &source, &more, &image, &d), 0);
	assert_non_null(more);
	assert_int_equal(script_place_count(s), 2);
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
	assert_int_equal(
		script_list(STR("usdt:/bin/app:app:t*"), &options, &source, list_one, &out, &d), 0);
	assert_string_equal(out.ptr, "usdt:/bin/app:app:tick\nusdt:/bin/app:app:tock\n");
	buf_clear(&out);
	assert_int_equal(
		script_list(STR("uprobe:/bin/app:work*"), &options, &source, list_one, &out, &d),
		0);
	assert_string_equal(out.ptr, "uprobe:/bin/app:work\nuprobe:/bin/app:work_hard\n");
	buf_clear(&out);
	assert_int_equal(script_list(STR("t:sched:*"), &options, &source, list_one, &out, &d), 0);
	assert_string_equal(out.ptr,
			    "tracepoint:sched:sched_switch\ntracepoint:sched:sched_wakeup\n");
	assert_int_equal(script_list(STR("usdt:/a:b { }"), &options, &source, list_one, &out, &d),
			 -EINVAL);
	buf_free(&out);
	diag_free(&d);
}

static struct CMUnitTest unit(const char *name, CMUnitTestFunction fn, void *state)
{
	return (struct CMUnitTest){.name = name, .test_func = fn, .initial_state = state};
}

int main(void)
{
	static struct cases cases;
	static struct CMUnitTest tests[MAX_CASES + 8];
	static char names[MAX_CASES][160];
	size_t n = 0;

	add_cases(&cases, 0, "tests/cases/script/parse.txt", true);
	add_cases(&cases, 1, "tests/cases/script/programs.txt", false);
	add_cases(&cases, 2, "tests/cases/script/errors.txt", false);
	for (size_t i = 0; i < cases.count; i++) {
		snprintf(names[i], sizeof(names[i]), "script: %.*s",
			 (int)cases.items[i].name.len - 3, cases.items[i].name.ptr + 3);
		tests[n++] = unit(names[i], test_case, &cases.items[i]);
	}
	tests[n++] = unit("script: later images", test_extend, NULL);
	tests[n++] = unit("script: a probe that comes later", test_extend_from_nothing, NULL);
	tests[n++] = unit("script: environment", test_environment, NULL);
	tests[n++] = unit("script: list", test_list, NULL);
	n = (size_t)_cmocka_run_group_tests("script", tests, n, NULL, NULL);
	for (size_t i = 0; i < 3; i++)
		free(cases.texts[i]);
	return (int)n;
}
