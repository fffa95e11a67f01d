/* Formatting: every script of the tables stays the same script, and formatting it again changes
 * nothing. What it looks like is in tests/cases/format.txt. */
#include "help/case_suite.h"
#include "help/tick_case.h"
#include "script/script.h"

#define MAX_PARAMS 8

/* The script and its tree; NULL: it cannot be parsed. */
static struct script *parse(struct str text, const struct test_case *t, struct buf *tree)
{
	struct str params[MAX_PARAMS], rest = case_value(t, "args");
	struct script_options options = {
		.path = STR("-e"), .params = params, .pid = 7, .unsafe = true};
	struct script *s = NULL;

	while (rest.len && options.param_count < MAX_PARAMS)
		params[options.param_count++] = str_cut(&rest, ' ');
	if (script_parse(text, &options, &s, NULL))
		return NULL;
	script_print_tree(s, tree);
	return s;
}

static void check_text(const struct test_case *t, struct str text)
{
	struct buf before = BUF_INIT, after = BUF_INIT, once = BUF_INIT, twice = BUF_INIT;
	struct script *s = parse(text, t, &before), *again;

	if (s) {
		assert_int_equal(script_format(s, &once), 0);
		again = parse(buf_as_str(&once), t, &after);
		if (!again || !str_eq(buf_as_str(&before), buf_as_str(&after)))
			fail_msg(CASE_FMT ": became another script:\n%.*s", CASE_ARGS(t),
				 STR_FMT(buf_as_str(&once)));
		assert_int_equal(script_format(again, &twice), 0);
		if (!str_eq(buf_as_str(&once), buf_as_str(&twice)))
			fail_msg(CASE_FMT ": formatted twice:\n%.*s", CASE_ARGS(t),
				 STR_FMT(buf_as_str(&twice)));
		script_free(again);
	}
	script_free(s);
	buf_free(&before);
	buf_free(&after);
	buf_free(&once);
	buf_free(&twice);
}

static void stays_the_same(void **state)
{
	check_text(*state, case_value(*state, "script"));
}

/* The same with ends of lines where blanks were: comments and strings may break, and are then no
 * scripts. */
static void stays_the_same_in_lines(void **state)
{
	const struct test_case *t = *state;
	struct buf text = BUF_INIT;
	struct str from = case_value(t, "script");

	for (size_t i = 0; i < from.len; i++)
		buf_char(&text, from.ptr[i] == ' ' ? '\n' : from.ptr[i]);
	check_text(t, buf_as_str(&text));
	buf_free(&text);
}

static void looks_so(void **state)
{
	const struct test_case *t = *state;
	struct buf tree = BUF_INIT, out = BUF_INIT;
	struct script *s = parse(case_value(t, "script"), t, &tree);

	if (!s)
		fail_msg(CASE_FMT ": cannot be parsed", CASE_ARGS(t));
	assert_int_equal(script_format(s, &out), 0);
	case_expect_trimmed(t, "out", buf_as_str(&out));
	check_text(t, case_value(t, "script"));
	script_free(s);
	buf_free(&tree);
	buf_free(&out);
}

int main(void)
{
	static const char keys[] = "script option args cpu tree program tags says";
	struct case_suite suite = {0};

	case_suite_add(&suite, "tests/cases/format.txt", "script args out", looks_so);
	case_suite_add(&suite, "tests/cases/script/*.txt", keys, stays_the_same);
	case_suite_add(&suite, TICK_CASES, TICK_KEYS, stays_the_same);
	case_suite_add(&suite, "tests/cases/script/*.txt", keys, stays_the_same_in_lines);
	case_suite_add(&suite, TICK_CASES, TICK_KEYS, stays_the_same_in_lines);
	return case_suite_run(&suite, "format");
}
