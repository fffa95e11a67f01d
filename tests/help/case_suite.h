/* Tests of cmocka made of case files: every case is a test of its own, named as the case. */
#ifndef NOPAL_TESTS_HELP_CASE_SUITE_H
#define NOPAL_TESTS_HELP_CASE_SUITE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/diag.h"
#include "help/casefile.h"

#define CASE_SUITE_FILES 256

struct case_suite {
	struct case_file files[CASE_SUITE_FILES];
	size_t file_count;
	struct CMUnitTest *tests;
	size_t count;
};

/* Add the cases of all files that `pattern` (of glob(3), from the project's root) matches; `keys`
 * as for case_file_open(). `fn` finds its struct test_case in *state. A file that cannot be read
 * ends the program. */
void case_suite_add(struct case_suite *s, const char *pattern, const char *keys,
		    CMUnitTestFunction fn);
/* Tests that are not made of cases. */
#define case_suite_add_tests(s, tests) case_suite_append(s, tests, sizeof(tests) / sizeof(*(tests)))
void case_suite_append(struct case_suite *s, const struct CMUnitTest *tests, size_t count);
int case_suite_run(struct case_suite *s, const char *group); /* frees it; the number of failures */

/* Read one file, as case_suite_add() does, for a test that looks for a case itself. */
void case_file_need(const char *path, const char *keys, struct case_file *out);

/* Fail the test, with the place of the field, unless `got` is the text of the field `key`; a field
 * that is missing is empty text. */
void case_expect(const struct test_case *t, const char *key, struct str got);
/* The same without empty lines at the ends of both. */
void case_expect_trimmed(const struct test_case *t, const char *key, struct str got);

/* The messages: their tags, separated by blanks, in `tags`; their text in `says`. */
void case_expect_messages(const struct test_case *t, const struct diag *d);

#define CASE_FMT     "%s:%u: '%s'"
#define CASE_ARGS(t) (t)->path, (t)->line, (t)->name

#endif
