/* Reading what the kernel writes into the rings of perf events (perf_event_open(2)): mappings,
 * forks, execs and ends of processes, given in the order of time whichever CPU they happened on, so
 * that a child's mappings come after its fork. */
#ifndef NOPAL_WATCH_PERF_MERGE_H
#define NOPAL_WATCH_PERF_MERGE_H

#include <stddef.h>

#include "watch/event.h"

/* The unread part of one ring: positions only grow, data is at position modulo size. Every record
 * ends in its time (PERF_SAMPLE_TIME, sample_id_all). */
struct perf_ring {
	const char *data;
	size_t size; /* a power of two */
	uint64_t tail, head;
};

/* Hand over all that is between tail and head of these rings, and not later than `until`; the tails
 * are after that then. Returns how many records were lost, by the kernel's count or because a ring
 * were corrupted. */
uint64_t perf_merge(struct perf_ring *rings, unsigned count, uint64_t until, watch_event_fn *fn,
		    void *arg);

#endif
