/* Whose events count: the traced processes, and the pid namespace in which the tracer numbers
 * them. */
#ifndef NOPAL_ENGINE_BPF_KERNEL_PIDS_H
#define NOPAL_ENGINE_BPF_KERNEL_PIDS_H

#include <sys/types.h>

#include "engine/bpf/kernel/insn.h"

struct pid_filter {
	const pid_t *pids;	 /* borrowed */
	unsigned count;		 /* 0: all processes */
	int followed_fd;	 /* hash of followed processes, the kernel's numbers; -1: none */
	uint64_t ns_dev, ns_ino; /* pid namespace when it is not the initial one; 0 */
};

/* R0 = the process, or the thread, as the tracer's pid namespace has it; 0: it is not in that one.
 * Ruins STACK_A. */
void code_pid(struct code *c, const struct pid_filter *f, bool thread);
/* To `refuse` unless the current process is the traced one, or one of the followed. Ruins R0 to R5,
 * STACK_A, STACK_KEY. */
void code_pid_filter(struct code *c, const struct pid_filter *f, int refuse);

#endif
