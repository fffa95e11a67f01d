/* What aggregates take in, and what a script can read of them. Throughout, R0 is the address of
 * the value in the map and R1 the number it takes in.
 *
 *	count, sum	n
 *	bit_or		all n | each other
 *	min, max	extreme ^ mask (greater always wins) | 1: there is one
 *	avg, stats	count | total
 *	hist, lhist	a counter for each bucket */
#include "engine/bpf/gen/map_entry.h"

#include <errno.h>

/* The verifier must see that the loop ends. Who loses the race so often is counted as lost. */
#define EXTREME_ROUNDS 64

/* The word after a cell says that it holds something. That of a sum counts, if roughly, so that
 * adding 0 is seen, too: a cell that is cleared by remembering its words (store_map.h) must change
 * with each event. It is written after the value: an atomic instruction would wait for it. Ruins
 * R2. */
void gen_mark_set(struct emitter *g, const struct store *s)
{
	const struct aggregation *a = type_aggregation(&s->def->value);
	struct code *c = g->code;

	if (s->kind == STORE_HASH)
		return;
	if (!a || a->takes != TAKES_NUMBER || a->join != JOIN_ADD) {
		code_store_imm(c, 8, R0, (int)s->value_size, 1);
		return;
	}
	code_load(c, 8, R2, R0, (int)s->value_size);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_store(c, 8, R0, (int)s->value_size, R2);
}

/* Add 1 to bucket R2. */
static void add_bucket(struct emitter *g, uint32_t buckets)
{
	code_limit(g->code, R2, (int32_t)buckets - 1);
	code_alu_imm(g->code, BPF_LSH, R2, 3);
	code_alu(g->code, BPF_ADD, R2, R0);
	code_const(g->code, R1, 1);
	code_atomic(g->code, BPF_ADD, R2, 0, R1);
}

/* R2 = hist_bucket(R1): see program/numbers.h. */
static void find_hist_bucket(struct emitter *g, const struct type *t)
{
	struct code *c = g->code;
	int done = code_label(c), small = code_label(c);

	if (t->is_signed) {
		code_const(c, R2, 0);
		code_jump_imm(c, BPF_JSLT, R1, 0, done);
	}
	code_jump_imm(c, BPF_JLT, R1, 2 << t->bits, small);
	code_const(c, R3, 0); /* it becomes the number of the highest bit set in R1 */
	code_mov(c, R4, R1);
	/* Without branches, of which the verifier would follow all 64 ways: the upper half of R4,
	 * negated, has its highest bit set unless it is 0. */
	for (int step = 5; step >= 0; step--) {
		code_mov(c, R5, R4);
		code_alu_imm(c, BPF_RSH, R5, 1 << step);
		code_alu_imm(c, BPF_NEG, R5, 0);
		code_alu_imm(c, BPF_RSH, R5, 63);
		code_alu_imm(c, BPF_LSH, R5, step);
		code_alu(c, BPF_RSH, R4, R5);
		code_alu(c, BPF_ADD, R3, R5);
	}
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
static void find_lhist_bucket(struct emitter *g, const struct type *t)
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

/* Raise the stored extreme to R1, which is masked so that greater wins. Other CPUs and programs
 * that preempt this one may raise it, too: compare and exchange until it succeeds. */
static void raise_extreme(struct emitter *g)
{
	struct code *c = g->code;
	int done = code_label(c), again;

	code_mov(c, R3, R0);
	code_const(c, R5, EXTREME_ROUNDS);
	code_load(c, 8, R4, R3, 0);
	again = code_here(c);
	code_jump_if(c, BPF_JGE, R4, R1, done);
	code_mov(c, R0, R4);
	code_atomic(c, BPF_CMPXCHG, R3, 0, R1);
	code_jump_if(c, BPF_JEQ, R0, R4, done);
	code_mov(c, R4, R0);
	code_alu_imm(c, BPF_SUB, R5, 1);
	code_jump_imm(c, BPF_JNE, R5, 0, again);
	gen_count(g, CONTROL_LOST_UPDATES);
	code_bind(c, done);
	code_mov(c, R0, R3);
	code_store_imm(c, 8, R0, 8, 1);
}

/* One word takes in R1. */
static void join_word(struct emitter *g, const struct type *t)
{
	struct code *c = g->code;

	switch (type_aggregation(t)->join) {
	case JOIN_ADD: code_atomic(c, BPF_ADD, R0, 0, R1); break;
	case JOIN_OR: code_atomic(c, BPF_OR, R0, 0, R1); break;
	case JOIN_LEAST:
	case JOIN_MOST:
		code_const(c, R2, (int64_t)extreme_mask(t));
		code_alu(c, BPF_XOR, R1, R2);
		raise_extreme(g);
	}
}

void gen_take_in(struct emitter *g, const struct insn *in, const struct store *s)
{
	const struct type *t = &s->def->value;
	const struct aggregation *a = type_aggregation(t);
	struct code *c = g->code;

	if (!a) {
		gen_fail(g, -EINVAL, "bad-program", "the map takes no aggregate");
		return;
	}
	if (a->takes == TAKES_ONE)
		code_const(c, R1, 1);
	else
		gen_get(g, R1, in->a);
	switch (a->takes) {
	case TAKES_ONE:
	case TAKES_NUMBER: join_word(g, t); break;
	case TAKES_BOTH:
		code_atomic(c, BPF_ADD, R0, 8, R1);
		code_const(c, R1, 1);
		code_atomic(c, BPF_ADD, R0, 0, R1);
		break;
	case TAKES_HIST:
		find_hist_bucket(g, t);
		add_bucket(g, hist_buckets(t->bits));
		break;
	case TAKES_LHIST:
		find_lhist_bucket(g, t);
		add_bucket(g, lhist_buckets(t));
		break;
	}
	gen_mark_set(g, s);
}

/* The word at `to` of the stack += R1; ruins R2. */
static void add_to_stack(struct emitter *g, int to)
{
	code_load(g->code, 8, R2, FRAME, to);
	code_alu(g->code, BPF_ADD, R2, R1);
	code_store(g->code, 8, FRAME, to, R2);
}

/* Add one CPU's aggregate at R0 to what is gathered: STACK_B extreme or total, STACK_C count. */
void gen_gather(struct emitter *g, const struct type *t)
{
	const struct aggregation *a = type_aggregation(t);
	struct code *c = g->code;
	int skip = code_label(c);

	code_load(c, 8, R1, R0, 0);
	if (join_has_first(a->join)) {
		code_load(c, 8, R2, R0, 8);
		code_jump_imm(c, BPF_JEQ, R2, 0, skip);
		code_store_imm(c, 8, FRAME, STACK_C, 1);
		code_load(c, 8, R2, FRAME, STACK_B);
		code_jump_if(c, BPF_JGE, R2, R1, skip);
		code_store(c, 8, FRAME, STACK_B, R1);
	} else if (a->join == JOIN_OR) {
		code_load(c, 8, R2, FRAME, STACK_B);
		code_alu(c, BPF_OR, R1, R2);
		code_store(c, 8, FRAME, STACK_B, R1);
	} else if (a->takes == TAKES_BOTH) {
		add_to_stack(g, STACK_C);
		code_load(c, 8, R1, R0, 8);
		add_to_stack(g, STACK_B);
	} else {
		add_to_stack(g, STACK_B);
	}
	code_bind(c, skip);
}

/* R1 = what was gathered, as a script sees it. Before the first value an average is 0: in eBPF a
 * division by 0 is. Signed division is younger than other instructions (6.6), so a negative total
 * is divided as a positive one. */
void gen_conclude(struct emitter *g, const struct type *t)
{
	const struct aggregation *a = type_aggregation(t);
	struct code *c = g->code;
	int done = code_label(c), positive = code_label(c);

	code_load(c, 8, R1, FRAME, STACK_B);
	if (join_has_first(a->join)) {
		code_load(c, 8, R2, FRAME, STACK_C);
		code_jump_imm(c, BPF_JEQ, R2, 0, done);
		code_const(c, R2, (int64_t)extreme_mask(t));
		code_alu(c, BPF_XOR, R1, R2);
	} else if (a->takes == TAKES_BOTH) {
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

/* R1 = what bucket R2 of hist() stands for: aggregate_percentile(). */
static void find_hist_middle(struct emitter *g, const struct type *t)
{
	struct code *c = g->code;
	int done = code_label(c);

	code_const(c, R1, -1);
	code_jump_imm(c, BPF_JEQ, R2, 0, done);
	code_alu_imm(c, BPF_SUB, R2, 1);
	code_mov(c, R1, R2);
	code_jump_imm(c, BPF_JLT, R2, 2 << t->bits, done);
	code_alu_imm(c, BPF_AND, R1, (1 << t->bits) - 1);
	code_alu_imm(c, BPF_ADD, R1, 1 << t->bits);
	code_alu_imm(c, BPF_RSH, R2, t->bits);
	code_alu_imm(c, BPF_SUB, R2, 1);
	code_alu_imm(c, BPF_AND, R2, 63);
	code_alu(c, BPF_LSH, R1, R2);
	code_const(c, R3, 1); /* half of what the bucket is wide */
	code_alu(c, BPF_LSH, R3, R2);
	code_alu_imm(c, BPF_SUB, R3, 1);
	code_alu_imm(c, BPF_RSH, R3, 1);
	code_alu(c, BPF_ADD, R1, R3);
	code_bind(c, done);
}

static void find_lhist_middle(struct emitter *g, const struct type *t)
{
	struct code *c = g->code;
	int done = code_label(c);
	int32_t buckets = (int32_t)lhist_buckets(t);

	code_const(c, R1, (int64_t)((uint64_t)t->min - 1));
	code_jump_imm(c, BPF_JEQ, R2, 0, done);
	code_mov(c, R3, R2);
	code_alu_imm(c, BPF_SUB, R2, 1);
	code_const(c, R1, t->step);
	code_alu(c, BPF_MUL, R1, R2);
	code_const(c, R2, t->min);
	code_alu(c, BPF_ADD, R1, R2);
	code_jump_imm(c, BPF_JGE, R3, buckets - 1, done);
	code_const(c, R2, (int64_t)(((uint64_t)t->step - 1) / 2));
	code_alu(c, BPF_ADD, R1, R2);
	code_bind(c, done);
}

/* Two walks over the buckets: how many values there are, and in which bucket the wanted one is. No
 * round branches on a count, so that the verifier follows one path. */
void gen_percentile(struct emitter *g, const struct type *t, int64_t millionths)
{
	struct code *c = g->code;
	int32_t buckets = (int32_t)(type_memory(t) / 8);
	int none = code_label(c), again;

	code_const(c, R1, 0);
	code_const(c, R3, 0);
	code_mov(c, R2, R0);
	again = code_here(c);
	code_load(c, 8, R4, R2, 0);
	code_alu(c, BPF_ADD, R1, R4);
	code_alu_imm(c, BPF_ADD, R2, 8);
	code_alu_imm(c, BPF_ADD, R3, 1);
	code_jump_imm(c, BPF_JLT, R3, buckets, again);
	code_jump_imm(c, BPF_JEQ, R1, 0, none);
	code_alu_imm(c, BPF_MUL, R1, (int32_t)millionths); /* R1 becomes its rank */
	code_alu_imm(c, BPF_ADD, R1, MILLION - 1);
	code_alu_imm(c, BPF_DIV, R1, MILLION);
	code_const(c, R2, 0); /* its bucket: how many have fewer values up to them */
	code_const(c, R3, 0);
	code_const(c, R5, 0);
	again = code_here(c);
	code_load(c, 8, R4, R0, 0);
	code_alu(c, BPF_ADD, R5, R4);
	code_mov(c, R4, R5);
	code_alu(c, BPF_SUB, R4, R1);
	code_alu_imm(c, BPF_RSH, R4, 63);
	code_alu(c, BPF_ADD, R2, R4);
	code_alu_imm(c, BPF_ADD, R0, 8);
	code_alu_imm(c, BPF_ADD, R3, 1);
	code_jump_imm(c, BPF_JLT, R3, buckets, again);
	code_limit(g->code, R2, buckets - 1);
	if (type_aggregation(t)->takes == TAKES_HIST)
		find_hist_middle(g, t);
	else
		find_lhist_middle(g, t);
	code_bind(c, none);
}
