/* Stacks into slots: walked by code of ours where they can be, else by the kernel. */
#include "engine/bpf/gen/emitter.h"

#include <errno.h>

#define STACK_USER 256 /* BPF_F_USER_STACK */

static struct walk_slot take_slot(struct emitter *g, const struct insn *in)
{
	const struct type *t = gen_slot_type(g, in->s);
	struct walk_slot slot = {.at = gen_slot(g, in->s),
				 .size = t->size,
				 .may_sleep = gen_may_sleep(g),
				 .is_raw = t->show == SHOW_RAW};

	if (g->frame->padded[in->s])
		gen_zero(g, slot.at, HEAD_SIZE, slot.size);
	return slot;
}

void gen_stack(struct emitter *g, const struct insn *in)
{
	struct walk_slot slot = take_slot(g, in);
	bool user = in->op == OP_USTACK;
	struct code *c = g->code;
	int ok;

	if (user && walks_user(&g->walks)) {
		walk_user(&g->walks, &slot);
		return;
	}
	ok = code_label(c);
	code_helper(c, BPF_FUNC_get_stack, REG(CTX), MEM(slot.at, HEAD_SIZE), IMM(slot.size),
		    IMM(user ? STACK_USER : 0));
	code_jump_imm(c, BPF_JSGE, R0, 0, ok);
	code_const(c, R0, 0);
	code_bind(c, ok);
	code_alu_imm(c, BPF_RSH, R0, 3);
	code_store(c, 4, spill_base(slot.at), slot.at.offset, R0);
	code_const(c, R0, 0);
	if (user)
		code_pid(c, &g->world->filter, false);
	code_store(c, 4, spill_base(slot.at), slot.at.offset + 4, R0);
}

void gen_script_stack(struct emitter *g, const struct insn *in)
{
	struct walk_slot slot;

	if (g->world->script.targets_fd < 0 || !gen_slot(g, in->s).in_scratch) {
		gen_fail(g, -EINVAL, "bad-program", "a stack of a script is not possible here");
		return;
	}
	slot = take_slot(g, in);
	walk_script(&g->walks, &slot, in->imm);
}
