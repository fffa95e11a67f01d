/* Children of fork, which have inherited all of their parent, and are looked at only when they load
 * libraries. */
#ifndef NOPAL_USER_RUN_FORKED_H
#define NOPAL_USER_RUN_FORKED_H

#include "user/run/native_state.h"

/* Threads wait that have loaded a library: note the children of fork that do, in
 * e->waiting.forked. */
void forked_hear(struct native *e);
/* The children in e->waiting.forked become processes of their own. -ENOMEM. */
int forked_take(struct native *e, struct diag *d);
/* Which of the processes that have ended have such children? Sometimes, it looks at all
 * processes that are known and their children. */
void forked_look(struct native *e);
/* May a process that has ended have children of fork? */
bool forked_remain(const struct native *e, const struct native_process *p);

#endif
