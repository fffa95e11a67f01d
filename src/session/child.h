/* The command of `-c`: started stopped, let go once everything is attached. It is a child of ours
 * under ptrace only until then; if we die first, it simply runs. */
#ifndef NOPAL_SESSION_CHILD_H
#define NOPAL_SESSION_CHILD_H

#include <sys/types.h>

#include "base/diag.h"

struct child {
	pid_t pid;    /* 0: none */
	bool stopped; /* still ours to release */
	bool gone;    /* reaped */
	int status;   /* of waitpid, once gone */
};

/* Split `command` as a shell would (quotes, $HOME; no command substitution), start it, and stop it
 * at its first instruction. With `at_entry` it stops at the entry point of its program instead: its
 * libraries are mapped then, so that probes in them can be found. */
int child_start(const char *command, bool at_entry, struct child *out, struct diag *d);
int child_release(struct child *c, struct diag *d);
/* Has it ended? Does not wait. */
bool child_gone(struct child *c);
/* Ask it to end (SIGTERM) if it has not yet, and reap it if it does so within a second. */
void child_end(struct child *c);

#endif
