/* What is known of a site: names from declarations, sources and the catalogue, and their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "find/know.h"

#define MAX_ARGS 4

/* One site whose program tells of its arguments what `args` say. */
struct told {
	const char *provider, *name;
	struct described_arg args[MAX_ARGS];
	unsigned count;
	unsigned line;
};

struct world {
	struct finder *finder;
	struct arena arena;
	struct operand operands[MAX_ARGS];
	struct description descriptions[2];
	struct site sites[2];
	struct site_list list;
	struct found_image image;
};

static struct world *open_world(struct told *told, size_t count)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(finder_new(&w->finder), 0);
	for (size_t i = 0; i < count; i++) {
		w->descriptions[i] = (struct description){.file = STR("a.c"),
							  .line = told[i].line,
							  .args = told[i].args,
							  .arg_count = told[i].count};
		w->sites[i] = (struct site){.provider = str_from(told[i].provider),
					    .name = str_from(told[i].name),
					    .operands = w->operands,
					    .operand_count = told[i].count,
					    .described = told[i].line ? &w->descriptions[i] : NULL};
	}
	w->list = (struct site_list){.arch = arch_host(), .sites = w->sites, .count = count};
	w->image =
		(struct found_image){.path = STR("/a"), .open_path = STR("/a"), .sites = &w->list};
	return w;
}

static void close_world(struct world *w)
{
	finder_free(w->finder);
	arena_free(&w->arena);
	free(w);
}

static struct known_site know(struct world *w, size_t i)
{
	struct known_site k = {.arg_count = 0};

	assert_int_equal(finder_know(w->finder, &w->image, &w->sites[i], &w->arena, &k), 0);
	return k;
}

static void assert_shown(struct world *w, size_t i, const char *text)
{
	struct known_site k = know(w, i);
	struct buf out = BUF_INIT;

	assert_int_equal(known_site_show(&k, &w->sites[i], &out), *text != 0);
	buf_char(&out, '\0');
	assert_string_equal(out.ptr, text);
	buf_free(&out);
}

static void assert_names(struct world *w, size_t i, const char *const *names)
{
	struct known_site k = know(w, i);

	for (unsigned n = 0; n < k.arg_count; n++)
		if (!str_eq_text(k.args[n].name, names[n]))
			fail_msg("argument %u is '%.*s', not '%s'", n, STR_FMT(k.args[n].name),
				 names[n]);
}

#define INT(text)                                                                                \
	{                                                                                        \
		.source = {text, sizeof(text) - 1}, .type_class = ARG_SIGNED, .is_signed = true, \
		.size = 4                                                                        \
	}

static void a_source_names_its_last_word(void **state)
{
	struct told told = {
		"own", "x", {INT("count"), INT("list->head.n"), INT("a[1]"), INT("f(x)")}, 4, 7};
	struct world *w = open_world(&told, 1);

	(void)state;
	assert_names(w, 0, (const char *const[]){"count", "n", "", ""});
	assert_shown(w, 0, "own:x(int count, int n = list->head.n, int = a[1], int = f(x))  a.c:7");
	close_world(w);
}

static void a_name_stands_for_one_argument(void **state)
{
	struct told told = {
		"own", "x", {INT("p->len"), INT("q->len"), INT("arg0"), INT("a->")}, 4, 7};
	struct world *w = open_world(&told, 1);

	(void)state;
	assert_names(w, 0, (const char *const[]){"", "", "", ""});
	close_world(w);
}

/* Names that a file invents cannot be more than words. */
static void a_hostile_name_is_none(void **state)
{
	struct described_arg bad = {
		.name = {"a b\n", 4}, .type = {"int", 3}, .type_class = ARG_SIGNED};
	struct described_arg numbered = {.name = {"arg2", 4}, .type_class = ARG_SIGNED};
	struct described_arg digit = {.name = {"9a", 2}, .type_class = ARG_SIGNED};
	struct told told = {"own\x1b", "x", {bad, numbered, digit}, 3, 7};
	struct world *w = open_world(&told, 1);

	(void)state;
	assert_names(w, 0, (const char *const[]){"", "", ""});
	assert_shown(w, 0, "own\\x1b:x(int, bytes, bytes)  a.c:7");
	close_world(w);
}

static void sites_share_the_names_of_the_first_line(void **state)
{
	struct told told[] = {{"own", "x", {INT("late")}, 1, 90},
			      {"own", "x", {INT("early")}, 1, 10}};
	struct world *w = open_world(told, 2);

	(void)state;
	assert_names(w, 0, (const char *const[]){"early"});
	assert_shown(w, 0, "own:x(int early = late)  a.c:90");
	assert_shown(w, 1, "own:x(int early)  a.c:10");
	close_world(w);
}

static void the_catalogue_names_what_nobody_else_does(void **state)
{
	struct told told[] = {{"php", "exception__thrown", {INT("x")}, 1, 0},
			      {"nobody", "knows", {INT("x")}, 1, 0}};
	struct world *w = open_world(told, 2);

	(void)state;
	assert_shown(w, 0, "php:exception__thrown(const char *classname)");
	assert_int_equal(know(w, 0).args[0].type_class, ARG_STRING);
	assert_shown(w, 1, "");
	close_world(w);
}

/* The program's own declaration is its last word; its mere source takes the catalogue's name. */
static void the_program_knows_better(void **state)
{
	struct described_arg declared = {
		.name = {"what", 4}, .type = {"void *", 6}, .type_class = ARG_POINTER, .size = 8};
	struct described_arg plain = {
		.source = {"ZSTR_VAL(name)", 14}, .type_class = ARG_POINTER, .size = 8};
	struct told told[] = {{"php", "exception__thrown", {declared}, 1, 3},
			      {"php", "exception__caught", {plain}, 1, 4}};
	struct world *w = open_world(told, 2);

	(void)state;
	assert_shown(w, 0, "php:exception__thrown(void *what)  a.c:3");
	assert_int_equal(know(w, 0).args[0].type_class, ARG_POINTER);
	assert_shown(w, 1, "php:exception__caught(const char *classname)  a.c:4");
	assert_int_equal(know(w, 1).args[0].type_class, ARG_STRING);
	close_world(w);
}

static void a_length_counts_the_string_before_it(void **state)
{
	struct described_arg text = {.name = {"text", 4}, .type_class = ARG_STRING, .size = 8};
	struct described_arg length = {
		.name = {"text_len", 8}, .type_class = ARG_SIGNED, .size = 4};
	struct described_arg other = {
		.name = {"text2_len", 9}, .type_class = ARG_SIGNED, .size = 4};
	struct told told[] = {{"own", "x", {text, length}, 2, 7},
			      {"own", "y", {text, other}, 2, 8}};
	struct world *w = open_world(told, 2);

	(void)state;
	assert_int_equal(know(w, 0).args[0].length, 1);
	assert_int_equal(know(w, 0).args[1].length, -1);
	assert_int_equal(know(w, 1).args[0].length, -1);
	close_world(w);
	told[0].args[1].name = STR("textlen");
	w = open_world(told, 1);
	assert_int_equal(know(w, 0).args[0].length, 1);
	close_world(w);
}

/* A script cannot use args.arg1 for the author's arg1: the catalogue may have another name. */
static void a_numbered_name_is_none(void **state)
{
	struct described_arg numbered = {
		.name = {"arg1", 4}, .type = {"char *", 6}, .type_class = ARG_STRING, .size = 8};
	struct told told[] = {{"php", "exception__thrown", {numbered}, 1, 3},
			      {"own", "x", {numbered}, 1, 4}};
	struct world *w = open_world(told, 2);

	(void)state;
	assert_shown(w, 0, "php:exception__thrown(char *classname)  a.c:3");
	assert_shown(w, 1, "own:x(char *)  a.c:4");
	close_world(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_names_its_last_word),
		cmocka_unit_test(a_name_stands_for_one_argument),
		cmocka_unit_test(a_hostile_name_is_none),
		cmocka_unit_test(sites_share_the_names_of_the_first_line),
		cmocka_unit_test(the_catalogue_names_what_nobody_else_does),
		cmocka_unit_test(the_program_knows_better),
		cmocka_unit_test(a_length_counts_the_string_before_it),
		cmocka_unit_test(a_numbered_name_is_none),
	};

	unsetenv("NOPAL_PROVIDERS");
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
