/* Counters and constants that all programs of a run share with the tracer: one array entry of
 * 64-bit words, which the tracer maps. */
#ifndef NOPAL_ENGINE_BPF_KERNEL_CONTROL_H
#define NOPAL_ENGINE_BPF_KERNEL_CONTROL_H

#include "engine/bpf/kernel/insn.h"

#define SENT_STRIPES 16 /* CPUs that count apart; a power of two */
#define SENT_STRIDE  64 /* bytes from one to the next: a cache line */
/* clang-format off */
enum {
	CONTROL_SENT,         /* bytes sent by a CPU since it last looked how full the ring is */
	CONTROL_RUNNING,      /* programs running on a CPU, where they are counted; same stripes */
	CONTROL_IN_MAPS,      /* ... that use a map which has a twin; see store_map.h */
	CONTROL_START = SENT_STRIPES * SENT_STRIDE / 8, /* CLOCK_MONOTONIC when the run began */
	CONTROL_STOP,         /* not 0: programs do nothing any more */
	CONTROL_LOST_RECORDS,
	CONTROL_LOST_UPDATES,
	CONTROL_LOST_SCRATCH,
	CONTROL_LOOP_LIMITS,
	CONTROL_CHILDREN,     /* processes the traced one started; see follow.c */
	CONTROL_TAKEOVERS,    /* execs of a thread that is not its first */
	CONTROL_MAIN_ENDS,    /* ends of its first thread */
	CONTROL_FIXED_,       /* then: control records not sent, by control_number(); then faults,
	                       * FAULT_KINDS a span; then keys in maps */
};
/* clang-format on */

/* Add 1 to a word of the map; ruins R1, R2. */
void control_count(struct code *c, int control_fd, uint32_t word);
/* Count this program in (1) or out (-1) in a word that has stripes; ruins R0 to R5. */
void control_count_running(struct code *c, int control_fd, unsigned word, int64_t by);

#endif
