/* Signals that wait for a thread of another process. */
#ifndef NOPAL_USER_PTRACE_SIGNALS_H
#define NOPAL_USER_PTRACE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SIGNAL_BIT(sig) (UINT64_C(1) << ((sig)-1))
/* Signals that the CPU raises. */
#define SIGNAL_FAULTS                                                                         \
	(SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) | \
	 SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGSYS))

/* The signals that the thread will take as soon as it goes on; all, where that is not known. */
uint64_t signals_pending(pid_t tid);
/* Does the signal do nothing to the thread's program? */
bool signal_is_ignored(pid_t tid, int sig);

#endif
