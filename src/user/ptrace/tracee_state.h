/* A process that is traced, as user/ptrace and user/patch keep it. */
#ifndef NOPAL_USER_PTRACE_TRACEE_STATE_H
#define NOPAL_USER_PTRACE_TRACEE_STATE_H

#include "base/buf.h"
#include "user/ptrace/space.h"
#include "user/ptrace/tracee.h"

struct threads;
struct inject_known;
struct inject_part;

#define ADOPTED_MOST 4096 /* pages of landings of earlier sessions */
#define LEDGERS_MOST 64	  /* in one process: sessions that are over */
#define OWN_PAGES    2	  /* of the process, not of the session: after its ledger */
#define PRESENT_MOST 256  /* pieces of shared memory */
#define WAITS_MOST   8

/* Bytes that a planned site changes, and bytes that must stay for it. */
struct claim {
	uint64_t patch, patch_end;
	uint64_t fixed, fixed_end;
};

/* A direct jump or call, or bytes that look like one. */
struct jump {
	uint64_t target, from;
};

/* In one mapping of code: those that lead to instructions soon after a nop, and to padding. */
struct jumps {
	uint64_t start, end;
	struct jump *all;
	size_t count, cap;
};

/* Bytes for code that only a thread that stops the process can write. */
struct late_write {
	uint64_t address;
	struct buf bytes;
};

struct inject {
	pid_t pid;
	int mem_fd;
	bool is_filtered; /* it has a seccomp filter */
	bool was_held;	  /* under our ptrace, when it was opened */
	struct space space;
	struct inject_world world;
	struct inject_pause pause;
	struct claim *claims;
	size_t claim_count, claim_cap;
	struct jumps *jumps;
	size_t jumps_count, jumps_cap;
	uint64_t ledger;			 /* address */
	uint32_t ledger_count, ledger_most;	 /* entries */
	uint32_t ledger_size;			 /* bytes */
	struct page_piece present[PRESENT_MOST]; /* of the shared memory, from its start */
	unsigned present_count;
	const struct inject_part *parts; /* of the shared memory */
	size_t part_count;
	uint64_t span;
	uint64_t old[LEDGERS_MOST]; /* ledgers of sessions that are over */
	unsigned old_count;
	struct inject_known *known; /* NULL: nothing is kept */
	void (*beat)(void *arg);    /* see inject_use_beat(); NULL: none */
	void *beat_arg;
	bool has_left;	/* inject_leave() was tried */
	bool is_inside; /* ... and a thread was in our code */
	uint64_t kept;	/* bytes that it had to leave */
	struct late_write *late;
	size_t late_count, late_cap;
	pid_t poker;	      /* a thread that is stopped: read-only memory is written through it */
	struct threads *held; /* all are stopped, by the calling thread: inject_held() */
	uint64_t waits[WAITS_MOST]; /* addresses: see inject_waits_at() */
	unsigned wait_count;
	uint8_t ss, dd;		   /* of the last nop5 */
	uint64_t shelf, shelf_end; /* a page of landings that may be anywhere near */
};

/* ---- opening and closing it, without what other sessions left in it */

/* May the process be traced in user mode? 0, or an error with a message. */
int process_check(struct inject *x, struct diag *d);
/* Say why this error of opening the memory of a process means that it cannot be traced. */
int process_refuse(pid_t pid, int err, struct diag *d);
/* What inject_open() and inject_close() do, except for what other sessions left. */
int process_open(pid_t pid, struct inject **out, struct diag *d);
/* To read the memory of a process alone, also of one that cannot be traced because it has a
 * debugger. What the process has mapped is not read. */
int process_look(pid_t pid, struct inject **out);
void process_close(struct inject *x);
void jumps_free(struct inject *x);

/* ---- stopping its threads */

/* Is it stopped under our ptrace, as a command that has not begun is? */
bool process_is_held(const struct inject *x);
/* Stop all its threads, and let them go on; read-only memory can be written meanwhile, by the
 * calling thread. That must be one of its own (process_apart), unless the process is held. */
int process_stop(struct inject *x, struct threads *out);
/* ... of which one can make system calls: threads_some_stopped(). */
int process_stop_for_calls(struct inject *x, struct threads *out);
void process_go(struct inject *x, struct threads *t);
int process_apart(struct inject *x, int (*fn)(void *arg), void *arg);
/* The process that traces thread `tid` by ptrace; 0: none but this one. */
pid_t process_debugger(pid_t tid);

void process_beat(const struct inject *x);
/* Write what inject_write_code() could not. A thread of the process is stopped by the calling one.
 */
int inject_write_late(struct inject *x);

#endif
