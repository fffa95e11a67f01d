/* Jumps and bounded loops. A loop is jumps where the kernel has may_goto, or where the verifier
 * follows every round. Else it is a call of bpf_loop: the body is a function, which the verifier
 * follows once. Values are in scratch memory then (frame.c), so the function needs only the
 * context and the address of the scratch memory. bpf_loop passes one pointer to it, to
 * STACK_SCRATCH of the caller:
 *
 *	caller's stack		function
 *	-8   STACK_COOKIE	copied to its own
 *	...
 *	-56  STACK_CTX		-> CTX
 *	-64  STACK_SCRATCH	-> SCRATCH	<- passed in R2
 *
 * A jump out of the body (break, return, exit) stores the index of the instruction to continue at,
 * plus 1, in the loop's counter and returns 1, which ends bpf_loop; after the call the caller jumps
 * there. A jump out of several loops is passed on by each of them.
 *
 * A loop over a map is always a call, of the helper that walks a map, with the same stack. */
#include "engine/bpf/gen/loops.h"

#include <stdlib.h>

#include "engine/bpf/gen/map_entry.h"

#define ROUNDS_MOST (1 << 23) /* of bpf_loop, which refuses more */

void gen_jump(struct emitter *g, const struct insn *in)
{
	code_jump(g->code, g->labels[in->imm]);
}

void gen_branch(struct emitter *g, const struct insn *in)
{
	gen_get(g, R1, in->a);
	code_jump_imm(g->code, in->op == OP_JUMP_IF ? BPF_JNE : BPF_JEQ, R1, 0, g->labels[in->imm]);
}

/* The counter of a loop runs down. */
void gen_loop(struct emitter *g, const struct insn *in)
{
	struct spill counter = g->frame->counters[in - g->clause->code];

	code_const(g->code, R1, in->imm);
	code_store(g->code, 8, spill_base(counter), counter.offset, R1);
}

/* The end of the OP_LOOP at in->target. Without may_goto the verifier follows all rounds, up to its
 * own limit. */
void gen_next(struct emitter *g, const struct insn *in)
{
	struct spill counter = g->frame->counters[in->target];
	int end = code_label(g->code);

	code_load(g->code, 8, R1, spill_base(counter), counter.offset);
	code_alu_imm(g->code, BPF_SUB, R1, 1);
	code_store(g->code, 8, spill_base(counter), counter.offset, R1);
	code_jump_imm(g->code, BPF_JEQ, R1, 0, end);
	if (g->world->loops == LOOPS_MAY_GOTO)
		code_may_goto(g->code, end);
	code_jump(g->code, g->labels[in->target + 1]);
	code_bind(g->code, end);
	gen_count(g, CONTROL_LOOP_LIMITS);
	gen_fault(g, in, FAULT_LOOP_LIMIT);
}

void gen_return(struct emitter *g, const struct insn *in)
{
	(void)in;
	code_jump(g->code, g->end);
}

/* ---- bpf_loop */

/* The targets of jumps that leave [from, to): marks by instruction. NULL: no memory. */
static bool *find_exits(struct emitter *g, uint32_t from, uint32_t to)
{
	const struct clause *c = g->clause;
	bool *out = calloc(c->insn_count + 1, sizeof(*out));

	for (uint32_t i = from; out && i < to; i++) {
		const struct insn *in = &c->code[i];
		bool jumps = in->op == OP_JUMP || in->op == OP_JUMP_IF || in->op == OP_JUMP_NOT;

		if (jumps && (in->imm < from || in->imm > to))
			out[in->imm] = true;
	}
	if (!out)
		g->code->failed = true;
	return out;
}

/* Label of the function made of the body of the loop at `at`. */
static int add_body(struct emitter *g, uint32_t at, const struct store_map *map)
{
	int label = code_label(g->code);

	if (array_grow(g->bodies, g->body_count, g->body_cap))
		g->code->failed = true;
	else
		g->bodies[g->body_count++] = (struct loop_body){
			g->clause_number, at + 1, g->clause->code[at].target - 1, label, map,
			g->in_map || map};
	return label;
}

/* What the function gets, and the word that it leaves. */
static void before_call(struct emitter *g, struct spill word)
{
	code_store_imm(g->code, 8, spill_base(word), word.offset, 0);
	code_store(g->code, 8, FRAME, STACK_CTX, CTX);
	code_store(g->code, 8, FRAME, STACK_SCRATCH, SCRATCH);
}

/* Continue where the body wanted to; the end of the clause is the instruction after its last. */
static void after_call(struct emitter *g, uint32_t at)
{
	struct code *c = g->code;
	struct spill word = g->frame->counters[at];
	bool *out = find_exits(g, at + 1, g->clause->code[at].target - 1);
	int none = code_label(c);

	code_load(c, 8, R1, spill_base(word), word.offset);
	code_jump_imm(c, BPF_JEQ, R1, 0, none);
	for (uint32_t i = 0; out && i < g->clause->insn_count; i++)
		if (out[i])
			code_jump_imm(c, BPF_JEQ, R1, (int32_t)i + 1, g->labels[i]);
	code_jump(c, g->end);
	code_bind(c, none);
	free(out);
}

void gen_loop_call(struct emitter *g, const struct insn *in, uint32_t at)
{
	struct code *c = g->code;

	before_call(g, g->frame->counters[at]);
	code_const(c, R1, in->imm < ROUNDS_MOST ? in->imm : ROUNDS_MOST);
	code_function(c, R2, add_body(g, at, NULL));
	code_helper(c, FUNC_LOOP, REG(R1), REG(R2), SUM(FRAME, STACK_SCRATCH), IMM(0));
	after_call(g, at);
	/* Nothing jumped out: the loop has used up its rounds. */
	gen_count(g, CONTROL_LOOP_LIMITS);
	gen_fault(g, &g->clause->code[in->target - 1], FAULT_LOOP_LIMIT);
}

/* A store with two hashes has two functions, because short keys lie differently in memory. */
static void call_each(struct emitter *g, uint32_t at, const struct store *s)
{
	const struct store_map *maps[] = {&s->map, &s->long_map};

	for (unsigned i = 0; i < 2 && maps[i]->fd >= 0; i++) {
		gen_take_map(g, maps[i]);
		code_function(g->code, R2, add_body(g, at, maps[i]));
		code_helper(g->code, FUNC_FOR_EACH, REG(R1), REG(R2), SUM(FRAME, STACK_SCRATCH),
			    IMM(0));
		after_call(g, at);
	}
}

void gen_each_call(struct emitter *g, const struct insn *in, uint32_t at)
{
	const struct store *s = &g->world->stores[in->map];
	int done, twin;

	before_call(g, g->frame->counters[at]);
	if (!s->twin) {
		call_each(g, at, s);
		return;
	}
	done = code_label(g->code);
	twin = gen_twin(g, s);
	call_each(g, at, s);
	code_jump(g->code, done);
	code_bind(g->code, twin);
	call_each(g, at, s->twin);
	code_bind(g->code, done);
}

/* Leave the loop and continue at an instruction. */
static void leave_at(struct emitter *g, int label, struct spill word, uint32_t insn)
{
	code_bind(g->code, label);
	code_store_imm(g->code, 8, spill_base(word), word.offset, (int32_t)insn + 1);
	code_const(g->code, R0, 1);
	code_exit(g->code);
}

/* In: of bpf_loop, R1 is the number of the round and R2 the address of STACK_SCRATCH of the caller;
 * of the helper that walks a map, R2 is the key, R3 the value and R4 that address. */
static void gen_loop_body(struct emitter *g, const struct loop_body *b)
{
	struct code *c = g->code;
	struct spill word = g->frame->counters[b->from - 1];
	bool *out = find_exits(g, b->from, b->to);
	uint32_t count = g->clause->insn_count;
	int caller = b->map ? R4 : R2;

	g->in_map = b->in_map;
	if (gen_make_labels(g) && out) {
		g->end = code_label(g->code);
		code_bind(g->code, b->label);
		code_load(c, 8, CTX, caller, STACK_CTX - STACK_SCRATCH);
		code_load(c, 8, SCRATCH, caller, 0);
		if (unit_needs_cookie(g->unit)) {
			code_load(c, 8, R1, caller, STACK_COOKIE - STACK_SCRATCH);
			code_store(c, 8, FRAME, STACK_COOKIE, R1);
		}
		if (b->map) {
			code_mov(c, TMP, R2);
			code_mov(c, TMP2, R3);
			gen_take_entry(g, &g->clause->code[b->from - 1], b->map);
		}
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

void gen_loop_bodies(struct emitter *g, const struct frame *frames)
{
	for (size_t i = 0; i < g->body_count && !g->err && !g->code->failed; i++) {
		const struct loop_body body = g->bodies[i]; /* a copy: the array grows */

		g->clause = &g->program->clauses[body.clause];
		g->clause_number = body.clause;
		g->frame = &frames[body.clause];
		gen_loop_body(g, &body);
	}
	g->in_map = false;
}
