/* Loops that are calls of bpf_loop, for kernels without may_goto: the body is a function, which the
 * verifier follows once and not round by round. Values live in scratch memory (see frame.c), so the
 * function needs only to be given where that is, and the context, by way of its caller's stack:
 *
 *   caller's stack   -8 cookie ... -56 context, -64 scratch memory <- passed to the function
 *
 * Ways out of the body (break, return, exit) leave the number of the instruction to go on at, plus
 * 1, in the loop's own word and return 1, which ends bpf_loop. A jump out of several loops is
 * passed on by each of them. */
#include "engine/bpf/gen.h"

#include <errno.h>
#include <stdlib.h>

#define ROUNDS_MOST (1 << 23) /* of bpf_loop */

static bool is_jump(const struct insn *in)
{
	return in->op == OP_JUMP || in->op == OP_JUMP_IF || in->op == OP_JUMP_NOT;
}

/* Where the jumps of [from, to) that leave it go: marks by instruction number. NULL: no memory. */
static bool *find_ways_out(struct gen *g, uint32_t from, uint32_t to)
{
	const struct clause *c = g->clause;
	bool *out = calloc(c->insn_count + 1, sizeof(*out));

	for (uint32_t i = from; out && i < to; i++) {
		int64_t target = c->code[i].imm;

		if (is_jump(&c->code[i]) && (target < from || target > to))
			out[target] = true;
	}
	if (!out)
		g->code->failed = true;
	return out;
}

static void save_for_body(struct gen *g)
{
	code_store(g->code, 8, FRAME, STACK_CTX, CTX);
	code_store(g->code, 8, FRAME, STACK_SCRATCH, SCRATCH);
}

static int add_body(struct gen *g, uint32_t from, uint32_t to)
{
	uint32_t cap = g->body_cap ? 2 * g->body_cap : 8;
	int label = code_label(g->code);
	struct loop_body *more;

	if (g->body_count == g->body_cap) {
		more = reallocarray(g->bodies, cap, sizeof(*more));
		if (!more) {
			g->code->failed = true;
			return label;
		}
		g->bodies = more;
		g->body_cap = cap;
	}
	g->bodies[g->body_count++] = (struct loop_body){g->clause_number, from, to, label};
	return label;
}

/* Go on where the body wanted to; the end of the clause is the instruction behind its last. */
static void follow_ways_out(struct gen *g, uint32_t from, uint32_t to, struct home word)
{
	struct code *c = g->code;
	bool *out = find_ways_out(g, from, to);
	int none = code_label(c);

	code_load(c, 8, R1, gen_base(word), word.offset);
	code_jump_imm(c, BPF_JEQ, R1, 0, none);
	for (uint32_t i = 0; out && i < g->clause->insn_count; i++)
		if (out[i])
			code_jump_imm(c, BPF_JEQ, R1, (int32_t)i + 1, g->labels[i]);
	code_jump(c, g->end);
	code_bind(c, none);
	free(out);
}

void gen_loop_call(struct gen *g, const struct insn *in, uint32_t at)
{
	struct code *c = g->code;
	struct home word = g->frame->counters[at];
	uint32_t next = in->target - 1;

	code_store_imm(c, 8, gen_base(word), word.offset, 0);
	save_for_body(g);
	code_const(c, R1, in->imm < ROUNDS_MOST ? in->imm : ROUNDS_MOST);
	code_function(c, R2, add_body(g, at + 1, next));
	gen_address(g, R3, (struct home){false, STACK_SCRATCH}, 0);
	code_const(c, R4, 0);
	code_call(c, FUNC_LOOP);
	follow_ways_out(g, at + 1, next, word);
	gen_count(g, CONTROL_LOOP_LIMITS);
	gen_fault(g, &g->clause->code[next], FAULT_LOOP_LIMIT);
}

/* R1 = number of the round, R2 = what save_for_body() left. */
static void start_body(struct gen *g)
{
	struct code *c = g->code;

	code_load(c, 8, CTX, R2, STACK_CTX - STACK_SCRATCH);
	code_load(c, 8, SCRATCH, R2, 0);
	if (unit_needs_cookie(g->unit)) {
		code_load(c, 8, R1, R2, STACK_COOKIE - STACK_SCRATCH);
		code_store(c, 8, FRAME, STACK_COOKIE, R1);
	}
}

/* Leave the loop and go on at an instruction. */
static void leave_at(struct gen *g, int label, struct home word, uint32_t insn)
{
	code_bind(g->code, label);
	code_store_imm(g->code, 8, gen_base(word), word.offset, (int32_t)insn + 1);
	code_const(g->code, R0, 1);
	code_exit(g->code);
}

static void gen_loop_body(struct gen *g, const struct loop_body *b)
{
	struct home word = g->frame->counters[b->from - 1];
	bool *out = find_ways_out(g, b->from, b->to);
	uint32_t count = g->clause->insn_count;

	g->labels = calloc(count + 1, sizeof(*g->labels));
	if (!out || !g->labels) {
		g->code->failed = true;
	} else {
		for (uint32_t i = 0; i <= count; i++)
			g->labels[i] = code_label(g->code);
		g->end = code_label(g->code);
		code_bind(g->code, b->label);
		start_body(g);
		gen_range(g, b->from, b->to);
		code_bind(g->code, g->labels[b->to]);
		code_const(g->code, R0, 0);
		code_exit(g->code);
		for (uint32_t i = 0; i < count; i++)
			if (out[i])
				leave_at(g, g->labels[i], word, i);
		if (out[count])
			code_bind(g->code, g->labels[count]);
		leave_at(g, g->end, word, count);
	}
	free(g->labels);
	free(out);
}

void gen_loop_bodies(struct gen *g, const struct frame *frames)
{
	for (uint32_t i = 0; i < g->body_count && !g->err && !g->code->failed; i++) {
		const struct loop_body body = g->bodies[i];

		g->clause = &g->program->clauses[body.clause];
		g->clause_number = body.clause;
		g->frame = &frames[body.clause];
		gen_loop_body(g, &body);
	}
}
