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

int walk_function(struct user_code *w, enum walk_kind kind)
{
	return walks_body(w->walks, &(struct walk_body){.kind = kind,
							.depth = w->depth,
							.may_sleep = w->may_sleep,
							.is_raw = w->is_raw});
}

void walk_call(struct user_code *w, enum walk_kind kind)
{
	code_call_function(w->walks->code, walk_function(w, kind),
			   HEAD_SIZE + 8 * w->depth + WALK_SIZE, 0);
}
