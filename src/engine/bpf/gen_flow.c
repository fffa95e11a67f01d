/* Jumps, bounded loops and the end of a clause. */
#include "engine/bpf/gen.h"

/* The counter of a loop runs down. */
static void loop_begin(struct gen *g, const struct insn *in, uint32_t at)
{
	struct home h = g->frame->counters[at];

	code_const(g->code, R1, in->imm);
	code_store(g->code, 8, gen_base(h), h.offset, R1);
}

/* OP_NEXT, of the OP_LOOP at in->target. Without may_goto the verifier walks all rounds, up to its
 * own limit. */
static void loop_next(struct gen *g, const struct insn *in)
{
	struct home h = g->frame->counters[in->target];
	int end = code_label(g->code);

	code_load(g->code, 8, R1, gen_base(h), h.offset);
	code_alu_imm(g->code, BPF_SUB, R1, 1);
	code_store(g->code, 8, gen_base(h), h.offset, R1);
	code_jump_imm(g->code, BPF_JEQ, R1, 0, end);
	if (g->world->loops == LOOPS_MAY_GOTO)
		code_may_goto(g->code, end);
	code_jump(g->code, g->labels[in->target + 1]);
	code_bind(g->code, end);
	gen_count(g, CONTROL_LOOP_LIMITS);
	gen_fault(g, in, FAULT_LOOP_LIMIT);
}

void gen_flow(struct gen *g, const struct insn *in, uint32_t at)
{
	switch (in->op) {
	case OP_JUMP: code_jump(g->code, g->labels[in->imm]); break;
	case OP_JUMP_IF:
	case OP_JUMP_NOT:
		gen_get(g, R1, in->a);
		code_jump_imm(g->code, in->op == OP_JUMP_IF ? BPF_JNE : BPF_JEQ, R1, 0,
			      g->labels[in->imm]);
		break;
	case OP_LOOP: loop_begin(g, in, at); break;
	case OP_NEXT: loop_next(g, in); break;
	default: code_jump(g->code, g->end); break;
	}
}
