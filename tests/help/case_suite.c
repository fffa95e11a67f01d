#include "help/case_suite.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void die(const char *what)
{
	printf("not ok - %s", what);
	exit(1);
}

static char *from_root(const char *path)
{
	const char *root = getenv("ROOT");
	char *all;

	if (asprintf(&all, "%s/%s", root ? root : ".", path) < 0)
		die("out of memory\n");
	return all;
}

static void open_or_die(const char *path, const char *keys, struct case_file *out)
{
	struct buf why = BUF_INIT;

	if (case_file_open(path, keys, out, &why))
		die(why.ptr ? why.ptr : "out of memory\n");
	buf_free(&why);
}

void case_file_need(const char *path, const char *keys, struct case_file *out)
{
	char *all = from_root(path);

	open_or_die(all, keys, out);
	free(all);
}

static struct CMUnitTest *new_test(struct case_suite *s)
{
	s->tests = reallocarray(s->tests, s->count + 1, sizeof(*s->tests));
	if (!s->tests)
		die("out of memory\n");
	return &s->tests[s->count++];
}

static void add_file(struct case_suite *s, const char *path, const char *keys,
		     CMUnitTestFunction fn)
{
	struct case_file *f = &s->files[s->file_count++];

	if (s->file_count > CASE_SUITE_FILES)
		die("too many case files\n");
	open_or_die(path, keys, f);
	for (size_t i = 0; i < f->count; i++)
		*new_test(s) = (struct CMUnitTest){
			.name = f->cases[i].name, .test_func = fn, .initial_state = &f->cases[i]};
}

void case_suite_add(struct case_suite *s, const char *pattern, const char *keys,
		    CMUnitTestFunction fn)
{
	char *all = from_root(pattern);
	glob_t files;

	if (glob(all, 0, NULL, &files)) {
		printf("# %s\n", all);
		die("there is no such case file\n");
	}
	for (size_t i = 0; i < files.gl_pathc; i++)
		add_file(s, files.gl_pathv[i], keys, fn);
	globfree(&files);
	free(all);
}

void case_suite_append(struct case_suite *s, const struct CMUnitTest *tests, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*new_test(s) = tests[i];
}

int case_suite_run(struct case_suite *s, const char *group)
{
	int failed = _cmocka_run_group_tests(group, s->tests, s->count, NULL, NULL);

	for (size_t i = 0; i < s->file_count; i++)
		case_file_close(&s->files[i]);
	free(s->tests);
	return failed;
}

static void expect(const struct test_case *t, const char *key, struct str want, struct str got)
{
	const struct case_field *f = case_next(t, key, NULL);

	if (!str_eq(want, got))
		fail_msg("%s:%u: '%s': %s is\n%.*s\ninstead of\n%.*s", t->path,
			 f ? f->line : t->line, t->name, key, STR_FMT(got), STR_FMT(want));
}

void case_expect(const struct test_case *t, const char *key, struct str got)
{
	expect(t, key, case_text(t, key), got);
}

static struct str without_empty_ends(struct str s)
{
	while (s.len && s.ptr[0] == '\n')
		s = str_of(s.ptr + 1, s.len - 1);
	while (s.len && (s.ptr[s.len - 1] == '\n' || s.ptr[s.len - 1] == ' '))
		s.len--;
	return s;
}

void case_expect_trimmed(const struct test_case *t, const char *key, struct str got)
{
	expect(t, key, without_empty_ends(case_text(t, key)), without_empty_ends(got));
}

void case_expect_messages(const struct test_case *t, const struct diag *d)
{
	struct buf tags = BUF_INIT, says = BUF_INIT;

	for (const struct message *m = d->first; m; m = m->next)
		buf_printf(&tags, "%s%s", m->tag, m->next ? " " : "\n");
	diag_render(d, &says);
	case_expect(t, "tags", buf_as_str(&tags));
	case_expect(t, "says", buf_as_str(&says));
	buf_free(&tags);
	buf_free(&says);
}
