/* Programs as text, for tests: reads what program_print() writes, so that a test case is a dump.
 *
 *   struct test_program t;
 *   program_read(&t, "clause 0: 1 registers\n  begin name 0 func 0\n 0 r0 = const 1\n 1 return\n");
 *   ... t.program ...
 *   program_unread(&t);
 *
 * Differences: instruction numbers may be left out; an empty name 0 is there when no name is; slot
 * and place lines need no indentation; `args` of uprobes are written for the test machine below
 * ("-4@%3", "8f@$1", "4@-8(1,2,3)": registers are ids, the scale is a shift). Text that cannot be
 * read fails the test. */
#ifndef NOPAL_TESTS_HELP_PROGRAM_TEXT_H
#define NOPAL_TESTS_HELP_PROGRAM_TEXT_H

#include "help/check.h"
#include "program/op.h"

struct test_program {
	struct program program;
	struct arena arena;
	const struct arch *arch; /* of uprobes; set before reading to change it */
	char *text, *at;	 /* all of it; the rest of the line */
	struct clause *clauses;
	struct map_def *maps;
	struct format *formats;
	struct str *literals, *names;
};

struct type read_type(struct test_program *t);
void program_read(struct test_program *t, const char *text);
void program_unread(struct test_program *t);

extern const struct arch test_arch32; /* the machine, with 32-bit words */

#endif
