/* What happens to the processes of a run, as the kernel or the session reports it. */
#ifndef NOPAL_WATCH_EVENT_H
#define NOPAL_WATCH_EVENT_H

#include <sys/types.h>

#include "base/str.h"

enum watch_kind {
	PROCESS_MAPPED,
	PROCESS_FORKED,
	PROCESS_EXEC,
	PROCESS_ENDED,
	PROCESS_UNREPORTED, /* there may be more that was not reported, in it or (pid 0) in all */
	PROCESS_ENTERED,    /* the command is at its entry point: nothing of its program has run */
	PROCESS_RUNTIMES,   /* more is known of language runtimes */
	TRACER_ASKS,	    /* a turn of the tracer begins: which processes wait for it? */
	TRACER_WORKS,	    /* it goes on, after work that took long: none need give up waiting */
};

/* `path` is borrowed until the callback returns. */
struct watch_event {
	enum watch_kind kind;
	uint64_t time;		     /* CLOCK_MONOTONIC, ns */
	pid_t pid;		     /* process it happened in; FORKED: the child */
	pid_t parent;		     /* FORKED */
	uint64_t start, len, offset; /* MAPPED: addresses; of `start` in the file */
	uint64_t inode, generation;  /* a number may be used again, then its generation differs */
	uint32_t major, minor;	     /* of the file's device */
	struct str path;
};

typedef void watch_event_fn(void *arg, const struct watch_event *event);

#endif
