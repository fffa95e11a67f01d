/* A watch on executable mappings: tells at once when a process maps a new image (dlopen, exec,
 * memfd), through the kernel's own mmap, fork and exec events (perf_event_open(2),
 * PERF_RECORD_MMAP2). One ring per CPU, all processes. */
#ifndef NOPAL_SESSION_IMAGES_H
#define NOPAL_SESSION_IMAGES_H

#include <poll.h>
#include <sys/types.h>

#include "base/diag.h"

/* ---- news.c: Reading what the kernel writes into the rings of perf events (perf_event_open(2)):
 * mappings, forks and ends of processes, given in the order of time whichever CPU they happened on,
 * so that a child's mappings come after its fork. */

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

/* ---- images.c */

struct image_watch;

/* `at_once`: its descriptors become readable with each event, else when there are many. -EACCES or
 * -EPERM without the privilege. */
int image_watch_open(bool at_once, struct image_watch **out, struct diag *d);
void image_watch_close(struct image_watch *w); /* NULL is fine */
/* Hand over all events that have come, in the order of time. Returns how many were lost (the rings
 * were full): when some were, look again at all. */
uint64_t image_watch_read(struct image_watch *w, image_event_fn *fn, void *arg);
/* Its file descriptors, to poll for POLLIN: at most `max`; number of them. */
unsigned image_watch_fds(struct image_watch *w, struct pollfd *fds, unsigned max);

#endif
