/* Which processes a run of one process follows. Small programs of ours in the kernel watch it. */
#ifndef NOPAL_ENGINE_BPF_RUN_FOLLOW_H
#define NOPAL_ENGINE_BPF_RUN_FOLLOW_H

#include "engine/bpf/gen/world.h"
#include "engine/bpf/kernel/links.h"

struct features;

/* The set of followed processes, kept by two programs. A child is in the set before it runs its
 * first instruction, so none of its events is missed. */
/* The set, empty: world->filter.followed_fd. The traced process itself is known by its pid. */
int follow_open(struct gen_world *w, struct diag *d);
/* Begin to follow; the links go to `l`. */
int follow_attach(const struct gen_world *w, struct features *f, struct links *l, struct diag *d);

/* A run of one process without its children. The kernel's own filter keeps the
 * breakpoints out of other processes; small programs of ours, on tracepoints that need no tracefs,
 * tell what that filter does not: processes that the traced one starts are counted; when a thread
 * that is not the main one calls exec, or the main one ends before the others, the kernel's filter,
 * which holds the main thread, does not know the process any more. */

/* Begin to count, in the control words CONTROL_CHILDREN, CONTROL_TAKEOVERS and CONTROL_MAIN_ENDS;
 * the links go to `l`. */
int single_attach(const struct gen_world *w, struct links *l, struct diag *d);

#endif
