/* The command of `-c`: started stopped, let go once everything is attached. It is a child of ours
 * under ptrace only until then. If we die before its exec, so does it; after that it simply runs.
 */
#ifndef NOPAL_SESSION_CHILD_H
#define NOPAL_SESSION_CHILD_H

#include <sys/types.h>

#include "base/diag.h"

struct child {
	pid_t pid;    /* 0: none */
	bool stopped; /* still ours to release */
	bool gone;    /* reaped */
	int status;   /* of waitpid, once gone */
	int report;   /* says what became of its exec, which is still to come; -1: it has run */
};

/* Split `command` as a shell would (quotes, $HOME; no command substitution), and start a child that
 * stops before the exec of it, so that this, too, can be traced. */
int child_start(const char *command, struct child *out, struct diag *d);
/* Let it call exec, if it has not, and stop it before the program's first instruction. */
int child_exec(struct child *c, const char *command, struct diag *d);
/* After that: let it run to the entry point of its program. Its libraries are mapped then, so that
 * probes in them can be found. Where the host's CPU is not known it stays where it is. */
int child_run_to_entry(struct child *c, struct diag *d);
/* Has it ended? Then its status is known. Does not wait. */
bool child_has_ended(struct child *c);
/* The exit code as a shell shows it: 128 + N for signal N; -1: there is none (yet). */
int child_code(const struct child *c);
int child_release(struct child *c, struct diag *d);
/* Ask it to end (SIGTERM) if it has not yet, and reap it if it does so within a second. */
void child_end(struct child *c);

#endif
