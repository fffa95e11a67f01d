/* The frame around the operations: start and end of the program, the way through the clauses of a
 * site, scratch memory, registers and slots; and the table from operation to emitter. */
#include "engine/bpf/gen.h"

#include <errno.h>
#include <stdlib.h>

#define SCRATCH_TRIES 8
#define COPY_INLINE   128u /* bytes up to which copies are loads and stores */

int gen_base(struct home h)
{
	return h.in_scratch ? SCRATCH : FRAME;
}

void gen_get(struct gen *g, int dst, uint16_t reg)
{
	struct home h = g->frame->regs[reg];

	code_load(g->code, 8, dst, gen_base(h), h.offset);
}

void gen_set(struct gen *g, uint16_t reg, int src)
{
	struct home h;

	if (reg == REG_NO)
		return;
	h = g->frame->regs[reg];
	code_store(g->code, 8, gen_base(h), h.offset, src);
}

struct home gen_slot(const struct gen *g, uint16_t slot)
{
	return g->frame->slots[slot];
}

const struct type *gen_slot_type(const struct gen *g, uint16_t slot)
{
	return &g->clause->slots[slot].type;
}

void gen_address(struct gen *g, int dst, struct home h, int32_t more)
{
	code_mov(g->code, dst, gen_base(h));
	if (h.offset + more)
		code_alu_imm(g->code, BPF_ADD, dst, h.offset + more);
}

void gen_count(struct gen *g, uint32_t word)
{
	code_map_value(g->code, R1, g->world->control_fd, word * 8);
	code_const(g->code, R2, 1);
	code_atomic(g->code, BPF_ADD, R1, 0, R2);
}

void gen_fault(struct gen *g, const struct insn *in, int kind)
{
	if (in->place >= g->world->place_count)
		return;
	gen_count(g, CONTROL_FIXED_ + g->world->control_count + in->place * FAULT_KINDS +
			     (uint32_t)kind);
}

void gen_limit(struct gen *g, int reg, int32_t most)
{
	int fits = code_label(g->code);

	code_jump_imm(g->code, BPF_JLE, reg, most, fits);
	code_const(g->code, reg, most);
	code_bind(g->code, fits);
}

static void copy_words(struct gen *g, int to, int32_t to_at, int from, int32_t from_at,
		       uint32_t len)
{
	for (uint32_t at = 0; at < len; at += 8) {
		code_load(g->code, 8, R0, from, from_at + (int32_t)at);
		code_store(g->code, 8, to, to_at + (int32_t)at, R0);
	}
}

void gen_copy(struct gen *g, struct home to, int32_t to_more, struct home from, int32_t from_more,
	      uint32_t len)
{
	if (len <= COPY_INLINE) {
		copy_words(g, gen_base(to), to.offset + to_more, gen_base(from),
			   from.offset + from_more, len);
		return;
	}
	gen_address(g, R1, to, to_more);
	code_const(g->code, R2, len);
	gen_address(g, R3, from, from_more);
	code_call(g->code, BPF_FUNC_probe_read_kernel);
}

void gen_copy_to(struct gen *g, int to, int32_t offset, struct home from, int32_t from_more,
		 uint32_t len)
{
	if (len <= COPY_INLINE) {
		copy_words(g, to, offset, gen_base(from), from.offset + from_more, len);
		return;
	}
	code_mov(g->code, R1, to);
	code_alu_imm(g->code, BPF_ADD, R1, offset);
	code_const(g->code, R2, len);
	gen_address(g, R3, from, from_more);
	code_call(g->code, BPF_FUNC_probe_read_kernel);
}

void gen_zero(struct gen *g, struct home to, int32_t more, uint32_t len)
{
	if (len > COPY_INLINE) {
		gen_address(g, R1, to, more);
		code_const(g->code, R2, len);
		code_map_value(g->code, R3, g->world->zeros_fd, 0);
		code_call(g->code, BPF_FUNC_probe_read_kernel);
		return;
	}
	for (uint32_t at = 0; at < len; at += 8)
		code_store_imm(g->code, 8, gen_base(to), to.offset + more + (int32_t)at, 0);
}

void gen_fail(struct gen *g, int err, const char *tag, const char *text)
{
	if (!g->err)
		g->err = diag_error_at(g->diag, err, tag, g->clause->span, "%s", text);
}

/* A run of cases that go to the same label. */
struct range {
	uint32_t first;
	int label;
};

static void switch_between(struct gen *g, const struct range *ranges, uint32_t count)
{
	uint32_t half = count / 2;
	int upper;

	if (count == 1) {
		code_jump(g->code, ranges->label);
		return;
	}
	upper = code_label(g->code);
	code_jump_imm(g->code, BPF_JGE, R1, (int32_t)ranges[half].first, upper);
	switch_between(g, ranges, half);
	code_bind(g->code, upper);
	switch_between(g, ranges + half, count - half);
}

void gen_switch(struct gen *g, const int *labels)
{
	struct range *ranges = calloc(g->unit->case_count, sizeof(*ranges));
	uint32_t count = 0;

	if (!ranges) {
		g->code->failed = true;
		return;
	}
	for (uint32_t i = 0; i < g->unit->case_count; i++) {
		if (labels[i] < 0 || (count && ranges[count - 1].label == labels[i]))
			continue;
		ranges[count] = (struct range){count ? i : 0, labels[i]};
		count++;
	}
	if (count > 1) {
		code_load(g->code, 8, R1, FRAME, STACK_COOKIE);
		code_alu_imm(g->code, BPF_AND, R1, (1 << COOKIE_CASE_BITS) - 1);
	}
	if (count)
		switch_between(g, ranges, count);
	free(ranges);
}

/* Take one of the scratch entries near this CPU's own. The word at its start is 1 while it is
 * taken; exchanging it is safe whatever preempts us, and a program always gives it back. */
static void take_scratch(struct gen *g)
{
	struct code *c = g->code;
	int taken = code_label(c), again = code_label(c), next = code_label(c);

	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_mov(c, TMP, R0);
	code_alu_imm(c, BPF_MUL, TMP, SCRATCH_TRIES);
	code_const(c, TMP2, SCRATCH_TRIES);
	code_bind(c, again);
	code_alu_imm(c, BPF_AND, TMP, (int32_t)g->world->scratch_count - 1);
	code_store(c, 4, FRAME, STACK_KEY, TMP);
	code_map(c, R1, g->world->scratch_fd);
	code_mov(c, R2, FRAME);
	code_alu_imm(c, BPF_ADD, R2, STACK_KEY);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_jump_imm(c, BPF_JEQ, R0, 0, next);
	code_const(c, R1, 1);
	code_atomic(c, BPF_XCHG, R0, 0, R1);
	code_mov(c, SCRATCH, R0);
	code_jump_imm(c, BPF_JEQ, R1, 0, taken);
	code_bind(c, next);
	code_alu_imm(c, BPF_ADD, TMP, 1);
	code_alu_imm(c, BPF_SUB, TMP2, 1);
	code_jump_imm(c, BPF_JNE, TMP2, 0, again);
	gen_count(g, CONTROL_LOST_SCRATCH);
	code_jump(c, g->end);
	code_bind(c, taken);
}

/* What was written before must be seen before; x86 stores in order anyway. */
static void give_scratch(struct gen *g)
{
#if defined(__x86_64__)
	code_store_imm(g->code, 8, SCRATCH, 0, 0);
#else
	code_const(g->code, R1, 0);
	code_atomic(g->code, BPF_XCHG, SCRATCH, 0, R1);
#endif
}

static void gen_insn(struct gen *g, const struct insn *in, uint32_t at)
{
	switch (in->op) {
	case OP_CONST ... OP_SEXT: gen_number(g, in); break;
	case OP_F2I: gen_float_to_int(g, in); break;
	case OP_JUMP ... OP_RETURN: gen_flow(g, in, at); break;
	case OP_ARG: gen_arg(g, in); break;
	case OP_REG: gen_reg(g, in); break;
	case OP_FIELD: gen_field(g, in); break;
	case OP_BUILTIN: gen_builtin(g, in); break;
	case OP_LOAD: gen_load(g, in); break;
	case OP_PUT ... OP_PART: gen_memory(g, in); break;
	case OP_TEXT ... OP_STRCMP: gen_text(g, in); break;
	case OP_MAP_GET ... OP_AGGREGATE: gen_map(g, in); break;
	case OP_EMIT: gen_emit(g, in); break;
	default: gen_fail(g, -EINVAL, "bad-program", "unknown operation"); break;
	}
}

static bool note_place(struct gen *g, const struct insn *in, uint32_t *last)
{
	const struct span *s;

	if (in->place == *last || in->place >= g->program->place_count)
		return false;
	*last = in->place;
	s = &g->program->places[in->place];
	if (!s->source.ptr || s->at + s->len > s->source.len || !s->len)
		return false;
	code_note(g->code, str_of(s->source.ptr + s->at, s->len));
	return true;
}

void gen_range(struct gen *g, uint32_t from, uint32_t to)
{
	const struct clause *c = g->clause;
	uint32_t last = UINT32_MAX;

	for (uint32_t i = from; i < to && !g->err; i++) {
		code_bind(g->code, g->labels[i]);
		note_place(g, &c->code[i], &last);
		if (c->code[i].op == OP_LOOP && g->world->loops == LOOPS_CALLED) {
			gen_loop_call(g, &c->code[i], i);
			i = c->code[i].target - 1; /* its OP_NEXT */
		} else {
			gen_insn(g, &c->code[i], i);
		}
	}
}

static int gen_body(struct gen *g)
{
	const struct clause *c = g->clause;
	int done = code_label(g->code), skipped = g->end;

	g->labels = calloc(c->insn_count + 1, sizeof(*g->labels));
	if (!g->labels)
		return g->err = -ENOMEM;
	for (uint32_t i = 0; i <= c->insn_count; i++)
		g->labels[i] = code_label(g->code);
	if (g->frame->scratch)
		take_scratch(g);
	g->end = done;
	gen_range(g, 0, c->insn_count);
	code_bind(g->code, g->labels[c->insn_count]);
	code_bind(g->code, done);
	if (g->frame->scratch)
		give_scratch(g);
	code_bind(g->code, skipped);
	free(g->labels);
	return g->err;
}

/* Label of the clause that a case goes to after `step` steps, or the end. */
static int step_label(const struct unit_case *c, uint32_t step, const int *entries, int end)
{
	return step < c->step_count ? entries[c->steps[step].clause] : end;
}

static void go_to_first(struct gen *g, const int *entries, int *labels, int end)
{
	for (uint32_t i = 0; i < g->unit->case_count; i++)
		labels[i] = step_label(&g->unit->cases[i], 0, entries, end);
	gen_switch(g, labels);
}

static void go_to_next(struct gen *g, const int *entries, int *labels, int end)
{
	for (uint32_t i = 0; i < g->unit->case_count; i++) {
		const struct unit_case *c = &g->unit->cases[i];

		labels[i] = -1;
		for (uint32_t s = 0; s < c->step_count; s++)
			if (c->steps[s].clause == g->clause_number)
				labels[i] = step_label(c, s + 1, entries, end);
	}
	gen_switch(g, labels);
}

/* To `out` when the event is none of ours, to `end` when the run is over. */
static void gen_start(struct gen *g, int out, int end)
{
	const struct unit *u = g->unit;

	code_mov(g->code, CTX, R1);
	if (u->kind != UNIT_RUN) {
		gen_pid_filter(g, out);
		gen_enter(g, end);
	}
	if (!unit_needs_cookie(u))
		return;
	code_mov(g->code, R1, CTX);
	code_call(g->code, BPF_FUNC_get_attach_cookie);
	code_store(g->code, 8, FRAME, STACK_COOKIE, R0);
}

static bool unit_has(const struct unit *u, uint32_t clause)
{
	for (uint32_t i = 0; i < u->case_count; i++)
		for (uint32_t s = 0; s < u->cases[i].step_count; s++)
			if (u->cases[i].steps[s].clause == clause)
				return true;
	return false;
}

static int gen_clauses(struct gen *g, const struct frame *frames, int *entries, int *labels,
		       int end)
{
	const struct program *p = g->program;
	int out = code_label(g->code);

	for (uint32_t i = 0; i < p->clause_count; i++)
		entries[i] = code_label(g->code);
	gen_start(g, out, end);
	go_to_first(g, entries, labels, end);
	for (uint32_t i = 0; i < p->clause_count && !g->err; i++) {
		if (!unit_has(g->unit, i))
			continue;
		g->clause = &p->clauses[i];
		g->clause_number = i;
		g->frame = &frames[i];
		g->end = code_label(g->code);
		code_bind(g->code, entries[i]);
		if (gen_body(g))
			break;
		go_to_next(g, entries, labels, end);
	}
	for (uint32_t i = 0; i < p->clause_count; i++)
		if (!unit_has(g->unit, i))
			code_bind(g->code, entries[i]);
	code_bind(g->code, end);
	if (g->unit->kind != UNIT_RUN)
		gen_leave(g);
	code_bind(g->code, out);
	code_const(g->code, R0, 0);
	code_exit(g->code);
	gen_loop_bodies(g, frames);
	return g->err ? g->err : g->code->failed ? -ENOMEM : 0;
}

int gen_unit(const struct gen_world *w, const struct unit *u, const struct frame *frames,
	     struct code *code, struct diag *d)
{
	struct gen g = {.code = code, .world = w, .unit = u, .program = u->program, .diag = d};
	int *entries = calloc(u->program->clause_count + 1, sizeof(*entries));
	int *labels = calloc(u->case_count + 1, sizeof(*labels));
	int err = -ENOMEM;

	if (entries && labels)
		err = gen_clauses(&g, frames, entries, labels, code_label(code));
	free(g.bodies);
	free(entries);
	free(labels);
	return err;
}
