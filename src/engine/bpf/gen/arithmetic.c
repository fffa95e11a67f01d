/* Values: arithmetic, comparisons and conversions of 64-bit registers; slots as plain memory. */
#include "engine/bpf/gen/emitter.h"

void gen_const(struct emitter *g, const struct insn *in)
{
	code_const(g->code, R1, in->imm);
	gen_set(g, in->d, R1);
}

void gen_unary(struct emitter *g, const struct insn *in)
{
	gen_get(g, R1, in->a);
	switch (in->op) {
	case OP_NEG: code_alu_imm(g->code, BPF_NEG, R1, 0); break;
	case OP_NOT: code_alu_imm(g->code, BPF_XOR, R1, -1); break;
	case OP_ZEXT:
	case OP_SEXT: code_extend(g->code, R1, in->imm, in->op == OP_SEXT); break;
	default: break; /* OP_MOV */
	}
	gen_set(g, in->d, R1);
}

/* What each operation on two registers is in eBPF: an ALU operation, or a jump. */
/* clang-format off */
static const uint8_t bpf_ops[OP_COUNT_] = {
	[OP_ADD]  = BPF_ADD, [OP_SUB]  = BPF_SUB, [OP_MUL]  = BPF_MUL,
	[OP_AND]  = BPF_AND, [OP_OR]   = BPF_OR,  [OP_XOR]  = BPF_XOR,
	[OP_SHL]  = BPF_LSH, [OP_SHR]  = BPF_RSH, [OP_SAR]  = BPF_ARSH,
	[OP_UDIV] = BPF_DIV, [OP_SDIV] = BPF_DIV, [OP_UMOD] = BPF_MOD,  [OP_SMOD] = BPF_MOD,
	[OP_EQ]   = BPF_JEQ, [OP_ULT]  = BPF_JLT, [OP_SLT]  = BPF_JSLT,
	[OP_NE]   = BPF_JNE, [OP_ULE]  = BPF_JLE, [OP_SLE]  = BPF_JSLE,
};
/* clang-format on */

void gen_binary(struct emitter *g, const struct insn *in)
{
	gen_get(g, R1, in->a);
	gen_get(g, R2, in->b);
	if (in->op == OP_SHL || in->op == OP_SHR || in->op == OP_SAR)
		code_alu_imm(g->code, BPF_AND, R2, 63); /* or the verifier refuses */
	code_alu(g->code, bpf_ops[in->op], R1, R2);
	gen_set(g, in->d, R1);
}

void gen_relation(struct emitter *g, const struct insn *in)
{
	int yes = code_label(g->code);

	gen_get(g, R1, in->a);
	gen_get(g, R2, in->b);
	code_const(g->code, R3, 1);
	code_jump_if(g->code, bpf_ops[in->op], R1, R2, yes);
	code_const(g->code, R3, 0);
	code_bind(g->code, yes);
	code_mov(g->code, R1, R3);
	gen_set(g, in->d, R1);
}

static void negate_if_negative(struct emitter *g, int reg, int sign)
{
	int positive = code_label(g->code);

	code_jump_imm(g->code, BPF_JSGE, sign, 0, positive);
	code_alu_imm(g->code, BPF_NEG, reg, 0);
	code_bind(g->code, positive);
}

/* A division by 0 is 1, as in bpftrace, and counted. Signed division eBPF has only since 6.6, and
 * the machine traps on INT64_MIN / -1. So: divide the magnitudes, then put
 * the sign back. The sign of a quotient is that of a ^ b, of a remainder that of a. */
void gen_divide(struct emitter *g, const struct insn *in)
{
	int done = code_label(g->code), divide = code_label(g->code), op = bpf_ops[in->op];
	bool is_signed = in->op == OP_SDIV || in->op == OP_SMOD;

	gen_get(g, R1, in->a);
	gen_get(g, R2, in->b);
	code_jump_imm(g->code, BPF_JNE, R2, 0, divide);
	gen_fault(g, in, FAULT_DIVIDE);
	code_const(g->code, R1, 1);
	code_jump(g->code, done);
	code_bind(g->code, divide);
	if (is_signed) {
		code_mov(g->code, R3, R1);
		if (op == BPF_DIV)
			code_alu(g->code, BPF_XOR, R3, R2);
		negate_if_negative(g, R1, R1);
		negate_if_negative(g, R2, R2);
	}
	code_alu(g->code, op, R1, R2);
	if (is_signed)
		negate_if_negative(g, R1, R3);
	code_bind(g->code, done);
	gen_set(g, in->d, R1);
}

/* IEEE bits in R1, taken apart: R2 exponent, R3 mantissa with its leading one, R4 sign. */
static void split_float(struct emitter *g, bool wide, int mantissa)
{
	code_mov(g->code, R4, R1);
	code_alu_imm(g->code, BPF_RSH, R4, wide ? 63 : 31);
	code_alu_imm(g->code, BPF_AND, R4, 1);
	code_mov(g->code, R2, R1);
	code_alu_imm(g->code, BPF_RSH, R2, mantissa);
	code_alu_imm(g->code, BPF_AND, R2, wide ? 0x7ff : 0xff);
	code_mov(g->code, R3, R1);
	code_alu_imm(g->code, BPF_LSH, R3, 64 - mantissa);
	code_alu_imm(g->code, BPF_RSH, R3, 64 - mantissa);
	code_const(g->code, R5, INT64_C(1) << mantissa);
	code_alu(g->code, BPF_OR, R3, R5);
}

/* value = mantissa * 2^(exponent - bias - width), towards zero, in the registers of split_float.
 * eBPF has no floating-point operations. */
void gen_float_to_int(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	bool wide = in->imm == 8;
	int mantissa = wide ? 52 : 23, bias = wide ? 1023 : 127;
	int zero = code_label(c), large = code_label(c), sign = code_label(c);
	int done = code_label(c), bad = code_label(c);

	gen_get(g, R1, in->a);
	split_float(g, wide, mantissa);
	code_jump_imm(c, BPF_JLT, R2, bias, zero);
	code_jump_imm(c, BPF_JGE, R2, bias + 63, bad);
	code_jump_imm(c, BPF_JGE, R2, bias + mantissa, large);
	code_const(c, R5, bias + mantissa);
	code_alu(c, BPF_SUB, R5, R2);
	code_alu_imm(c, BPF_AND, R5, 63);
	code_alu(c, BPF_RSH, R3, R5);
	code_jump(c, sign);
	code_bind(c, large);
	code_alu_imm(c, BPF_SUB, R2, bias + mantissa);
	code_alu_imm(c, BPF_AND, R2, 63);
	code_alu(c, BPF_LSH, R3, R2);
	code_bind(c, sign);
	code_jump_imm(c, BPF_JEQ, R4, 0, done);
	code_alu_imm(c, BPF_NEG, R3, 0);
	code_jump(c, done);
	code_bind(c, bad); /* out of range, infinite, not a number: the smallest integer */
	code_const(c, R3, INT64_MIN);
	code_jump(c, done);
	code_bind(c, zero);
	code_const(c, R3, 0);
	code_bind(c, done);
	gen_set(g, in->d, R3);
}

/* ---- slots */

void gen_put_word(struct emitter *g, const struct insn *in)
{
	struct spill s = gen_slot(g, in->s);

	gen_get(g, R1, in->a);
	code_store(g->code, 8, spill_base(s), s.offset + (int32_t)in->imm, R1);
}

void gen_get_word(struct emitter *g, const struct insn *in)
{
	struct spill s = gen_slot(g, in->s);

	code_load(g->code, 8, R1, spill_base(s), s.offset + (int32_t)in->imm);
	gen_set(g, in->d, R1);
}

void gen_zero_slot(struct emitter *g, const struct insn *in)
{
	gen_zero(g, gen_slot(g, in->s), 0, slot_used(gen_slot_type(g, in->s)));
}

/* Copy all of slot t into a part of slot s, or a part of t into all of s. */
static void copy_slot(struct emitter *g, const struct insn *in, int32_t to, int32_t from,
		      uint16_t smaller)
{
	struct spill s = gen_slot(g, in->s), t = gen_slot(g, in->t);

	code_copy(g->code, spill_base(s), s.offset + to, spill_base(t), t.offset + from,
		  (uint32_t)type_memory(gen_slot_type(g, smaller)));
}

void gen_copy_slot(struct emitter *g, const struct insn *in)
{
	copy_slot(g, in, (int32_t)in->imm, 0, in->t);
}

void gen_copy_part(struct emitter *g, const struct insn *in)
{
	copy_slot(g, in, 0, (int32_t)in->imm, in->s);
}
