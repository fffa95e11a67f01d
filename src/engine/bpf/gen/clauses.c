/* What is around the operations: start and end of the program, the way through the clauses of a
 * site, scratch memory, registers and slots; and the table from operations to emitters. */
#include "engine/bpf/gen/loops.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/bpf/gen/map_entry.h"
#include "program/op.h"

#define ITER_OBJECT   8 /* where the pointer to the object is, after that to the iteration */
#define SCRATCH_TRIES 8 /* entries that a run looks at; there are at least 8 for each CPU */

/* Take one of the scratch entries near this CPU's own; when all of them are taken, the run is
 * counted as lost. Per-CPU memory would not do: programs on uprobes are preemptible and may sleep,
 * so that several of them run on one CPU at once. The word at an entry's start is 1 while it is
 * taken; the exchange is safe under preemption, and every path out of the clause leads to
 * give_scratch(). */
static void take_scratch(struct emitter *g)
{
	struct code *c = g->code;
	int taken = code_label(c), next = code_label(c), again;

	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_mov(c, TMP, R0);
	code_alu_imm(c, BPF_MUL, TMP, SCRATCH_TRIES);
	code_const(c, TMP2, SCRATCH_TRIES);
	again = code_here(c);
	code_alu_imm(c, BPF_AND, TMP, (int32_t)g->world->scratch_count - 1);
	code_store(c, 4, FRAME, STACK_KEY, TMP);
	code_helper(c, BPF_FUNC_map_lookup_elem, MAP(g->world->scratch_fd), SUM(FRAME, STACK_KEY));
	code_jump_imm(c, BPF_JEQ, R0, 0, next); /* never: for the verifier */
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

/* The next user of the entry must see what was written before: x86 stores in order anyway, others
 * need the barrier of an atomic operation. */
static void give_scratch(struct emitter *g)
{
#if defined(__x86_64__)
	code_store_imm(g->code, 8, SCRATCH, 0, 0);
#else
	code_const(g->code, R1, 0);
	code_atomic(g->code, BPF_XCHG, SCRATCH, 0, R1);
#endif
}

static void gen_count_fault(struct emitter *g, const struct insn *in)
{
	gen_fault(g, in, (int)in->imm);
}

/* clang-format off */
static gen_fn *const emitters[OP_COUNT_] = {
	[OP_CONST]     = gen_const,     [OP_MOV]      = gen_unary,     [OP_NEG]       = gen_unary,
	[OP_NOT]       = gen_unary,     [OP_ZEXT]     = gen_unary,     [OP_SEXT]      = gen_unary,
	[OP_ADD]       = gen_binary,    [OP_SUB]      = gen_binary,    [OP_MUL]       = gen_binary,
	[OP_AND]       = gen_binary,    [OP_OR]       = gen_binary,    [OP_XOR]       = gen_binary,
	[OP_SHL]       = gen_binary,    [OP_SHR]      = gen_binary,    [OP_SAR]       = gen_binary,
	[OP_UDIV]      = gen_divide,    [OP_SDIV]     = gen_divide,
	[OP_UMOD]      = gen_divide,    [OP_SMOD]     = gen_divide,
	[OP_EQ]        = gen_relation,  [OP_ULT]      = gen_relation,  [OP_SLT]       = gen_relation,
	[OP_NE]        = gen_relation,  [OP_ULE]      = gen_relation,  [OP_SLE]       = gen_relation,
	[OP_F2I]       = gen_float_to_int,
	[OP_JUMP]      = gen_jump,      [OP_JUMP_IF]  = gen_branch,    [OP_JUMP_NOT]  = gen_branch,
	[OP_LOOP]      = gen_loop,      [OP_NEXT]     = gen_next,      [OP_RETURN]    = gen_return,
	[OP_ARG]       = gen_arg,       [OP_REG]      = gen_reg,       [OP_FIELD]     = gen_field,
	[OP_BUILTIN]   = gen_builtin,   [OP_LOAD]     = gen_load,
	[OP_KLOAD]     = gen_load,      [OP_KSTR]     = gen_kernel_str,
	[OP_PUT]       = gen_put_word,  [OP_GET]      = gen_get_word,  [OP_ZERO]      = gen_zero_slot,
	[OP_COPY]      = gen_copy_slot, [OP_PART]     = gen_copy_part,
	[OP_TEXT]      = gen_literal,   [OP_STR]      = gen_str,       [OP_BUF]       = gen_buf,
	[OP_KBUF]      = gen_buf,
	[OP_COMM]      = gen_comm,      [OP_USTACK]   = gen_stack,     [OP_KSTACK]    = gen_stack,
	[OP_LSTACK]    = gen_script_stack,      [OP_PATH]     = gen_path,
	[OP_FIELD_STR] = gen_field_str, [OP_STRCMP]   = gen_strcmp,    [OP_LENGTH]    = gen_length,
	[OP_BYTE]      = gen_byte,      [OP_APPEND]   = gen_append,
	[OP_PUSH]      = gen_push,      [OP_MARK]     = gen_mark,
	[OP_SIGNAL]    = gen_signal,    [OP_WRITE]    = gen_write,     [OP_FAULT]    = gen_count_fault,
	[OP_MAP_GET]   = gen_map,       [OP_MAP_COPY] = gen_map,       [OP_MAP_SET]   = gen_map,
	[OP_MAP_PUT]   = gen_map,       [OP_MAP_ADD]  = gen_map,       [OP_MAP_DEL]   = gen_map,
	[OP_MAP_HAS]   = gen_map,       [OP_AGGREGATE] = gen_map,       [OP_PERCENTILE] = gen_map,
	[OP_EMIT]      = gen_emit,
};
/* clang-format on */

void gen_range(struct emitter *g, uint32_t from, uint32_t to)
{
	const struct program *p = g->program;
	uint32_t last = UINT32_MAX;

	for (uint32_t i = from; i < to && !g->err; i++) {
		const struct insn *in = &g->clause->code[i];

		code_bind(g->code, g->labels[i]);
		if (in->span != last && in->span < p->span_count) {
			const struct span *s = &p->spans[last = in->span];

			/* For dumps: what the next instructions are compiled from. */
			if (s->source.ptr && s->at + s->len <= s->source.len && s->len)
				code_note(g->code, str_of(s->source.ptr + s->at, s->len));
		}
		if (in->op == OP_LOOP && g->world->loops == LOOPS_CALLED) {
			gen_loop_call(g, in, i);
			i = in->target - 1; /* its OP_NEXT */
		} else if (op_is_each(in->op)) {
			gen_each_call(g, in, i);
			i = in->target - 1;
		} else if (in->op < OP_COUNT_ && emitters[in->op]) {
			emitters[in->op](g, in);
		} else {
			gen_fail(g, -EINVAL, "bad-program", "unknown operation");
		}
	}
}

bool gen_make_labels(struct emitter *g)
{
	g->labels = calloc(g->clause->insn_count + 1, sizeof(*g->labels));
	for (uint32_t i = 0; g->labels && i <= g->clause->insn_count; i++)
		g->labels[i] = code_label(g->code);
	g->code->failed |= !g->labels;
	return g->labels;
}

/* One clause. What ends it early goes to g->end, where the scratch memory is given back; when none
 * could be taken, that is skipped. */
static void gen_clause(struct emitter *g)
{
	uint32_t count = g->clause->insn_count;
	int skipped = code_label(g->code);

	if (!gen_make_labels(g))
		return;
	g->end = skipped;
	if (g->frame->scratch)
		take_scratch(g);
	g->end = code_label(g->code);
	gen_range(g, 0, count);
	code_bind(g->code, g->labels[count]);
	code_bind(g->code, g->end);
	if (g->frame->scratch)
		give_scratch(g);
	code_bind(g->code, skipped);
	free(g->labels);
}

/* Switch to the clause that each case runs after the current one; first of all (NULL) its first. */
static void go_to_next(struct emitter *g, const struct clause *current, const int *entries,
		       int *labels, int end)
{
	for (uint32_t i = 0; i < g->unit->case_count; i++) {
		const struct unit_case *c = &g->unit->cases[i];
		uint32_t next = 0;

		while (current && next < c->step_count && c->steps[next].clause != g->clause_number)
			next++;
		next += current != NULL;
		labels[i] = next < c->step_count    ? entries[c->steps[next].clause]
			    : next == c->step_count ? end
						    : -1;
	}
	gen_switch(g, labels);
}

/* To `out` when the event is of another process, to `end` when the run is over. Clauses that the
 * tracer runs itself (UNIT_RUN) are exempt from both: they run in its own process, and END runs
 * when the others have been stopped. */
static void gen_start(struct emitter *g, int out, int end)
{
	const struct unit *u = g->unit;

	code_mov(g->code, CTX, R1);
	if (u->kind == UNIT_ITER) { /* its last call is for the end: of no object */
		code_load(g->code, 8, R1, CTX, ITER_OBJECT);
		code_jump_imm(g->code, BPF_JEQ, R1, 0, out);
	}
	if (u->kind != UNIT_RUN) {
		if (!unit_is_own(u))
			code_pid_filter(g->code, &g->world->filter, out);
		if (g->world->counts_running)
			control_count_running(g->code, g->world->control_fd, CONTROL_RUNNING, 1);
		code_map_value(g->code, R1, g->world->control_fd, CONTROL_STOP * 8);
		code_load(g->code, 8, R1, R1, 0);
		code_jump_imm(g->code, BPF_JNE, R1, 0, end);
	}
	if (!unit_needs_cookie(u))
		return;
	code_helper(g->code, BPF_FUNC_get_attach_cookie, REG(CTX));
	code_store(g->code, 8, FRAME, STACK_COOKIE, R0);
}

/* The clauses of a unit, one after the other. Each site's case runs some of them, in order: at the
 * start of the program and after each clause a switch on the case goes to the next.
 *
 *	filter, stop word, cookie
 *	switch: case 0 -> clause A, case 1 -> clause B
 *	clause A	switch: case 0 -> clause C
 *	clause B	switch: case 1 -> end
 *	clause C	end
 */
static int gen_clauses(struct emitter *g, const struct frame *frames, int *entries, int *labels,
		       int end)
{
	const struct program *p = g->program;
	int out = code_label(g->code);

	for (uint32_t i = 0; i < p->clause_count; i++)
		entries[i] = code_label(g->code);
	gen_start(g, out, end);
	go_to_next(g, NULL, entries, labels, end);
	for (uint32_t i = 0; i < p->clause_count && !g->err; i++) {
		if (!unit_has_clause(g->unit, i))
			continue;
		g->clause = &p->clauses[i];
		g->clause_number = i;
		g->frame = &frames[i];
		code_bind(g->code, entries[i]);
		gen_clause(g);
		go_to_next(g, g->clause, entries, labels, end);
	}
	code_bind(g->code, end);
	if (g->unit->kind != UNIT_RUN && g->world->counts_running)
		control_count_running(g->code, g->world->control_fd, CONTROL_RUNNING, -1);
	code_bind(g->code, out);
	code_const(g->code, R0, 0);
	code_exit(g->code);
	gen_loop_bodies(g, frames);
	walk_bodies(&g->walks);
	gen_key_functions(g);
	return g->err ? g->err : g->code->failed ? -ENOMEM : 0;
}

static struct walks walks_of(const struct gen_world *w, const struct unit *u, struct code *code)
{
	return (struct walks){.code = code,
			      .user = &w->user,
			      .script = &w->script,
			      .pids = &w->filter,
			      .zeros_fd = w->zeros_fd,
			      .has_may_goto = w->has_may_goto,
			      .registers = unit_is_uprobe(u)	 ? REGISTERS_IN_CONTEXT
					   : u->kind == UNIT_RUN ? REGISTERS_NOWHERE
								 : REGISTERS_OF_TASK};
}

int gen_unit(const struct gen_world *w, const struct unit *u, const struct frame *frames,
	     struct code *code, struct diag *d)
{
	struct emitter g = {.code = code,
			    .world = w,
			    .unit = u,
			    .program = u->program,
			    .walks = walks_of(w, u, code),
			    .diag = d};
	int *entries = calloc(u->program->clause_count + 1, sizeof(*entries));
	int *labels = calloc(u->case_count + 1, sizeof(*labels));
	int err = -ENOMEM;

	if (entries && labels)
		err = gen_clauses(&g, frames, entries, labels, code_label(code));
	free(g.bodies);
	free(g.walks.bodies);
	free(g.key_functions);
	free(entries);
	free(labels);
	return err;
}
