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
 * before its first instruction. */
int child_start(const char *command, struct child *out, struct diag *d);
/* Let it run to the entry point of its program: its libraries are mapped then, so that probes in
 * them can be found. Where the host's CPU is not known it stays where it is. */
int child_run_to_entry(struct child *c, struct diag *d);
int child_release(struct child *c, struct diag *d);
/* Ask it to end (SIGTERM) if it has not yet, and reap it if it does so within a second. */
void child_end(struct child *c);

#endif
