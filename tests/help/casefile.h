/* The one reader of case files, tests/cases/. A file is prose, then cases:
 *
 *   -- name of the case
 *   key:    the value, which begins in column 9 or later
 *           and goes on in lines that are indented by 8 blanks
 *   # a comment
 *   key:
 *           a value may also begin in the next line
 *
 * Lines keep what they have beyond the 8 blanks, blanks at their ends too. An empty line belongs to
 * a value if more of the value follows; a line of a single dot, as in Debian's control files, is an
 * empty line anywhere. A key may occur several times; fields keep their order. */
#ifndef NOPAL_TESTS_HELP_CASEFILE_H
#define NOPAL_TESTS_HELP_CASEFILE_H

#include "base/arena.h"
#include "base/buf.h"

struct case_field {
	struct str key;
	struct str text; /* all lines, each with its newline; empty when nothing follows the key */
	unsigned line;	 /* of the key */
};

struct test_case {
	const char *path, *name;
	unsigned line;
	struct case_field *fields;
	size_t field_count;
};

struct case_file {
	const char *path; /* as it was given, for messages */
	struct test_case *cases;
	size_t count;
	struct arena arena; /* of all above */
};

/* Read a file, or text of which `path` is only the name in messages. `keys` are the words that
 * cases may have, separated by blanks; NULL: any. -errno, then *why is one line "path:line: what is
 * wrong", owned by the caller. */
int case_file_open(const char *path, const char *keys, struct case_file *out, struct buf *why);
int case_file_parse(const char *path, struct str text, const char *keys, struct case_file *out,
		    struct buf *why);
void case_file_close(struct case_file *f);
const struct test_case *case_find(const struct case_file *f,
				  const char *name); /* NULL: there is none */

/* The field after `last` (NULL: the first) that has this key; NULL: there is none. */
const struct case_field *case_next(const struct test_case *t, const char *key,
				   const struct case_field *last);
struct str case_text(const struct test_case *t,
		     const char *key); /* of the first such field; "" when there is none */
struct str case_value(const struct test_case *t,
		      const char *key);			 /* the same without its last newline */
struct str case_field_value(const struct case_field *f); /* text without its last newline */

#endif
