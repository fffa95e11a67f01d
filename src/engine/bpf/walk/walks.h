/* Walks over stacks as code of a program: over the stack of a user program by the rows of
 * unwind/tables.h, and over that of a script by the table of its runtime. A walk fills one slot;
 * its rounds may be functions, which are emitted after all other code. */
#ifndef NOPAL_ENGINE_BPF_WALK_WALKS_H
#define NOPAL_ENGINE_BPF_WALK_WALKS_H

#include "engine/bpf/kernel/pids.h"
#include "engine/bpf/kernel/spill.h"
#include "engine/bpf/walk/script_maps.h"
#include "engine/bpf/walk/user_maps.h"

/* Bytes that a walk needs after the frames of its slot. */
#define USER_WALK_SIZE	 200
#define SCRIPT_WALK_SIZE 9216

/* A slot that a walk fills: a head of HEAD_SIZE, then frames. */
struct walk_slot {
	struct spill at;
	uint32_t size; /* bytes of frames */
	bool may_sleep;
	bool is_raw; /* frames are addresses */
};

enum walk_kind {
	WALK_USER,   /* over a stack of a program */
	WALK_ROUND,  /* to the next frame of that */
	WALK_ASKED,  /* its look at a mapping, which a helper calls */
	WALK_SCRIPT, /* over a stack of a script */
	WALK_STAGES, /* its rounds, which bpf_loop calls */
};

/* A walk, or a part of one, as a function. */
struct walk_body {
	enum walk_kind kind;
	uint32_t depth; /* words of frames */
	bool may_sleep, is_raw;
	bool marks; /* of scripts */
	int label;
};

/* The program that walks are emitted into. */
struct walks {
	struct code *code;
	const struct user_maps *user;
	const struct script_maps *script;
	const struct pid_filter *pids;
	int zeros_fd; /* see code_zero() */
	bool has_may_goto;
	/* Where the kernel has the registers of user mode. */
	enum { REGISTERS_NOWHERE, REGISTERS_IN_CONTEXT, REGISTERS_OF_TASK } registers;
	struct walk_body *bodies; /* owned: functions that are still to be emitted */
	size_t count, cap;
};

/* Can user stacks be walked in this program? */
bool walks_user(const struct walks *w);
void walk_user(struct walks *w, const struct walk_slot *slot);
/* `language`: as OP_LSTACK has it. The slot is in scratch memory. */
void walk_script(struct walks *w, const struct walk_slot *slot, int64_t language);
/* The functions that walks asked for. */
void walk_bodies(struct walks *w);

#endif
