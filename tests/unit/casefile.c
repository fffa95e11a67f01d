/* The reader of case files: what it makes of every form, and what it says of mistakes. */
#include <errno.h>

#include "help/case_suite.h"

static struct case_file parsed(const char *text, const char *keys)
{
	struct case_file f;
	struct buf why = BUF_INIT;

	if (case_file_parse("x.txt", str_from(text), keys, &f, &why))
		fail_msg("%s", why.ptr);
	return f;
}

/* The value of the only key of a case that reads like this. */
static void check_text(const char *lines, const char *want)
{
	struct buf text = BUF_INIT;
	struct case_file f;

	buf_printf(&text, "-- one\n%s", lines);
	f = parsed(text.ptr, NULL);
	assert_int_equal(f.count, 1);
	assert_int_equal(f.cases[0].field_count, 1);
	if (!str_eq_text(f.cases[0].fields[0].text, want))
		fail_msg("'%s' is '%.*s'", lines, STR_FMT(f.cases[0].fields[0].text));
	case_file_close(&f);
	buf_free(&text);
}

static void values_keep_their_lines(void **state)
{
	(void)state;
	check_text("out: a\n", "a\n");
	check_text("out:    a\n", "a\n");
	check_text("out:     a \n", " a \n");
	check_text("out:\n", "");
	check_text("out:    a\n        b\n", "a\nb\n");
	check_text("out:\n        a\n          b\n", "a\n  b\n");
	check_text("out:\n        \ta\n", "\ta\n");
	check_text("a-long-key: a\n        b\n", "a\nb\n");
	check_text("a-long-key:  a\n", " a\n");
	check_text("out:    a: b\n        -- c\n        # d", "a: b\n-- c\n# d\n");
}

static void empty_lines_count_where_more_follows(void **state)
{
	(void)state;
	check_text("out:    a\n\n\n        b\n\n\n", "a\n\n\nb\n");
	check_text("out:\n\n        a\n", "\na\n");
	check_text("out:    a\n        .\n", "a\n\n");
	check_text("out:    .\n        a\n", "\na\n");
	check_text("out:    a\n\n        .\n\n", "a\n\n\n");
}

static void cases_and_fields_are_in_order(void **state)
{
	struct case_file f =
		parsed("Prose: with anything.\n\n-- one\nfire: 1\n# no\nout: 2\nfire: 3\n\n"
		       "-- two\nout:\n",
		       "fire out");
	const struct test_case *one = case_find(&f, "one"), *two = case_find(&f, "two");
	const struct case_field *fire = case_next(one, "fire", NULL);

	(void)state;
	assert_int_equal(f.count, 2);
	assert_string_equal(one->path, "x.txt");
	assert_int_equal(one->line, 3);
	assert_int_equal(two->line, 9);
	assert_null(case_find(&f, "three"));
	assert_int_equal(fire->line, 4);
	assert_true(str_eq_text(case_field_value(fire), "1"));
	fire = case_next(one, "fire", fire);
	assert_int_equal(fire->line, 7);
	assert_true(str_eq_text(case_field_value(fire), "3"));
	assert_null(case_next(one, "fire", fire));
	assert_true(str_eq_text(case_text(one, "out"), "2\n"));
	assert_int_equal(case_value(one, "none").len, 0);
	assert_non_null(case_next(two, "out", NULL));
	assert_int_equal(case_value(two, "out").len, 0);
	case_file_close(&f);
}

static void check_refused(const char *text, const char *want)
{
	struct buf why = BUF_INIT;
	struct case_file f;

	assert_int_equal(case_file_parse("x.txt", str_from(text), "in out", &f, &why), -EINVAL);
	assert_string_equal(why.ptr, want);
	buf_free(&why);
}

static void mistakes_are_said_with_their_line(void **state)
{
	(void)state;
	check_refused("prose\n", "x.txt:1: there is no case in this file\n");
	check_refused("-- a\nin: 1\n-- \n", "x.txt:3: a case needs a name: '-- NAME'\n");
	check_refused("-- a\n\n-- b\nin: 1\n", "x.txt:1: this case is empty: 'a'\n");
	check_refused("-- a\nin: 1\n-- a\nin: 1\n",
		      "x.txt:3: two cases of this file have this name: 'a'\n");
	check_refused(
		"-- a\nin: 1\n\n    2\n",
		"x.txt:4: expected '-- NAME', 'key: value' or a line that is indented by 8 blanks: "
		"'    2'\n");
	check_refused("-- a\n        2\n", "x.txt:2: this line belongs to no key: '2'\n");
	check_refused("-- a\nin: 1\nup: 2\n",
		      "x.txt:3: unknown key 'up'; the cases of this file have: in out\n");
}

static void a_missing_file_is_said(void **state)
{
	struct buf why = BUF_INIT;
	struct case_file f;

	(void)state;
	assert_int_equal(case_file_open("/nowhere/x.txt", NULL, &f, &why), -ENOENT);
	assert_string_equal(why.ptr, "/nowhere/x.txt: No such file or directory\n");
	buf_free(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_keep_their_lines),
		cmocka_unit_test(empty_lines_count_where_more_follows),
		cmocka_unit_test(cases_and_fields_are_in_order),
		cmocka_unit_test(mistakes_are_said_with_their_line),
		cmocka_unit_test(a_missing_file_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
