/* Following forks: a set of processes, kept by two small programs of our own in the kernel. A child
 * is in the set before it runs its first instruction, so none of its events is missed. */
#ifndef NOPAL_ENGINE_BPF_FOLLOW_H
#define NOPAL_ENGINE_BPF_FOLLOW_H

#include "engine/bpf/attach.h"
#include "engine/bpf/gen.h"

/* The set, empty: world->pids_fd. The traced process itself is in it by its number. */
int follow_open(struct gen_world *w, struct diag *d);
/* Begin to follow; the links go to `l`. */
int follow_attach(const struct gen_world *w, struct features *f, struct links *l, struct diag *d);

#endif
