/* Where the registers and slots of a clause are in memory. */
#ifndef NOPAL_ENGINE_BPF_GEN_FRAME_H
#define NOPAL_ENGINE_BPF_GEN_FRAME_H

#include "base/arena.h"
#include "engine/bpf/kernel/features.h"
#include "engine/bpf/kernel/spill.h"
#include "program/program.h"

/* The spill slots of a clause. */
struct frame {
	bool is_lean; /* no values on the stack; see frame.c */
	struct spill *regs, *slots;
	bool *padded;		/* slots that must be zero after their text: keys, values, copies */
	struct spill *counters; /* of loops, by the index of their OP_LOOP */
	int32_t stack;		/* lowest byte used, negative */
	int32_t scratch;	/* bytes of scratch used; 0: none needed */
	int32_t record;		/* where in scratch records are packed; 0: nowhere */
	bool *in_place; /* by the index of an OP_EMIT: packed around its first text instead */
	int32_t key;	/* where in scratch keys are made */
	int32_t entry;	/* ... and values with the stacks of their keys */
};

/* What the frame of a clause depends on besides its code. */
struct frame_limits {
	enum loops loops;
	int32_t stack_end; /* STACK_END, STACK_CALL_END */
};

/* Plan the frame of a clause, in the arena. -ENOMEM, -E2BIG. */
int frame_plan(struct arena *a, const struct program *p, const struct clause *c,
	       struct frame_limits limits, struct frame *out);

#endif
