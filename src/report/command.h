/* cat() and system(): what a file or a command says, as bytes, and the line a command is made of.
 *
 * Such a line contains values of events. They come from the programs that are traced, so the shell
 * must take them as words and never as commands: the line has "${1}", "${2}" in their places, and
 * the values are the shell's arguments. Whatever they say, the shell does not read it as text of
 * its own. */
#ifndef NOPAL_REPORT_COMMAND_H
#define NOPAL_REPORT_COMMAND_H

#include "base/buf.h"

struct shell_line {
	struct buf text;
	struct buf values; /* each ends in a NUL */
	unsigned count;
	enum { SHELL_PLAIN, SHELL_SINGLE, SHELL_DOUBLE } quote; /* that the text is in at its end */
	bool escaped; /* its last character is a backslash that holds for the next */
};

void shell_free(struct shell_line *l);
/* Text of the script's. */
void shell_text(struct shell_line *l, struct str text);
/* The bytes from `start` of `values` on are the next value. */
void shell_value(struct shell_line *l, size_t start);
/* argv for sh, in one allocation with its pointers into the line; NULL: no memory. */
char **shell_arguments(const struct shell_line *l);

#define CAT_BYTES_MOST	   10240      /* of one file */
#define COMMAND_BYTES_MOST (1u << 20) /* of one command; more is not read */

/* The start of a file. -errno: it cannot be opened or read; -EFBIG: there is more of it. */
int command_cat(const char *path, struct buf *out);
/* Run /bin/sh with these arguments to its end, and take its standard output. -EFBIG: it wrote more.
 * When `stop_fd` (0: none) is readable the shell gets SIGTERM, and is waited for no longer than a
 * second: -EINTR. */
int command_run(char **argv, int stop_fd, struct buf *out);

#endif
