/* The words of the cases in tests/cases/report/: numbers, quoted bytes, types, and values as
 * engines write them. What they take stands at the beginning of a line, which becomes its rest. */
#ifndef NOPAL_TESTS_HELP_REPORT_WORDS_H
#define NOPAL_TESTS_HELP_REPORT_WORDS_H

#include "help/check.h"
#include "program/program.h"

#define MOST 16 /* of each thing in a case */

void skip_blanks(struct str *s);
bool take(struct str *s, char c);

/* A word ends at a blank or one of `,()[]=/:*`. */
struct str take_word(struct str *s);
int64_t take_number(struct str *s);

/* Two hex digits. */
unsigned char take_hex(struct str *s);

/* "text\n\x01" */
struct str take_quoted(struct arena *a, struct str *s);
struct type take_type(struct arena *a, struct str *s);
void put_value(struct arena *a, const struct type *t, struct str *s, bool packed, struct buf *out);
struct str take_value(struct arena *a, const struct type *t, struct str *s);

#endif
