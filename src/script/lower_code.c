/* Code in the making: instructions one behind the other, registers and slots taken for values,
 * jumps that wait for their target. Lack of room is remembered and told once, at the end. */
#include "script/lower_expr.h"

#define MAX_INSNS 65536

struct insn *lower_op(struct lower *l, enum op op)
{
	static const struct insn blank = {
		.d = REG_NO, .a = REG_NO, .b = REG_NO, .s = SLOT_NO, .t = SLOT_NO};
	struct insn *i;

	/* When there is no room, the last instruction is written over and the failure is told at
	 * the end. */
	if (l->count >= MAX_INSNS ||
	    arena_grow(l->arena, (void **)&l->code, l->count, &l->cap, sizeof(*l->code))) {
		l->failed = true;
		i = &l->spare;
	} else {
		i = &l->code[l->count++];
	}
	*i = blank;
	i->op = (uint8_t)op;
	i->place = l->place;
	return i;
}

uint16_t lower_reg(struct lower *l)
{
	if (l->next_reg >= REG_NO - 1) {
		l->failed = true;
		return 0;
	}
	if (l->next_reg + 1 > l->most_regs)
		l->most_regs = l->next_reg + 1;
	return (uint16_t)l->next_reg++;
}

uint16_t lower_const(struct lower *l, uint64_t value)
{
	struct insn *i = lower_op(l, OP_CONST);

	i->imm = (int64_t)value;
	return i->d = lower_reg(l);
}

uint16_t lower_slot(struct lower *l, const struct type *t)
{
	for (size_t i = 0; i < l->slot_count; i++) {
		if (!l->slots[i].is_busy && type_equal(&l->slots[i].type, t)) {
			l->slots[i].is_busy = true;
			l->slots[i].owner = l->depth;
			return (uint16_t)i;
		}
	}
	if (l->slot_count >= SLOT_NO - 1 || arena_grow(l->arena, (void **)&l->slots, l->slot_count,
						       &l->slot_cap, sizeof(*l->slots))) {
		l->failed = true;
		return 0;
	}
	l->slots[l->slot_count] = (struct lower_slot){*t, true, l->depth};
	return (uint16_t)l->slot_count++;
}

void lower_bind(struct lower *l, struct label *label)
{
	uint32_t at = label->last;

	while (at) {
		struct insn *i = &l->code[at - 1];

		at = (uint32_t)i->imm;
		i->imm = (int64_t)l->count;
	}
	label->last = 0;
}

void lower_goto(struct lower *l, enum op op, uint16_t reg, struct label *label)
{
	struct insn *i = lower_op(l, op);

	i->a = reg;
	if (i == &l->spare)
		return;
	i->imm = label->last;
	label->last = (uint32_t)l->count;
}

void lower_move(struct lower *l, uint16_t to, uint16_t from)
{
	struct insn *i = lower_op(l, OP_MOV);

	i->d = to;
	i->a = from;
}

void lower_set(struct lower *l, uint16_t to, uint64_t value)
{
	struct insn *i = lower_op(l, OP_CONST);

	i->d = to;
	i->imm = (int64_t)value;
}
