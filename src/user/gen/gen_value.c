/* Values: arithmetic, comparisons, branches and loops; slots as plain memory. */
#include "user/gen/gen_state.h"

void native_const(struct gen *g, const struct insn *in)
{
	native_write_const(g, in->d, (uint64_t)in->imm);
}

void native_unary(struct gen *g, const struct insn *in)
{
	uint64_t value;

	if (in->op == OP_MOV && native_is_const(g, in->a, &value)) {
		native_write_const(g, in->d, value);
		return;
	}
	native_read(g, in->a, ACC);
	switch (in->op) {
	case OP_NEG: asm_unary(g->code, UNARY_NEG, ACC); break;
	case OP_NOT: asm_unary(g->code, UNARY_NOT, ACC); break;
	case OP_ZEXT:
	case OP_SEXT: asm_extend(g->code, (unsigned)in->imm, in->op == OP_SEXT, ACC, ACC); break;
	default: break; /* OP_MOV */
	}
	native_write(g, in->d, ACC);
}

/* clang-format off */
static const uint8_t alu_ops[OP_COUNT_] = {
	[OP_ADD] = ALU_ADD, [OP_SUB] = ALU_SUB, [OP_AND] = ALU_AND, [OP_OR] = ALU_OR, [OP_XOR] = ALU_XOR,
};
static const uint8_t shift_ops[OP_COUNT_] = {
	[OP_SHL] = SHIFT_LEFT, [OP_SHR] = SHIFT_RIGHT, [OP_SAR] = SHIFT_SIGNED,
};
static const uint8_t conditions[OP_COUNT_] = {
	[OP_EQ] = COND_E, [OP_ULT] = COND_B,  [OP_SLT] = COND_L,
	[OP_NE] = COND_NE, [OP_ULE] = COND_BE, [OP_SLE] = COND_LE,
};
/* clang-format on */

void native_binary(struct gen *g, const struct insn *in)
{
	int32_t imm;

	native_read(g, in->a, ACC);
	if (native_is_imm(g, in->b, &imm)) {
		if (in->op == OP_MUL)
			asm_mul_imm(g->code, ACC, ACC, imm);
		else
			asm_alu_imm(g->code, alu_ops[in->op], ACC, imm);
	} else {
		native_read(g, in->b, TMP);
		if (in->op == OP_MUL)
			asm_mul(g->code, ACC, TMP);
		else
			asm_alu(g->code, alu_ops[in->op], ACC, TMP);
	}
	native_write(g, in->d, ACC);
}

/* The CPU takes the count modulo 64, too. */
void native_shift(struct gen *g, const struct insn *in)
{
	uint64_t count;

	native_read(g, in->a, ACC);
	if (native_is_const(g, in->b, &count)) {
		asm_shift_imm(g->code, shift_ops[in->op], ACC, count & 63);
	} else {
		native_read(g, in->b, TMP);
		asm_shift(g->code, shift_ops[in->op], ACC);
	}
	native_write(g, in->d, ACC);
}

/* A division by 0 is 1, as in bpftrace, and counted; INT64_MIN / -1, on which the CPU traps, is a
 * negation. */
void native_divide(struct gen *g, const struct insn *in)
{
	struct native_code *c = g->code;
	bool is_signed = in->op == OP_SDIV || in->op == OP_SMOD;
	bool is_rest = in->op == OP_UMOD || in->op == OP_SMOD;
	int done = asm_label(c), divide = asm_label(c), plain = asm_label(c);

	native_read(g, in->a, ACC);
	native_read(g, in->b, TMP);
	asm_test(c, TMP, TMP);
	asm_jump_if(c, COND_NE, divide);
	native_fault(g, in, FAULT_DIVIDE);
	asm_const(c, ACC, 1);
	asm_jump(c, done);
	asm_bind(c, divide);
	if (is_signed) {
		asm_alu_imm(c, ALU_CMP, TMP, -1);
		asm_jump_if(c, COND_NE, plain);
		if (is_rest)
			asm_const(c, ACC, 0);
		else
			asm_unary(c, UNARY_NEG, ACC);
		asm_jump(c, done);
	}
	asm_bind(c, plain);
	asm_divide(c, is_signed);
	if (is_rest)
		asm_mov(c, ACC, AUX);
	asm_bind(c, done);
	native_write(g, in->d, ACC);
}

static void compare(struct gen *g, const struct insn *in)
{
	int32_t imm;

	native_read(g, in->a, ACC);
	if (native_is_imm(g, in->b, &imm)) {
		asm_alu_imm(g->code, ALU_CMP, ACC, imm);
		return;
	}
	native_read(g, in->b, TMP);
	asm_alu(g->code, ALU_CMP, ACC, TMP);
}

void native_relation(struct gen *g, const struct insn *in)
{
	compare(g, in);
	asm_set(g->code, conditions[in->op], ACC);
	native_write(g, in->d, ACC);
}

void native_float_to_int(struct gen *g, const struct insn *in)
{
	native_call(g, INSIDE_F2I, REG(in->a), IMM(in->imm));
	native_write(g, in->d, ACC);
}

/* ---- branches and loops */

/* Where a jump to an instruction of the clause goes: past the end of what it is in, when the clause
 * returns there. */
static int label_of(const struct gen *g, uint32_t to)
{
	if (g->clause->code[to].op != OP_RETURN)
		return g->labels[to];
	return g->in_body ? g->body_exit : g->head_exit;
}

void native_jump(struct gen *g, const struct insn *in)
{
	native_settle(g, (uint32_t)in->imm);
	asm_jump(g->code, label_of(g, (uint32_t)in->imm));
}

void native_branch(struct gen *g, const struct insn *in)
{
	uint64_t value;

	native_settle(g, (uint32_t)in->imm);
	if (native_is_const(g, in->a, &value)) {
		if (!value == (in->op == OP_JUMP_NOT))
			asm_jump(g->code, label_of(g, (uint32_t)in->imm));
		return;
	}
	native_read(g, in->a, ACC);
	asm_test(g->code, ACC, ACC);
	asm_jump_if(g->code, in->op == OP_JUMP_IF ? COND_NE : COND_E,
		    label_of(g, (uint32_t)in->imm));
}

void native_compare_branch(struct gen *g, const struct insn *relation, const struct insn *branch)
{
	enum asm_cond cond = conditions[relation->op];

	native_settle(g, (uint32_t)branch->imm);
	compare(g, relation);
	asm_jump_if(g->code, branch->op == OP_JUMP_IF ? cond : cond ^ 1,
		    label_of(g, (uint32_t)branch->imm));
	g->known[relation->d].valid = false;
}

static struct asm_mem counter(const struct gen *g)
{
	return native_at(g, g->rounds_at - 8 * (int32_t)(g->loop_depth - 1));
}

void native_loop(struct gen *g, const struct insn *in)
{
	g->loop_depth++;
	asm_store_imm(g->code, 8, counter(g), (int32_t)in->imm);
}

/* Two words: the last key's place, and the rounds that are left, more than there can be entries
 * unless a hostile process keeps adding some. */
void native_each(struct gen *g, const struct insn *in)
{
	const struct map_shape *m = &g->place->maps[in->map];
	struct native_code *c = g->code;
	int shape = native_map_shape(g, in), again = asm_label(c), found = asm_label(c);
	struct asm_mem after, rounds;

	g->loop_depth++;
	rounds = counter(g);
	g->loop_depth++;
	after = counter(g);
	asm_store_imm(c, 8, rounds,
		      (int32_t)(m->entry_count < INT32_MAX ? m->entry_count : INT32_MAX));
	asm_store_imm(c, 8, after, 0);
	native_settle(g, g->at);
	native_forget_constants(g);
	asm_bind(c, again);
	g->again[g->each_depth++] = again;
	asm_load(c, 8, false, TMP, after);
	native_call(g, INSIDE_MAP_NEXT, HIT, LABEL(shape), HOST(TMP),
		    MEMORY(native_slot(g, in->s, 0)));
	asm_store(c, 8, after, ACC);
	asm_test(c, ACC, ACC);
	asm_jump_if(c, COND_E, label_of(g, in->target));
	if (in->op == OP_EACH_COPY)
		native_map_copy(g, in);
	else if (in->d != REG_NO)
		native_map_get(g, in);
	/* If it was removed since, what was read may be zeros. */
	native_call(g, INSIDE_MAP_HAS, HIT, LABEL(shape), native_key(g, in));
	asm_test(c, ACC, ACC);
	asm_jump_if(c, COND_NE, found);
	asm_alu_mem_imm(c, ALU_SUB, 8, rounds, 1);
	asm_jump_if(c, COND_NE, again);
	asm_jump(c, label_of(g, in->target));
	asm_bind(c, found);
}

static void next_of_each(struct gen *g, const struct insn *in)
{
	struct asm_mem rounds;

	g->loop_depth--;
	rounds = counter(g);
	native_settle(g, in->target);
	asm_alu_mem_imm(g->code, ALU_SUB, 8, rounds, 1);
	asm_jump_if(g->code, COND_NE, g->again[--g->each_depth]);
	native_fault(g, in, FAULT_LOOP_LIMIT);
	g->loop_depth--;
}

void native_next(struct gen *g, const struct insn *in)
{
	if (op_is_each(g->clause->code[in->target].op)) {
		next_of_each(g, in);
		return;
	}
	native_settle(g, in->target + 1);
	asm_alu_mem_imm(g->code, ALU_SUB, 8, counter(g), 1);
	asm_jump_if(g->code, COND_NE, g->labels[in->target + 1]);
	native_fault(g, in, FAULT_LOOP_LIMIT);
	g->loop_depth--;
}

void native_return(struct gen *g, const struct insn *in)
{
	if (in == &g->clause->code[g->clause->insn_count - 1])
		return;
	asm_jump(g->code, g->in_body ? g->body_exit : g->head_exit);
}

/* ---- slots */

void native_put_word(struct gen *g, const struct insn *in)
{
	int32_t imm;

	if (native_is_imm(g, in->a, &imm)) {
		asm_store_imm(g->code, 8, native_slot(g, in->s, in->imm), imm);
		return;
	}
	native_read(g, in->a, ACC);
	asm_store(g->code, 8, native_slot(g, in->s, in->imm), ACC);
}

void native_get_word(struct gen *g, const struct insn *in)
{
	asm_load(g->code, 8, false, ACC, native_slot(g, in->s, in->imm));
	native_write(g, in->d, ACC);
}

void native_zero_slot(struct gen *g, const struct insn *in)
{
	uint32_t bytes = (uint32_t)type_memory(native_slot_type(g, in->s));

	if (bytes > COPY_INLINE) {
		native_call(g, INSIDE_ZERO, MEMORY(native_slot(g, in->s, 0)), IMM(bytes / 8));
		return;
	}
	for (uint32_t at = 0; at < bytes; at += 8)
		asm_store_imm(g->code, 8, native_slot(g, in->s, at), 0);
}

/* Copy all of the smaller slot. */
static void copy(struct gen *g, const struct insn *in, int64_t to, int64_t from, uint16_t smaller)
{
	uint32_t bytes = (uint32_t)type_memory(native_slot_type(g, smaller));

	if (bytes > COPY_INLINE) {
		native_call(g, INSIDE_COPY, MEMORY(native_slot(g, in->s, to)),
			    MEMORY(native_slot(g, in->t, from)), IMM(bytes / 8));
		return;
	}
	for (uint32_t at = 0; at < bytes; at += 8) {
		asm_load(g->code, 8, false, ACC, native_slot(g, in->t, from + at));
		asm_store(g->code, 8, native_slot(g, in->s, to + at), ACC);
	}
}

void native_copy_slot(struct gen *g, const struct insn *in)
{
	copy(g, in, in->imm, 0, in->t);
}

void native_copy_part(struct gen *g, const struct insn *in)
{
	copy(g, in, 0, in->imm, in->s);
}
