/* Jumps, bounded loops and the end of a clause. */
#include "engine/bpf/gen.h"

void gen_jump(struct gen *g, const struct insn *in)
{
	code_jump(g->code, g->labels[in->imm]);
}

void gen_branch(struct gen *g, const struct insn *in)
{
	gen_get(g, R1, in->a);
	code_jump_imm(g->code, in->op == OP_JUMP_IF ? BPF_JNE : BPF_JEQ, R1, 0, g->labels[in->imm]);
}

/* The counter of a loop runs down. */
void gen_loop(struct gen *g, const struct insn *in)
{
	struct spill counter = g->frame->counters[in - g->clause->code];

	code_const(g->code, R1, in->imm);
	code_store(g->code, 8, gen_base(counter), counter.offset, R1);
}

/* The end of the OP_LOOP at in->target. Without may_goto the verifier follows all rounds, up to its
 * own limit. */
void gen_next(struct gen *g, const struct insn *in)
{
	struct spill counter = g->frame->counters[in->target];
	int end = code_label(g->code);

	code_load(g->code, 8, R1, gen_base(counter), counter.offset);
	code_alu_imm(g->code, BPF_SUB, R1, 1);
	code_store(g->code, 8, gen_base(counter), counter.offset, R1);
	code_jump_imm(g->code, BPF_JEQ, R1, 0, end);
	if (g->world->loops == LOOPS_MAY_GOTO)
		code_may_goto(g->code, end);
	code_jump(g->code, g->labels[in->target + 1]);
	code_bind(g->code, end);
	gen_count(g, CONTROL_LOOP_LIMITS);
	gen_fault(g, in, FAULT_LOOP_LIMIT);
}

void gen_return(struct gen *g, const struct insn *in)
{
	(void)in;
	code_jump(g->code, g->end);
}
