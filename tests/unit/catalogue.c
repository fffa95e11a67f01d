/* The catalogue of well-known probes: its own files, and those of the user before them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "provider/catalogue.h"

static char dir[] = "/tmp/nopal-catalogue.XXXXXX";

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fputs(text, f) < 0, 0);
	fclose(f);
}

static int make_dir(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	setenv("HOME", dir, 1);
	unsetenv("XDG_CONFIG_HOME");
	return 0;
}

static int remove_dir(void **state)
{
	static const char *const names[] = {"a.d", "b.d", "broken.d", "note.txt"};
	char path[128];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
	return 0;
}

static struct catalogue *open_with(const char *paths)
{
	struct catalogue *c = NULL;

	setenv("NOPAL_PROVIDERS", paths, 1);
	assert_int_equal(catalogue_new(&c), 0);
	return c;
}

/* The name of the n-th argument; empty when the probe is not there. */
static struct str arg_name(struct catalogue *c, const char *provider, const char *name,
			   unsigned count, unsigned n)
{
	const struct provider_probe *p =
		catalogue_find(c, str_from(provider), str_from(name), count);
	const struct ctype_param *arg = p ? p->args : NULL;

	while (arg && n--)
		arg = arg->next;
	return arg ? arg->name : STR("");
}

#define ASSERT_NAME(found, text)                       \
	do {                                           \
		struct str name_ = (found);            \
		assert_true(str_eq_text(name_, text)); \
	} while (0)

/* Every file that is compiled in parses without a word, and is as long as it says. Declarations of
 * one probe differ in their number of arguments, or the later one could never be found. */
static void shipped_files_are_sound(void **state)
{
	(void)state;
	assert_true(shipped_file_count > 15);
	for (size_t i = 0; i < shipped_file_count; i++) {
		struct provider_file file;
		struct diag d = DIAG_INIT;

		assert_int_equal(strlen(shipped_files[i].text), shipped_files[i].len);
		provider_open(&file);
		assert_int_equal(provider_parse(&file, str_from(shipped_files[i].name),
						str_from(shipped_files[i].text), &d),
				 0);
		assert_null(d.first);
		for (struct provider_decl *p = file.providers; p; p = p->next)
			for (struct provider_probe *a = p->probes; a; a = a->next)
				for (struct provider_probe *b = a->next; b; b = b->next)
					if (str_eq(a->name, b->name) &&
					    a->arg_count == b->arg_count)
						fail_msg("%s: '%.*s' twice", shipped_files[i].name,
							 STR_FMT(a->name));
		provider_free(&file);
		diag_free(&d);
	}
}

static void probes_are_found_by_name_and_count(void **state)
{
	struct catalogue *c = open_with("");

	(void)state;
	ASSERT_NAME(arg_name(c, "postgresql", "sort__start", 6, 5), "parallel");
	ASSERT_NAME(arg_name(c, "postgresql", "sort__start", 5, 4), "random_access");
	assert_null(catalogue_find(c, STR("postgresql"), STR("sort__start"), 4));
	assert_null(catalogue_find(c, STR("postgresq"), STR("sort__start"), 6));
	assert_null(catalogue_find(c, STR(""), STR(""), 0));
	assert_non_null(catalogue_find(c, STR("hotspot"), STR("gc__end"), 0));
	ASSERT_NAME(arg_name(c, "hotspot_jni", "FindClass__entry", 2, 1), "name");
	catalogue_free(c);
}

static void the_first_file_wins(void **state)
{
	struct catalogue *c;
	char paths[128];

	(void)state;
	write_file("a.d", "provider php { probe error(int first, int b, int c); };");
	write_file("b.d", "provider php { probe error(int second, int b, int c); };\n"
			  "provider own { probe x(int n); };");
	write_file("note.txt", "provider php { probe error(int third, int b, int c); };");
	snprintf(paths, sizeof(paths), "%s", dir);
	c = open_with(paths);
	ASSERT_NAME(arg_name(c, "php", "error", 3, 0), "first");
	ASSERT_NAME(arg_name(c, "own", "x", 1, 0), "n");
	ASSERT_NAME(arg_name(c, "php", "exception__thrown", 1, 0), "classname");
	catalogue_free(c);
	snprintf(paths, sizeof(paths), "%s/b.d:%s/a.d", dir, dir);
	c = open_with(paths);
	ASSERT_NAME(arg_name(c, "php", "error", 3, 0), "second");
	catalogue_free(c);
}

static void a_bad_file_is_told_once_and_left_out(void **state)
{
	struct diag d = DIAG_INIT;
	struct catalogue *c;
	char paths[128];

	(void)state;
	write_file("broken.d", "provider php { probe exception__thrown(int good);\n probe error(");
	snprintf(paths, sizeof(paths), "%s/broken.d:%s/nowhere.d", dir, dir);
	c = open_with(paths);
	ASSERT_NAME(arg_name(c, "php", "exception__thrown", 1, 0), "classname");
	catalogue_problems(c, &d);
	assert_int_equal(d.errors, 0);
	assert_int_equal(d.warnings, 2);
	catalogue_problems(c, &d);
	assert_int_equal(d.warnings, 2);
	catalogue_free(c);
	diag_free(&d);
}

/* Each site of a file went through all probes of its provider, and through the text of each file.
 */
static void many_probes_of_many_sites_take_no_square_of_time(void **state)
{
	struct buf text = BUF_INIT;
	struct catalogue *c;
	char paths[128], name[32];
	clock_t start;

	(void)state;
	buf_text(&text, "provider large {\n");
	for (int i = 0; i < 60000; i++)
		buf_printf(&text, "probe p%d(int n%d);\n", i, i);
	buf_text(&text, "};\n");
	write_file("b.d", text.ptr);
	snprintf(paths, sizeof(paths), "%s/b.d", dir);
	c = open_with(paths);
	start = clock();
	for (int i = 0; i < 60000; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		assert_non_null(catalogue_find(c, STR("large"), str_from(name), 1));
		assert_null(catalogue_find(c, str_from(name), str_from(name), 1));
	}
	assert_true(clock() - start < 4 * CLOCKS_PER_SEC); /* 0.1 s; it was a minute */
	catalogue_free(c);
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shipped_files_are_sound),
		cmocka_unit_test(probes_are_found_by_name_and_count),
		cmocka_unit_test(the_first_file_wins),
		cmocka_unit_test(a_bad_file_is_told_once_and_left_out),
		cmocka_unit_test(many_probes_of_many_sites_take_no_square_of_time),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
