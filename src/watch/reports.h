/* A watch on executable mappings: reports at once when a process maps a new image (dlopen, exec,
 * memfd), through the kernel's own mmap, fork and exec events (perf_event_open(2),
 * PERF_RECORD_MMAP2). One ring per CPU. */
#ifndef NOPAL_WATCH_REPORTS_H
#define NOPAL_WATCH_REPORTS_H

#include <poll.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/hash.h"

/* ---- perf_merge.c: Reading what the kernel writes into the rings of perf events
 * (perf_event_open(2)): mappings, forks, execs and ends of processes, given in the order of time
 * whichever CPU they happened on, so that a child's mappings come after its fork. */

/* One thing that happened; `path` is borrowed until the callback returns. */
struct image_event {
	enum { IMAGE_MAPPED, IMAGE_FORK, IMAGE_EXEC, IMAGE_EXIT } kind;
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
struct perf_ring {
	const char *data;
	size_t size; /* a power of two */
	uint64_t tail, head;
};

/* Hand over all that is between tail and head of these rings, and not later than `until`; the tails
 * are after that then. Returns how many records were lost, by the kernel's count or because a ring
 * were corrupted. */
uint64_t perf_merge(struct perf_ring *rings, unsigned count, uint64_t until, image_event_fn *fn,
		    void *arg);

/* ---- reports.c */

struct image_watch;

/* Watch all processes, or who may not do that, `pid` (0: none) and the children it has from now on,
 * which takes the kernel some 10 ms. Descriptors become readable with each event, if it is
 * read at once, else when a ring is half full. -EACCES or -EPERM without the privilege; -EMFILE:
 * the process has too many threads. */
int image_watch_open(pid_t pid, bool at_once, struct image_watch **out, struct diag *d);
void image_watch_close(struct image_watch *w); /* NULL is fine */
/* Hand over all events that have come, in the order of time, also from one call to the next: what
 * a process does comes after its fork. Returns how many were lost (the rings were full): when some
 * were, look again at all. */
uint64_t image_watch_read(struct image_watch *w, image_event_fn *fn, void *arg);
/* Its file descriptors, to poll for POLLIN: at most `max`; number of them. */
unsigned image_watch_fds(struct image_watch *w, struct pollfd *fds, unsigned max);

/* ---- later.c: Images that are mapped while a run goes on: which have been looked at, which wait
 * for it, and what was missed because an image was armed only after it was mapped.
 *
 * An image counts as seen when it was opened and looked at, not when it was heard of: its process
 * may be gone by then. It is opened by its path when that leads to the same file, else through the
 * process. */

/* The images that have been looked at, by device, inode and its generation: a file that is mapped
 * again brings no new probe, because uprobes hold for a file wherever it is mapped. */

struct seen {
	uint64_t *keys; /* owned */
	size_t count, cap;
	struct hash by_key;
};

uint64_t seen_key(const struct image_event *mapped); /* never 0 */
bool seen_has(const struct seen *s, uint64_t key);
/* True when it was not there before. Without memory everything is new. */
bool seen_add(struct seen *s, uint64_t key);
void seen_free(struct seen *s);

/* One process that has mapped an image. */
struct mapped_image {
	uint64_t key; /* of the image, for `seen`; 0: all that the process has mapped */
	uint64_t mapped_at, gone_at; /* the process ended; 0: not that we know */
	pid_t pid;
	uint64_t inode;
	char *path;	   /* owned; NULL with key 0 */
	bool by_path;	   /* it is opened by its path */
	const void *image; /* once it was found to have probes: what script_extend() names */
	uint64_t armed_at; /* 0: not yet */
};

struct mapped_list {
	struct mapped_image *items; /* owned */
	size_t count, cap;
};

/* What happened to processes that are not followed, until their parents are known to be. */
struct untraced {
	pid_t pid, parent; /* parent 0: it mapped something */
	uint64_t time;
};
#define UNTRACED 1024

struct later {
	struct seen seen;
	struct mapped_list waiting; /* to be looked at */
	struct mapped_list armed;   /* a moment ago: news from before may still come */
	struct untraced untraced[UNTRACED];
	size_t next_untraced;
	bool everything;	/* news were lost: look at all there is */
	uint64_t lost;		/* news, in all */
	bool is_searching;	/* ... and so all processes are searched again */
	uint64_t looked_at_all; /* when, ns */
	pid_t unheard_pid;	/* has mapped something, which was not announced ... */
	uint64_t unheard_since; /* ... after this time; 0: none has */
	uint64_t unknown;	/* images that could not be looked at */
	uint64_t ended;		/* processes that ended before their image was armed ... */
	uint64_t ended_after;	/* ... at most this long after they had mapped it, ns */
	uint64_t late;		/* images armed after they were mapped ... */
	uint64_t late_most;	/* ... by at most so much, ns */
};

void later_free(struct later *l);
/* A process we trace has mapped something. */
void later_mapped(struct later *l, const struct image_event *event);
/* ... or has become one we trace after it had. */
void later_joined(struct later *l, pid_t pid, uint64_t time);
void later_ended(struct later *l, const struct image_event *event);
/* Remember what a process did that we do not trace, and find it again when it turns out that we do:
 * the parent of a fork (0: a mapping). */
void later_untraced(struct later *l, pid_t pid, pid_t parent, uint64_t time);
/* The next of these with this parent, around `time`; 0: none. */
pid_t later_find_child(struct later *l, pid_t parent, uint64_t time);
/* Is one of these mappings of this process? */
bool later_has_mapped(struct later *l, pid_t pid, uint64_t time);
/* How each waiting image must be opened. */
void later_choose_ways(struct later *l);
/* Those that are asked for in this way (`pid` 0: by path) and have mapped this file have probes. */
void later_found(struct later *l, pid_t pid, ino_t inode, const void *image);
void later_armed(struct later *l, const void *image, uint64_t now);
/* Polling found that this process has mapped something after `since`; and it is armed by now. */
void later_unheard(struct later *l, pid_t pid, uint64_t since);
void later_armed_unheard(struct later *l, uint64_t now);
/* All that waited has been looked at, as far as it could be. */
void later_settle(struct later *l);
/* This process waited until all that it has mapped was armed: nothing was missed. */
void later_waited(struct later *l, pid_t pid);
/* News of everything before the last arming have come: count what was missed in images that were
 * armed before this time. */
void later_judge(struct later *l, uint64_t before);
/* What was missed, in words; NULL diag is fine. */
void later_tell(const struct later *l, struct diag *d);

#endif
