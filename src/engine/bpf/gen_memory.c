/* Slots as plain memory: putting, getting, copying. */
#include "engine/bpf/gen.h"

void gen_put_word(struct gen *g, const struct insn *in)
{
	struct spill s = gen_slot(g, in->s);

	gen_get(g, R1, in->a);
	code_store(g->code, 8, gen_base(s), s.offset + (int32_t)in->imm, R1);
}

void gen_get_word(struct gen *g, const struct insn *in)
{
	struct spill s = gen_slot(g, in->s);

	code_load(g->code, 8, R1, gen_base(s), s.offset + (int32_t)in->imm);
	gen_set(g, in->d, R1);
}

void gen_zero_slot(struct gen *g, const struct insn *in)
{
	gen_zero(g, gen_slot(g, in->s), 0, slot_used(gen_slot_type(g, in->s)));
}

/* All of slot t into a part of s, or a part of t into all of s. */
static void copy_slot(struct gen *g, const struct insn *in, int32_t to, int32_t from,
		      uint16_t smaller)
{
	struct spill s = gen_slot(g, in->s);

	gen_copy(g, gen_base(s), s.offset + to, gen_slot(g, in->t), from,
		 (uint32_t)type_memory(gen_slot_type(g, smaller)));
}

void gen_copy_slot(struct gen *g, const struct insn *in)
{
	copy_slot(g, in, (int32_t)in->imm, 0, in->t);
}

void gen_copy_part(struct gen *g, const struct insn *in)
{
	copy_slot(g, in, 0, (int32_t)in->imm, in->s);
}
