/* The BPF engine: one run of programs in the kernel. */
#ifndef NOPAL_ENGINE_BPF_RUN_BPF_H
#define NOPAL_ENGINE_BPF_RUN_BPF_H

#include "engine/bpf/gen/world.h"
#include "engine/bpf/kernel/links.h"
#include "engine/bpf/run/group.h"
#include "engine/bpf/run/semaphores.h"
#include "engine/engine.h"

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

#define PAUSE_FIRST 1 /* ms */

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
	uint64_t takeovers;  /* CONTROL_TAKEOVERS when they were last rearmed */
	uint64_t main_ended; /* when it was first seen that the main thread had, ns */
	bool files_missed;   /* ... and files mapped since are not armed */
	bool everybody;	     /* the kernel cannot filter: a main thread has ended */
	bool is_alone;	     /* uprobes were armed in chosen processes alone */
	struct loaded *first, **last;
	struct before_extend before;
	bool is_walk_warned; /* of a unit without the walk over user stacks */
	uint64_t *control;   /* mapped */
	size_t control_size;
	uint64_t *unsent;  /* control records made up for, by format */
	int pause;	   /* until the next look at the ring, ms; at first PAUSE_FIRST */
	uint32_t left_out; /* sites that must not be probed; see site_checks.h */
};

/* build.c */
/* Make the maps that all programs share, then load the program. */
int bpf_build(struct engine *engine, const struct program *p, struct diag *d);
/* Make the shared maps what an extension needs. */
int bpf_renew(struct bpf_engine *e, const struct program *p, struct diag *d);
/* Scratch memory of at least this size, for what is loaded from now on. */
int bpf_scratch(struct bpf_engine *e, uint32_t size, struct diag *d);

/* load.c */
/* Where registers and slots of each clause go; *scratch is raised to what the largest needs. */
int bpf_plan(struct bpf_engine *e, const struct program *p, struct frame **out, uint32_t *scratch,
	     struct diag *d);
/* Load the units of a program, or only those for uprobes; they are added to the engine's. */
int bpf_load(struct bpf_engine *e, const struct program *p, const struct frame *frames,
	     bool only_uprobes, struct diag *d);

/* stop.c */
/* No program does anything from now on. True when, besides, none is running any more; else they are
 * known to have ended when their links are closed. */
bool bpf_stop_programs(struct bpf_engine *e);
/* Until no program changes a map that it found before this was called. */
void bpf_wait_for_maps(void *engine);
/* Let a child process close all links. False when there can be none. */
bool bpf_hand_over(struct bpf_engine *e);

/* deliver.c: hooks of engine_ops, and of its maps */
int bpf_map_each(void *self, uint32_t map, map_entry_fn *fn, void *arg);
int bpf_map_take(void *self, uint32_t map, enum format_take what, map_entry_fn *fn, void *arg);
int bpf_map_clear(void *self, uint32_t map);
int bpf_map_zero(void *self, uint32_t map);
int bpf_drain(struct engine *engine, int timeout_ms, record_fn *fn, void *arg);
int bpf_wait_fd(struct engine *engine);
void bpf_stats(struct engine *engine, struct run_stats *out);
int bpf_faults(struct engine *engine, fault_fn *fn, void *arg);
void bpf_dump(struct engine *engine, struct buf *out);

#endif
