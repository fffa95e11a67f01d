/* Arithmetic, comparisons and conversions of 64-bit registers. */
#include "engine/bpf/gen.h"

/* Signed division needs care everywhere: eBPF has it only since 6.6, and the machine traps on
 * INT64_MIN / -1. So: divide the magnitudes, then put the sign back. */
static void magnitude(struct gen *g, int reg)
{
	int positive = code_label(g->code);

	code_jump_imm(g->code, BPF_JSGE, reg, 0, positive);
	code_alu_imm(g->code, BPF_NEG, reg, 0);
	code_bind(g->code, positive);
}

/* The sign of a quotient is that of a ^ b, of a remainder that of a. */
static void signed_divide(struct gen *g, bool remainder)
{
	int positive = code_label(g->code);

	code_mov(g->code, R3, R1);
	if (!remainder)
		code_alu(g->code, BPF_XOR, R3, R2);
	magnitude(g, R1);
	magnitude(g, R2);
	code_alu(g->code, remainder ? BPF_MOD : BPF_DIV, R1, R2);
	code_jump_imm(g->code, BPF_JSGE, R3, 0, positive);
	code_alu_imm(g->code, BPF_NEG, R1, 0);
	code_bind(g->code, positive);
}

/* x / 0 is 0 in eBPF already; x % 0 is x there, and 0 with us. */
static void divide(struct gen *g, const struct insn *in)
{
	bool remainder = in->op == OP_UMOD || in->op == OP_SMOD;
	int done = code_label(g->code), go = code_label(g->code);

	code_jump_imm(g->code, BPF_JNE, R2, 0, go);
	gen_fault(g, in, FAULT_DIVIDE);
	code_const(g->code, R1, 0);
	code_jump(g->code, done);
	code_bind(g->code, go);
	if (in->op == OP_SDIV || in->op == OP_SMOD)
		signed_divide(g, remainder);
	else
		code_alu(g->code, remainder ? BPF_MOD : BPF_DIV, R1, R2);
	code_bind(g->code, done);
}

static void compare(struct gen *g, int jump)
{
	int yes = code_label(g->code);

	code_const(g->code, R3, 1);
	code_jump_if(g->code, jump, R1, R2, yes);
	code_const(g->code, R3, 0);
	code_bind(g->code, yes);
	code_mov(g->code, R1, R3);
}

static void extend(struct gen *g, int64_t bytes, bool is_signed)
{
	int shift = 64 - 8 * (int)bytes;

	if (bytes >= 8 || bytes < 1)
		return;
	code_alu_imm(g->code, BPF_LSH, R1, shift);
	code_alu_imm(g->code, is_signed ? BPF_ARSH : BPF_RSH, R1, shift);
}

static void binary(struct gen *g, const struct insn *in)
{
	switch (in->op) {
	case OP_ADD: code_alu(g->code, BPF_ADD, R1, R2); break;
	case OP_SUB: code_alu(g->code, BPF_SUB, R1, R2); break;
	case OP_MUL: code_alu(g->code, BPF_MUL, R1, R2); break;
	case OP_AND: code_alu(g->code, BPF_AND, R1, R2); break;
	case OP_OR: code_alu(g->code, BPF_OR, R1, R2); break;
	case OP_XOR: code_alu(g->code, BPF_XOR, R1, R2); break;
	case OP_SHL: code_alu(g->code, BPF_LSH, R1, R2); break;
	case OP_SHR: code_alu(g->code, BPF_RSH, R1, R2); break;
	case OP_SAR: code_alu(g->code, BPF_ARSH, R1, R2); break;
	case OP_EQ: compare(g, BPF_JEQ); break;
	case OP_NE: compare(g, BPF_JNE); break;
	case OP_ULT: compare(g, BPF_JLT); break;
	case OP_ULE: compare(g, BPF_JLE); break;
	case OP_SLT: compare(g, BPF_JSLT); break;
	case OP_SLE: compare(g, BPF_JSLE); break;
	default: divide(g, in); break;
	}
}

void gen_number(struct gen *g, const struct insn *in)
{
	if (in->op == OP_CONST)
		code_const(g->code, R1, in->imm);
	else
		gen_get(g, R1, in->a);
	switch (in->op) {
	case OP_CONST:
	case OP_MOV: break;
	case OP_NEG: code_alu_imm(g->code, BPF_NEG, R1, 0); break;
	case OP_NOT: code_alu_imm(g->code, BPF_XOR, R1, -1); break;
	case OP_ZEXT: extend(g, in->imm, false); break;
	case OP_SEXT: extend(g, in->imm, true); break;
	case OP_SHL:
	case OP_SHR:
	case OP_SAR:
		gen_get(g, R2, in->b);
		code_alu_imm(g->code, BPF_AND, R2, 63);
		binary(g, in);
		break;
	default:
		gen_get(g, R2, in->b);
		binary(g, in);
		break;
	}
	gen_set(g, in->d, R1);
}

/* IEEE bits in R1, taken apart: R2 exponent, R3 mantissa with its leading one, R4 sign. */
static void split_float(struct gen *g, bool wide, int mantissa)
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

/* value = mantissa * 2^(exponent - bias - width), towards zero, in the registers of split_float. */
void gen_float_to_int(struct gen *g, const struct insn *in)
{
	bool wide = in->imm == 8;
	int mantissa = wide ? 52 : 23, bias = wide ? 1023 : 127;
	int zero = code_label(g->code), large = code_label(g->code), sign = code_label(g->code);
	int done = code_label(g->code), bad = code_label(g->code);

	gen_get(g, R1, in->a);
	split_float(g, wide, mantissa);
	code_jump_imm(g->code, BPF_JLT, R2, bias, zero);
	code_jump_imm(g->code, BPF_JGE, R2, bias + 63, bad);
	code_jump_imm(g->code, BPF_JGE, R2, bias + mantissa, large);
	code_const(g->code, R5, bias + mantissa);
	code_alu(g->code, BPF_SUB, R5, R2);
	code_alu_imm(g->code, BPF_AND, R5, 63);
	code_alu(g->code, BPF_RSH, R3, R5);
	code_jump(g->code, sign);
	code_bind(g->code, large);
	code_alu_imm(g->code, BPF_SUB, R2, bias + mantissa);
	code_alu_imm(g->code, BPF_AND, R2, 63);
	code_alu(g->code, BPF_LSH, R3, R2);
	code_bind(g->code, sign);
	code_jump_imm(g->code, BPF_JEQ, R4, 0, done);
	code_alu_imm(g->code, BPF_NEG, R3, 0);
	code_jump(g->code, done);
	code_bind(g->code, bad); /* out of range, infinite, not a number: the smallest integer */
	code_const(g->code, R3, INT64_MIN);
	code_jump(g->code, done);
	code_bind(g->code, zero);
	code_const(g->code, R3, 0);
	code_bind(g->code, done);
	gen_set(g, in->d, R3);
}
