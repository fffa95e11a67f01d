/* A traced program that obeys: a line on its standard input is a command, and it answers each with
 * lines of which the last is "done". */
#ifndef NOPAL_TESTS_HELP_PUPPET_H
#define NOPAL_TESTS_HELP_PUPPET_H

#include <stdio.h>
#include <sys/types.h>

struct puppet {
	pid_t pid;
	FILE *to, *from;
};

/* As user `uid`; 0: as who runs the test. What it prints first is for the caller to read. */
void puppet_start(struct puppet *p, const char *path, uid_t uid);

/* Send one line, and wait for its answer. */
long puppet_tell(struct puppet *p, const char *line, const char *what);

/* The rest of an answer: the number behind `what` in it, -1 if there is none. */
long puppet_answer(struct puppet *p, const char *what);

/* Its status, of waitpid(). */
int puppet_stop(struct puppet *p);

#endif
