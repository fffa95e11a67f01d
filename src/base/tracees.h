/* Threads of other processes that are traced by ptrace(2). Each is traced by one thread of ours,
 * and let go when that ends. */
#ifndef NOPAL_BASE_TRACEES_H
#define NOPAL_BASE_TRACEES_H

#include <sys/types.h>

/* Call `fn` in a thread of its own, which may trace others, and wait for it. What it returns;
 * -errno when there is no thread. */
int tracees_apart(int (*fn)(void *arg), void *arg);
/* PTRACE_SEIZE with these options. -errno. */
int tracees_seize(pid_t tid, unsigned long options);

#endif
