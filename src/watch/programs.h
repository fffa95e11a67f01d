/* Looks at the processes of a run that find which of them run a program that is not known yet,
 * because they are new or have called exec. The kernel lists the children of each thread, so a look
 * costs as much as there are processes. */
#ifndef NOPAL_WATCH_PROGRAMS_H
#define NOPAL_WATCH_PROGRAMS_H

#include "watch/watch.h"

typedef void program_fn(void *arg, pid_t pid);

/* The chosen process is known; leave alone the children that it has now. -ENOMEM. */
int programs_begin(struct watch *w);
/* Call `fn` with each process that runs another program than it did when `fn` was called with it
 * last, and has done so for `patience` ns, if it may have the agent. NULL: only note them. -ENOMEM.
 */
int programs_look(struct watch *w, uint64_t patience, program_fn *fn, void *arg);
/* The process has called exec at this time: it may be the same program once more, at the same
 * address. */
void programs_renew(struct watch *w, pid_t pid, uint64_t time);
/* A process is followed, whether its parents are there or not, and is looked at from now on: call
 * `fn` with it if its program is not known; NULL: only note it. -ENOMEM. */
int programs_meet(struct watch *w, pid_t pid, program_fn *fn, void *arg);
/* A process says that it is there: it is followed, or its parent is, and is looked at from now on.
 * -ESRCH: that cannot be seen without a look at all; -ENOMEM. */
int programs_came(struct watch *w, pid_t pid);
/* The process runs another program, if it is in the table: call `fn` with it. -ESRCH. */
int programs_take(struct watch *w, pid_t pid, program_fn *fn, void *arg);
/* Each followed process, and children of theirs that were not seen yet, but none that was left
 * alone, until `fn` does not return 0; what it returned. -ENOMEM. */
int programs_each(const struct watch *w, int (*fn)(void *arg, pid_t pid), void *arg);
/* The program of a process cannot be traced. False: that was said before of one of its programs. */
bool programs_refuse(struct watch *w, pid_t pid);

#endif
