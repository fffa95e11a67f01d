/* Slots as plain memory: putting, getting, copying. */
#include "engine/bpf/gen.h"

void gen_memory(struct gen *g, const struct insn *in)
{
	struct home s = in->s != SLOT_NO ? gen_slot(g, in->s) : (struct home){0};
	int32_t imm = (int32_t)in->imm;

	switch (in->op) {
	case OP_PUT:
		gen_get(g, R1, in->a);
		code_store(g->code, 8, gen_base(s), s.offset + imm, R1);
		break;
	case OP_GET:
		code_load(g->code, 8, R1, gen_base(s), s.offset + imm);
		gen_set(g, in->d, R1);
		break;
	case OP_ZERO: gen_zero(g, s, 0, slot_used(gen_slot_type(g, in->s))); break;
	case OP_COPY:
		gen_copy(g, s, imm, gen_slot(g, in->t), 0,
			 (uint32_t)type_memory(gen_slot_type(g, in->t)));
		break;
	default:
		gen_copy(g, s, 0, gen_slot(g, in->t), imm,
			 (uint32_t)type_memory(gen_slot_type(g, in->s)));
		break;
	}
}
