/* What is known of a site: names from declarations, sources and the catalogue, and their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "find/know.h"

#define MAX_ARGS 4

/* One site whose program says of its arguments what `args` have. */
struct told {
	const char *provider, *name;
	struct argument args[MAX_ARGS];
	unsigned count;
	unsigned line;
};

struct world {
	struct finder *finder;
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
		struct site *site = &w->sites[i];

		w->descriptions[i] = (struct description){.file = STR("a.c"), .line = told[i].line};
		*site = (struct site){.provider = str_from(told[i].provider),
				      .name = str_from(told[i].name),
				      .arg_count = told[i].count};
		site->args = arguments_new(&w->list.arena, w->operands, told[i].count);
		assert_non_null(site->args);
		if (!told[i].line)
			continue;
		site->described = &w->descriptions[i];
		for (unsigned n = 0; n < told[i].count; n++) {
			site->args[n] = told[i].args[n];
			site->args[n].counted_by = -1;
		}
	}
	w->list.arch = arch_host();
	w->list.sites = w->sites;
	w->list.count = count;
	w->image =
		(struct found_image){.path = STR("/a"), .open_path = STR("/a"), .sites = &w->list};
	return w;
}

static void close_world(struct world *w)
{
	finder_free(w->finder);
	arena_free(&w->list.arena);
	free(w);
}

static const struct site *know(struct world *w, size_t i)
{
	assert_int_equal(finder_know(w->finder, &w->image, &w->sites[i]), 0);
	return &w->sites[i];
}

static const char *class_of(struct world *w, size_t i)
{
	const struct ctype_machine m = ctype_machine_of(arch_host()->machine, arch_host()->word);

	return argument_class(&know(w, i)->args[0], &m);
}

static void assert_shown(struct world *w, size_t i, const char *text)
{
	struct buf out = BUF_INIT;

	site_declaration_show(know(w, i), &out);
	buf_char(&out, '\0');
	assert_string_equal(out.ptr, text);
	buf_free(&out);
}

static void assert_names(struct world *w, size_t i, const char *const *names)
{
	const struct site *site = know(w, i);

	for (unsigned n = 0; n < site->arg_count; n++)
		if (!str_eq_text(site->args[n].name, names[n]))
			fail_msg("argument %u is '%.*s', not '%s'", n, STR_FMT(site->args[n].name),
				 names[n]);
}

static const struct ctype an_int = {.kind = CTYPE_INTEGER, .size = 4, .is_signed = true},
			  a_void = {.kind = CTYPE_VOID}, a_char = {.kind = CTYPE_CHAR, .size = 1},
			  a_pointer = {.kind = CTYPE_POINTER, .size = 8, .to = &a_void},
			  a_string = {.kind = CTYPE_POINTER, .size = 8, .to = &a_char},
			  named_int = {.kind = CTYPE_NAMED, .name = {"int", 3}, .to = &an_int},
			  named_pointer = {.kind = CTYPE_NAMED,
					   .name = {"void *", 6},
					   .to = &a_pointer},
			  named_string = {.kind = CTYPE_NAMED,
					  .name = {"char *", 6},
					  .to = &a_string},
			  nothing = {.kind = CTYPE_INTEGER, .is_signed = true};

#define INT(text)                                                                             \
	{                                                                                     \
		.source = {text, sizeof(text) - 1}, .type = &an_int, .type_from = ORIGIN_SITE \
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
	struct argument bad = {
		.name = {"a b\n", 4}, .type = &named_int, .type_from = ORIGIN_PROGRAM};
	struct argument numbered = {.name = {"arg2", 4}, .type = &nothing};
	struct argument digit = {.name = {"9a", 2}, .type = &nothing};
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
	assert_string_equal(class_of(w, 0), "string");
	assert_shown(w, 1, "");
	close_world(w);
}

/* The program's own declaration is its last word; its mere source takes the catalogue's name. */
static void the_program_knows_better(void **state)
{
	struct argument declared = {
		.name = {"what", 4}, .type = &named_pointer, .type_from = ORIGIN_PROGRAM};
	struct argument plain = {
		.source = {"ZSTR_VAL(name)", 14}, .type = &a_pointer, .type_from = ORIGIN_SITE};
	struct told told[] = {{"php", "exception__thrown", {declared}, 1, 3},
			      {"php", "exception__caught", {plain}, 1, 4}};
	struct world *w = open_world(told, 2);

	(void)state;
	assert_shown(w, 0, "php:exception__thrown(void *what)  a.c:3");
	assert_string_equal(class_of(w, 0), "pointer");
	assert_shown(w, 1, "php:exception__caught(const char *classname)  a.c:4");
	assert_string_equal(class_of(w, 1), "string");
	close_world(w);
}

static void a_length_counts_the_string_before_it(void **state)
{
	struct argument text = {.name = {"text", 4}, .type = &a_string};
	struct argument length = {.name = {"text_len", 8}, .type = &an_int};
	struct argument other = {.name = {"text2_len", 9}, .type = &an_int};
	struct told told[] = {{"own", "x", {text, length}, 2, 7},
			      {"own", "y", {text, other}, 2, 8}};
	struct world *w = open_world(told, 2);

	(void)state;
	assert_int_equal(know(w, 0)->args[0].counted_by, 1);
	assert_int_equal(know(w, 0)->args[1].counted_by, -1);
	assert_int_equal(know(w, 1)->args[0].counted_by, -1);
	close_world(w);
	told[0].args[1].name = STR("textlen");
	w = open_world(told, 1);
	assert_int_equal(know(w, 0)->args[0].counted_by, 1);
	close_world(w);
}

/* A script cannot use args.arg1 for the author's arg1: the catalogue may have another name. */
static void a_numbered_name_is_none(void **state)
{
	struct argument numbered = {
		.name = {"arg1", 4}, .type = &named_string, .type_from = ORIGIN_PROGRAM};
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
