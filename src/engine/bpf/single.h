/* A run of one process without its children. The kernel's own filter keeps the breakpoints out of
 * other processes; small programs of ours, on tracepoints that need no tracefs, tell what that
 * filter does not: processes that the traced one starts are counted; when a thread that is not the
 * main one calls exec, or the main one ends before the others, the kernel's filter, which holds the
 * main thread, does not know the process any more. */
#ifndef NOPAL_ENGINE_BPF_SINGLE_H
#define NOPAL_ENGINE_BPF_SINGLE_H

#include "engine/bpf/attach.h"
#include "engine/bpf/gen.h"

/* Begin to count, in the control words CONTROL_CHILDREN, CONTROL_TAKEOVERS and CONTROL_MAIN_ENDS;
 * the links go to `l`. */
int single_attach(const struct gen_world *w, struct links *l, struct diag *d);

#endif
