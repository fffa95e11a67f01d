/* The engine from inside: what engine.c, build.c and load.c share. */
#ifndef NOPAL_ENGINE_BPF_INSIDE_H
#define NOPAL_ENGINE_BPF_INSIDE_H

#include "engine/bpf/attach.h"
#include "engine/bpf/follow.h"
#include "engine/bpf/gen.h"
#include "engine/bpf/group.h"
#include "engine/bpf/kernel.h"
#include "engine/bpf/ring.h"
#include "engine/bpf/single.h"

/* One unit that is in the kernel. */
struct loaded {
	struct unit unit;
	struct code code; /* kept for dumps */
	int fd;
	struct loaded *next;
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
	uint64_t takeovers;   /* rearmed for so many of them */
	uint64_t main_ended;  /* when it was first seen that the main thread had, ns */
	bool files_missed;    /* ... and files mapped since are not armed */
	bool everybody;	      /* the kernel cannot filter: its main thread has ended */
	struct loaded *first, **last;
	uint64_t *control; /* mapped */
	size_t control_size;
	uint64_t *unsent; /* control records made up for, by format */
	int pause;
	uint32_t left_out; /* sites that must not be probed; see sites.h */
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

#endif
