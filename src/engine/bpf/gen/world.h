/* What the code of a unit refers to, and the way from a unit to its code. */
#ifndef NOPAL_ENGINE_BPF_GEN_WORLD_H
#define NOPAL_ENGINE_BPF_GEN_WORLD_H

#include "engine/bpf/gen/frame.h"
#include "engine/bpf/gen/store_map.h"
#include "engine/bpf/gen/unit.h"
#include "engine/bpf/walk/walks.h"

/* What the code of every unit refers to. */
struct gen_world {
	const struct store *stores;
	int control_fd;
	int zeros_fd; /* one entry of zeros, as large as the largest copy of them */
	int ring_fd, scratch_fd;
	uint32_t ring_bytes;
	uint32_t control_count; /* control formats that have a counter */
	uint32_t span_count;
	uint32_t scratch_count; /* entries, a power of two */
	uint32_t scratch_size;	/* bytes of one */
	unsigned cpus;
	bool sleepable;
	bool one_hash;	     /* of tests: all stacks that are keys have the same */
	bool has_may_goto;   /* if there are stacks of scripts, or as keys; else not asked */
	bool counts_running; /* in CONTROL_RUNNING, because detaching takes long; see stop.c */
	enum loops loops;
	struct user_maps user;
	struct script_maps script;
	struct pid_filter filter;
};

/* One unit to code. The world's scratch_size must be at least what the frames need. */
int gen_unit(const struct gen_world *w, const struct unit *u, const struct frame *frames,
	     struct code *code, struct diag *d);

#endif
