/* What the files of the engine share, from the kernel's programs to the ring. */
#ifndef NOPAL_ENGINE_BPF_INSIDE_H
#define NOPAL_ENGINE_BPF_INSIDE_H

#include "engine/bpf/attach.h"
#include "engine/bpf/gen.h"
#include "engine/bpf/make_map.h"
#include "engine/bpf/rights.h"
#include "engine/bpf/semaphores.h"

/* One unit that is in the kernel. */
struct loaded {
	struct unit unit;
	struct code code; /* kept for dumps */
	int fd;
	struct loaded *next;
};

/* What retract() goes back to. */
struct before_extend {
	struct loaded **last;
	size_t links; /* of uprobes */
	const struct program *program;
};

struct bpf_engine {
	struct engine engine; /* first: what others hold */
	struct engine_options options;
	struct arena arena;
	struct features features;
	const struct program *program;
	struct gen_world world;
	struct store *stores;
	uint32_t store_count;
	struct groups groups;
	struct ring ring;
	struct links links;   /* all but uprobes */
	struct links uprobes; /* closed and made again by rearm */
	struct semaphores semaphores;
	uint64_t takeovers;  /* rearmed for so many of them */
	uint64_t main_ended; /* when it was first seen that the main thread had, ns */
	bool files_missed;   /* ... and files mapped since are not armed */
	bool everybody;	     /* the kernel cannot filter: a main thread has ended */
	bool is_alone;	     /* uprobes were armed in chosen processes alone */
	struct loaded *first, **last;
	struct before_extend before;
	bool is_walk_warned; /* of a unit without the walk over user stacks */
	uint64_t *control;   /* mapped */
	size_t control_size;
	uint64_t *unsent; /* control records made up for, by format */
	int pause;
	uint32_t left_out; /* sites that must not be probed; see attach.h */
};

/* Make the maps that all programs share, then load the program. */
int bpf_build(struct engine *engine, const struct program *p, struct diag *d);
/* Make the shared maps what an extension needs. */
int bpf_renew(struct bpf_engine *e, const struct program *p, struct diag *d);
/* Scratch memory of at least this size, for what is loaded from now on. */
int bpf_scratch(struct bpf_engine *e, uint32_t size, struct diag *d);
/* Where registers and slots of each clause go; *scratch is raised to what the largest needs. */
int bpf_plan(struct bpf_engine *e, const struct program *p, struct frame **out, uint32_t *scratch,
	     struct diag *d);
/* Load the units of a program, or only those for uprobes; they are added to the engine's. */
int bpf_load(struct bpf_engine *e, const struct program *p, const struct frame *frames,
	     bool only_uprobes, struct diag *d);

/* refusal.c: why the kernel refused a program: its verifier's last words, and what they mean. */
enum refusal {
	REFUSAL_NONE,
	REFUSAL_OTHER, /* a mistake in our code, or something that the kernel does not have */
	/* ORDER: from REFUSAL_INSNS to REFUSAL_STACK less code helps: refusal_is_of_size(). */
	REFUSAL_INSNS,	  /* too many instructions to follow, or too many in all */
	REFUSAL_JUMPS,	  /* too many branches one after another */
	REFUSAL_REACH,	  /* a jump became too far for its 16 bits */
	REFUSAL_STACK,	  /* nested loops need too much stack */
	REFUSAL_LOCKDOWN, /* no BPF program may read kernel memory */
	REFUSAL_RIGHTS,
	REFUSAL_WRITE, /* ... or write to that of a process */
};

/* Loads a program that was refused with `err` once more, for the verifier's verdict, which is added
 * to `words`. */
enum refusal refusal_find(const struct kernel_program *k, int err, struct buf *words);
/* Would less code help? */
bool refusal_is_of_size(enum refusal why);
/* For -v: what the verifier says of a program that was loaded (its counts), or that the kernel
 * refused (`fd` is -errno; the whole log). It is loaded once more to get the log. */
void log_program(struct buf *out, struct kernel_program k, const struct unit *u, int fd);
/* The error message for it. `clause` is the only one in the program, or NULL. */
int refusal_report(enum refusal why, int err, struct str words, const struct gen_world *w,
		   const struct program *p, const struct clause *clause, struct diag *d);

/* follow.c: the set of followed processes, kept by two small programs of our own in the kernel. A
 * child is in the set before it runs its first instruction, so none of its events is missed. */
/* The set, empty: world->filter.followed_fd. The traced process itself is known by its pid. */
int follow_open(struct gen_world *w, struct diag *d);
/* Begin to follow; the links go to `l`. */
int follow_attach(const struct gen_world *w, struct features *f, struct links *l, struct diag *d);

/* Also in follow.c: a run of one process without its children. The kernel's own filter keeps the
 * breakpoints out of other processes; small programs of ours, on tracepoints that need no tracefs,
 * tell what that filter does not: processes that the traced one starts are counted; when a thread
 * that is not the main one calls exec, or the main one ends before the others, the kernel's filter,
 * which holds the main thread, does not know the process any more. */

/* Begin to count, in the control words CONTROL_CHILDREN, CONTROL_TAKEOVERS and CONTROL_MAIN_ENDS;
 * the links go to `l`. */
int single_attach(const struct gen_world *w, struct links *l, struct diag *d);

/* stop.c: ending a run whose links take long to close. */

/* No program does anything from now on. True when, besides, none is running any more; else they are
 * known to have ended when their links are closed. */
bool bpf_stop_programs(struct bpf_engine *e);
/* Until no program changes a map that it found before this was called. */
void bpf_wait_for_maps(void *engine);
/* Let a child process close all links. False when there can be none. */
bool bpf_hand_over(struct bpf_engine *e);
/* After fork, in the child: a process that outlives us, keeps these descriptors, in ascending
 * order, and closes all others: the terminal and the pipes, and what would keep our probes armed.
 */
void bpf_become_helper(const char *name, const int *fds, size_t count);

#endif
