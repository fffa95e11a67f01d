/* The words of a walk over a user stack; see user_code.h. */
#include "engine/bpf/walk/user_code.h"

void walk_load(struct user_code *w, int reg, int what)
{
	code_load(w->walks->code, 8, reg, SCRATCH, w->at + what);
}

void walk_store(struct user_code *w, int what, int reg)
{
	code_store(w->walks->code, 8, SCRATCH, w->at + what, reg);
}

/* `what` = the word of the kernel at an offset of what `reg` points to. */
void walk_read_kernel(struct user_code *w, int what, int reg, uint32_t offset)
{
	code_helper(w->walks->code, BPF_FUNC_probe_read_kernel, MEM(in_scratch(w->at + what), 0),
		    IMM(8), SUM(reg, (int32_t)offset));
}

void walk_add_body(struct user_code *w, int label, bool asked)
{
	const struct walk_body b = {.kind = asked ? WALK_ASKED : WALK_ROUNDS,
				    .slot = w->slot,
				    .at = w->at,
				    .depth = w->depth,
				    .may_sleep = w->may_sleep,
				    .is_raw = w->is_raw,
				    .label = label};

	walks_add_body(w->walks, &b);
}
