/* The system call that a thread is in, as the kernel shows it. */
#ifndef NOPAL_USER_PTRACE_SYSTEM_CALL_H
#define NOPAL_USER_PTRACE_SYSTEM_CALL_H

#include <stdint.h>
#include <sys/types.h>

#define SYSTEM_CALL_ARGS 6

struct system_call {
	int64_t number; /* -1: it sleeps elsewhere, or runs */
	uint64_t args[SYSTEM_CALL_ARGS];
	uint64_t sp, pc; /* 0: it runs, or has ended */
};

/* By /proc/TID/syscall. */
struct system_call system_call_of(pid_t tid);

#endif
