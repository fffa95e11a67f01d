/* The traced process and those that it has started: which of them run a program that is not known
 * yet, because they are new or have called exec. */
#ifndef NOPAL_WATCH_PROGRAMS_H
#define NOPAL_WATCH_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct native_child {
	pid_t pid;
	uint64_t program; /* where its code begins, which is another address after each exec */
	uint64_t since;	  /* when it was first seen to run that, ns */
	bool is_known;	  /* it was handed over */
	bool is_expected; /* it may say itself that it is there */
	bool is_there;	  /* at the last look */
	bool is_left;	  /* it was there before, so it and its children are not followed */
	bool is_refused;  /* one of its programs could not be traced */
};

struct native_children {
	struct native_child *all; /* owned */
	size_t count, cap;
	bool has_others; /* the first process has had children that were not left */
};

typedef void child_fn(void *arg, pid_t pid);

/* Leave alone the children that the process has now. -ENOMEM. */
int children_leave(struct native_children *f, pid_t first);
/* Call `fn` with each process that runs another program than it did when `fn` was called with it
 * last, and has done so for `patience` ns, if it may have the agent: the first one, and with
 * `follow` its children. NULL: only note them. -ENOMEM. */
int children_look(struct native_children *f, pid_t first, bool follow, uint64_t patience,
		  child_fn *fn, void *arg);
/* The process has called exec at this time: it may be the same program once more, at the same
 * address. */
void children_renew(struct native_children *f, pid_t pid, uint64_t time);
/* A process is one of those, whether its parents are there or not, and is looked at from now on.
 * -ENOMEM. */
int children_meet(struct native_children *f, pid_t pid);
/* A process says that it is there: it is one of those, or its parent is, and is looked at from now
 * on. -ESRCH: that cannot be seen without a look at all; -ENOMEM. */
int children_came(struct native_children *f, pid_t pid);
/* A process whose parents have ended is one of those, too: call `fn` with it. -ENOMEM. */
int children_join(struct native_children *f, pid_t pid, child_fn *fn, void *arg);
/* The process runs another program, if it is one of those: call `fn` with it. */
int children_take(struct native_children *f, pid_t pid, child_fn *fn, void *arg);
/* Each of these processes and their children, those too that were not seen yet, but none that was
 * left alone, until `fn` does not return 0; what it returned. -ENOMEM. */
int children_each(const struct native_children *f, pid_t first, int (*fn)(void *arg, pid_t pid),
		  void *arg);
/* The program of a process cannot be traced. False: that was said before of one of its programs. */
bool children_refuse(struct native_children *f, pid_t pid);
bool children_have(const struct native_children *f, pid_t pid);
void children_free(struct native_children *f);

#endif
