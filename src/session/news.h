/* Reading what the kernel writes into the rings of perf events (perf_event_open(2)): mappings,
 * forks and ends of processes, given in the order of time whichever CPU they happened on, so that a
 * child's mappings come after its fork. */
#ifndef NOPAL_SESSION_NEWS_H
#define NOPAL_SESSION_NEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

/* One thing that happened; `path` is borrowed until the callback returns. */
struct image_event {
	enum { IMAGE_MAPPED, IMAGE_FORK, IMAGE_EXIT } kind;
	uint64_t time;		     /* CLOCK_MONOTONIC, ns */
	pid_t pid;		     /* process it happened in; FORK: the child */
	pid_t parent;		     /* FORK */
	uint64_t start, len, offset; /* MAPPED */
	uint64_t inode, generation;  /* a number may be used again, then its generation differs */
	uint32_t major, minor;
	struct str path;
};

typedef void image_event_fn(void *arg, const struct image_event *event);

/* The unread part of one ring: positions only grow, data is at position modulo size. Every record
 * ends in its time (PERF_SAMPLE_TIME, sample_id_all). */
struct news_ring {
	const char *data;
	size_t size; /* a power of two */
	uint64_t tail, head;
};

/* Hand over all that is between tail and head of these rings; the tails are at the heads then.
 * Returns how many records were lost, by the kernel's count or because a ring made no sense. */
uint64_t news_read(struct news_ring *rings, unsigned count, image_event_fn *fn, void *arg);

#endif
