/* The examples of the manual of the language are scripts: each literal display of
 * man/nopal-script.7 parses, and those that need no file compile. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "script/script.h"

/* Text of a display, without the escapes of the manual. */
static void add_line(struct str line, struct buf *out)
{
	for (size_t i = 0; i < line.len; i++) {
		if (line.ptr[i] == '\\' && i + 1 < line.len) {
			i++;
			if (line.ptr[i] == 'e')
				buf_char(out, '\\');
			else
				assert_int_equal(line.ptr[i], '&');
			continue;
		}
		buf_char(out, line.ptr[i]);
	}
	buf_char(out, '\n');
}

static void check(int err, struct diag *d, const struct buf *text)
{
	struct buf messages = BUF_INIT;

	if (err) {
		diag_render(d, &messages);
		print_error("%s\n%s\n", text->ptr, messages.ptr);
	}
	buf_free(&messages);
	assert_int_equal(err, 0);
}

static void check_example(const struct buf *text)
{
	const struct script_options options = {.path = STR("example")};
	const struct script_source nowhere = {0};
	struct program *program = NULL;
	struct script *script = NULL;
	struct diag d = DIAG_INIT;
	bool only_begin = str_starts(buf_as_str(text), STR("BEGIN")) &&
			  !strstr(text->ptr, "usdt:") && !strstr(text->ptr, "uretprobe:");

	check(script_parse(buf_as_str(text), &options, &script, &d), &d, text);
	if (only_begin) {
		check(script_resolve(script, &nowhere, &d), &d, text);
		check(script_compile(script, &program, &d), &d, text);
	}
	script_free(script);
	diag_free(&d);
}

/* Call `fn` with each literal display; their number. */
static unsigned each_example(struct str page, void (*fn)(const struct buf *text, void *arg),
			     void *arg)
{
	struct buf example = BUF_INIT;
	bool inside = false;
	unsigned count = 0;

	while (page.len) {
		struct str line = str_cut(&page, '\n');

		if (str_starts(line, STR(".Bd -literal"))) {
			inside = true;
			buf_clear(&example);
		} else if (inside && str_eq_text(line, ".Ed")) {
			inside = false;
			fn(&example, arg);
			count++;
		} else if (inside) {
			add_line(line, &example);
		}
	}
	buf_free(&example);
	return count;
}

static void check_script(const struct buf *text, void *unused)
{
	(void)unused;
	check_example(text);
}

static void examples_are_scripts(void **state)
{
	struct buf page = BUF_INIT;

	(void)state;
	assert_int_equal(file_slurp("man/nopal-script.7", 1 << 20, &page), 0);
	assert_true(each_example(buf_as_str(&page), check_script, NULL) >= 30);
	buf_free(&page);
}

static void collect(const struct buf *text, void *all)
{
	buf_add(all, text->ptr, text->len);
}

static bool is_word_at(const char *text, const char *at, size_t len)
{
	return (at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
	       !(isalnum((unsigned char)at[len]) || at[len] == '_');
}

static int check_use(void *examples, const char *name, const char *help, const char *example)
{
	const char *text = examples, *at = text;

	(void)help, (void)example;
	name = !strcmp(name, "argN") ? "arg0" : name;
	while ((at = strstr(at, name)) && !is_word_at(text, at, strlen(name)) &&
	       name[strlen(name) - 1] != '.')
		at++;
	if (!at) {
		print_error("no example of man/nopal-script.7 uses '%s'\n", name);
		fail();
	}
	return 0;
}

static void every_builtin_is_in_an_example(void **state)
{
	struct buf page = BUF_INIT, all = BUF_INIT;

	(void)state;
	assert_int_equal(file_slurp("man/nopal-script.7", 1 << 20, &page), 0);
	each_example(buf_as_str(&page), collect, &all);
	assert_int_equal(script_each_builtin(check_use, all.ptr), 0);
	buf_free(&page);
	buf_free(&all);
}

/* Is `name` the whole of a word of an item of the manual: ".It Li pid , tid"? */
static bool is_item(struct str page, const char *name)
{
	while (page.len) {
		struct str line = str_cut(&page, '\n');

		if (!str_starts(line, STR(".It ")))
			continue;
		while (line.len)
			if (str_eq_text(str_cut(&line, ' '), name))
				return true;
	}
	return false;
}

/* Each builtin has an item in the manual, and an example that is a script. */
static int check_builtin(void *arg, const char *name, const char *help, const char *example)
{
	static const char *const others[][2] = {{"argN", "arg0"}, {"args.", "args"}};
	struct buf *page = arg, text = BUF_INIT;

	for (size_t i = 0; i < 2; i++)
		if (!strcmp(name, others[i][0]))
			name = others[i][1];
	if (!is_item(buf_as_str(page), name)) {
		print_error("man/nopal-script.7 does not have '%s'\n", name);
		fail();
	}
	assert_true(*help && strlen(help) < 46);
	buf_printf(&text, "usdt:/bin/app:app:go { %s }", example);
	check_example(&text);
	buf_free(&text);
	return 0;
}

static void builtins_are_in_the_manual(void **state)
{
	struct buf page = BUF_INIT;

	(void)state;
	assert_int_equal(file_slurp("man/nopal-script.7", 1 << 20, &page), 0);
	assert_int_equal(script_each_builtin(check_builtin, &page), 0);
	buf_free(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(examples_are_scripts),
					   cmocka_unit_test(builtins_are_in_the_manual),
					   cmocka_unit_test(every_builtin_is_in_an_example)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
