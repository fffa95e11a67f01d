/* The body of `nopal trace` without a format: a clause for each probe that prints all its
 * arguments. */
#ifndef NOPAL_CMD_DESCRIBE_H
#define NOPAL_CMD_DESCRIBE_H

#include <stdio.h>
#include <sys/types.h>

/* Write clauses for every probe that `patterns` name; `filter` (may be NULL) goes on each. Number
 * of probes, or -errno with its message already on stderr. */
int write_describing_clauses(FILE *out, char **patterns, int count, const char *filter, pid_t pid);
/* The columns that every line of `nopal trace` starts with: a piece of a format, in a script's
 * string, and the values. */
#define LINE_FORMAT "%%-15s %%-7d %%-7d %%-15s %%s"
#define LINE_ARGS   "strftime(\"%%H:%%M:%%S.%%f\", nsecs), pid, tid, comm, probe"

#endif
