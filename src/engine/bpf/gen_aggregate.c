/* What aggregates take in, and what a script can read of them. In all of this R0 is the value in
 * the map and R1 what it takes in. */
#include "engine/bpf/gen.h"

#include <errno.h>

#define EXTREME_ROUNDS 64

/* A cell has a word behind it that says it holds something; that of a sum counts, roughly, so that
 * adding 0 is seen, too. Ruins R2. */
void gen_mark_set(struct gen *g, const struct store *s)
{
	struct code *c = g->code;

	if (s->kind == STORE_HASH)
		return;
	if (s->def->value.kind != TYPE_SUM) {
		code_store_imm(c, 8, R0, (int)s->value_size, 1);
		return;
	}
	code_load(c, 8, R2, R0, (int)s->value_size);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_store(c, 8, R0, (int)s->value_size, R2);
}

/* R0 += offset of bucket R2; adds 1 there. */
static void add_bucket(struct gen *g, const struct store *s, uint32_t buckets)
{
	gen_limit(g, R2, (int32_t)buckets - 1);
	gen_mark_set(g, s);
	code_alu_imm(g->code, BPF_LSH, R2, 3);
	code_alu(g->code, BPF_ADD, R0, R2);
	code_const(g->code, R1, 1);
	code_atomic(g->code, BPF_ADD, R0, 0, R1);
}

/* R3 = number of the highest bit set in R1; ruins R4. */
static void highest_bit(struct gen *g)
{
	struct code *c = g->code;

	code_const(c, R3, 0);
	code_mov(c, R4, R1);
	for (int shift = 32; shift; shift /= 2) {
		int low = code_label(c);

		code_mov(c, R5, R4);
		code_alu_imm(c, BPF_RSH, R5, shift);
		code_jump_imm(c, BPF_JEQ, R5, 0, low);
		code_mov(c, R4, R5);
		code_alu_imm(c, BPF_ADD, R3, shift);
		code_bind(c, low);
	}
}

/* R2 = hist_bucket(R1): see program/histogram.c. */
static void find_hist_bucket(struct gen *g, const struct type *t)
{
	struct code *c = g->code;
	int done = code_label(c), small = code_label(c);

	if (t->is_signed) {
		code_const(c, R2, 0);
		code_jump_imm(c, BPF_JSLT, R1, 0, done);
	}
	code_jump_imm(c, BPF_JLT, R1, 2 << t->bits, small);
	highest_bit(g);
	code_alu_imm(c, BPF_SUB, R3, t->bits);
	code_alu_imm(c, BPF_AND, R3, 63);
	code_alu(c, BPF_RSH, R1, R3);
	code_alu_imm(c, BPF_AND, R1, (1 << t->bits) - 1);
	code_alu_imm(c, BPF_ADD, R3, 1);
	code_alu_imm(c, BPF_LSH, R3, t->bits);
	code_mov(c, R2, R3);
	code_alu(c, BPF_ADD, R2, R1);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_jump(c, done);
	code_bind(c, small);
	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_bind(c, done);
}

/* R2 = lhist_bucket(R1). */
static void find_lhist_bucket(struct gen *g, const struct type *t)
{
	struct code *c = g->code;
	int done = code_label(c), inside = code_label(c);
	uint32_t steps = lhist_buckets(t) - 2;

	code_const(c, R2, 0);
	code_const(c, R3, t->min);
	code_jump_if(c, BPF_JSLT, R1, R3, done);
	code_mov(c, R2, R1);
	code_alu(c, BPF_SUB, R2, R3);
	code_const(c, R3, t->step);
	code_alu(c, BPF_DIV, R2, R3);
	code_jump_imm(c, BPF_JLE, R2, (int32_t)steps, inside);
	code_const(c, R2, steps);
	code_bind(c, inside);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_bind(c, done);
}

/* Raise the stored extreme to R1 (already masked so that greater wins). */
static void raise_extreme(struct gen *g, const struct insn *in)
{
	struct code *c = g->code;
	int again = code_label(c), done = code_label(c);

	code_mov(c, R3, R0);
	code_store_imm(c, 8, R3, 8, 1);
	code_const(c, R5, EXTREME_ROUNDS);
	code_load(c, 8, R4, R3, 0);
	code_bind(c, again);
	code_jump_if(c, BPF_JGE, R4, R1, done);
	code_mov(c, R0, R4);
	code_atomic(c, BPF_CMPXCHG, R3, 0, R1);
	code_jump_if(c, BPF_JEQ, R0, R4, done);
	code_mov(c, R4, R0);
	code_alu_imm(c, BPF_SUB, R5, 1);
	code_jump_imm(c, BPF_JNE, R5, 0, again);
	gen_count(g, CONTROL_LOST_UPDATES);
	(void)in;
	code_bind(c, done);
}

void gen_take_in(struct gen *g, const struct insn *in, const struct store *s)
{
	const struct type *t = &s->def->value;
	struct code *c = g->code;

	if (t->kind == TYPE_COUNT)
		code_const(c, R1, 1);
	else
		gen_get(g, R1, in->a);
	switch (t->kind) {
	case TYPE_COUNT:
	case TYPE_SUM:
		gen_mark_set(g, s);
		code_atomic(c, BPF_ADD, R0, 0, R1);
		break;
	case TYPE_MIN:
	case TYPE_MAX:
		gen_mark_set(g, s);
		code_const(c, R2, (int64_t)extreme_mask(t));
		code_alu(c, BPF_XOR, R1, R2);
		raise_extreme(g, in);
		break;
	case TYPE_AVG:
	case TYPE_STATS:
		gen_mark_set(g, s);
		code_atomic(c, BPF_ADD, R0, 8, R1);
		code_const(c, R1, 1);
		code_atomic(c, BPF_ADD, R0, 0, R1);
		break;
	case TYPE_HIST:
		find_hist_bucket(g, t);
		add_bucket(g, s, hist_buckets(t->bits));
		break;
	case TYPE_LHIST:
		find_lhist_bucket(g, t);
		add_bucket(g, s, lhist_buckets(t));
		break;
	default: gen_fail(g, -EINVAL, "bad-program", "the map takes no aggregate"); break;
	}
}

/* Add one CPU's aggregate at R0 to what is being gathered: STACK_B value or total, STACK_C count,
 * STACK_D greatest. */
void gen_gather(struct gen *g, const struct type *t)
{
	struct code *c = g->code;
	int skip = code_label(c);

	code_load(c, 8, R1, R0, 0);
	if (t->kind == TYPE_MIN || t->kind == TYPE_MAX) {
		code_load(c, 8, R2, R0, 8);
		code_jump_imm(c, BPF_JEQ, R2, 0, skip);
		code_store_imm(c, 8, FRAME, STACK_C, 1);
		code_load(c, 8, R2, FRAME, STACK_B);
		code_jump_if(c, BPF_JGE, R2, R1, skip);
		code_store(c, 8, FRAME, STACK_B, R1);
	} else if (t->kind == TYPE_AVG) {
		code_load(c, 8, R2, FRAME, STACK_C);
		code_alu(c, BPF_ADD, R2, R1);
		code_store(c, 8, FRAME, STACK_C, R2);
		code_load(c, 8, R1, R0, 8);
		code_load(c, 8, R2, FRAME, STACK_B);
		code_alu(c, BPF_ADD, R2, R1);
		code_store(c, 8, FRAME, STACK_B, R2);
	} else {
		code_load(c, 8, R2, FRAME, STACK_B);
		code_alu(c, BPF_ADD, R2, R1);
		code_store(c, 8, FRAME, STACK_B, R2);
	}
	code_bind(c, skip);
}

/* R1 = what was gathered, as a script sees it. */
void gen_conclude(struct gen *g, const struct type *t)
{
	struct code *c = g->code;
	int done = code_label(c), positive = code_label(c);

	code_load(c, 8, R1, FRAME, STACK_B);
	if (t->kind == TYPE_MIN || t->kind == TYPE_MAX) {
		code_load(c, 8, R2, FRAME, STACK_C);
		code_jump_imm(c, BPF_JEQ, R2, 0, done);
		code_const(c, R2, (int64_t)extreme_mask(t));
		code_alu(c, BPF_XOR, R1, R2);
	} else if (t->kind == TYPE_AVG) {
		code_load(c, 8, R2, FRAME, STACK_C);
		if (t->is_signed) {
			code_jump_imm(c, BPF_JSGE, R1, 0, positive);
			code_alu_imm(c, BPF_NEG, R1, 0);
			code_alu(c, BPF_DIV, R1, R2);
			code_alu_imm(c, BPF_NEG, R1, 0);
			code_jump(c, done);
		}
		code_bind(c, positive);
		code_alu(c, BPF_DIV, R1, R2);
	}
	code_bind(c, done);
}
