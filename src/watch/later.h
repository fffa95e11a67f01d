/* Images that are mapped while a run goes on: which have been looked at, which wait for it, and
 * what was missed because an image was armed only after it was mapped.
 *
 * An image counts as seen when it was opened and looked at, not when it was heard of: its process
 * may be gone by then. It is opened by its path when that leads to the same file, else through the
 * process. */
#ifndef NOPAL_WATCH_LATER_H
#define NOPAL_WATCH_LATER_H

#include "base/diag.h"
#include "base/hash.h"
#include "watch/event.h"

/* The images that have been looked at, by device, inode and its generation: a file that is mapped
 * again brings no new probe, because uprobes hold for a file wherever it is mapped. */

struct seen {
	uint64_t *keys; /* owned */
	size_t count, cap;
	struct hash by_key;
};

uint64_t seen_key(const struct watch_event *mapped); /* never 0 */
bool seen_has(const struct seen *s, uint64_t key);
/* True when it was not there before. Without memory everything is new. */
bool seen_add(struct seen *s, uint64_t key);
void seen_free(struct seen *s);

/* One process that has mapped an image. */
struct mapped_image {
	uint64_t key;		     /* of the image, for `seen`; 0: one that polling found */
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

struct later {
	struct seen seen;
	struct mapped_list waiting; /* to be looked at */
	struct mapped_list armed;   /* a moment ago: news from before may still come */
	bool everything;	    /* news were lost: look at all there is */
	uint64_t lost;		    /* news, in all */
	bool is_searching;	    /* ... and so all processes are searched again */
	uint64_t looked_at_all;	    /* when, ns */
	pid_t unheard_pid;	    /* has mapped something, which was not announced ... */
	uint64_t unheard_since;	    /* ... after this time; 0: none has */
	uint64_t unknown;	    /* images that could not be looked at */
	uint64_t ended;		    /* processes that ended before their image was armed ... */
	uint64_t ended_after;	    /* ... at most this long after they had mapped it, ns */
	uint64_t late;		    /* images armed after they were mapped ... */
	uint64_t late_most;	    /* ... by at most so much, ns */
};

void later_free(struct later *l);
/* A process we trace has mapped something. */
void later_mapped(struct later *l, const struct watch_event *event);
void later_ended(struct later *l, const struct watch_event *event);
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
