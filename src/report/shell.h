/* A command line for /bin/sh in which values of events stand. They come from the programs that are
 * traced, so the shell must take them as words and never as commands: the line has "${1}", "${2}"
 * where they stand, and the values are the shell's arguments. Whatever they say, the shell does not
 * read it as text of its own. */
#ifndef NOPAL_REPORT_SHELL_H
#define NOPAL_REPORT_SHELL_H

#include "base/buf.h"

struct shell_line {
	struct buf text;
	struct buf values; /* each with a NUL behind it */
	unsigned count;
	enum { SHELL_PLAIN, SHELL_SINGLE, SHELL_DOUBLE } quote; /* that the text is in at its end */
	bool escaped; /* its last character is a backslash that holds for the next */
};

void shell_free(struct shell_line *l);
/* Text of the script's. */
void shell_text(struct shell_line *l, struct str text);
/* The bytes behind `start` of `values` are the next value. */
void shell_value(struct shell_line *l, size_t start);
/* argv for sh, in one allocation with its pointers into the line; NULL: no memory. */
char **shell_arguments(const struct shell_line *l);

#endif
