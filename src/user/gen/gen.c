/* The way through the instructions of a clause, by the table from operations to emitters, and the
 * trampoline of a site: its clauses one after the other. */
#include "user/gen/gen_state.h"

#include <errno.h>
#include <linux/rseq.h>
#include <stdlib.h>

/* clang-format off */
static native_fn *const emitters[OP_COUNT_] = {
	[OP_CONST]     = native_const,     [OP_MOV]       = native_unary,     [OP_NEG]       = native_unary,
	[OP_NOT]       = native_unary,     [OP_ZEXT]      = native_unary,     [OP_SEXT]      = native_unary,
	[OP_ADD]       = native_binary,    [OP_SUB]       = native_binary,    [OP_MUL]       = native_binary,
	[OP_AND]       = native_binary,    [OP_OR]        = native_binary,    [OP_XOR]       = native_binary,
	[OP_SHL]       = native_shift,     [OP_SHR]       = native_shift,     [OP_SAR]       = native_shift,
	[OP_UDIV]      = native_divide,    [OP_SDIV]      = native_divide,
	[OP_UMOD]      = native_divide,    [OP_SMOD]      = native_divide,
	[OP_EQ]        = native_relation,  [OP_ULT]       = native_relation,  [OP_SLT]       = native_relation,
	[OP_NE]        = native_relation,  [OP_ULE]       = native_relation,  [OP_SLE]       = native_relation,
	[OP_F2I]       = native_float_to_int,
	[OP_JUMP]      = native_jump,      [OP_JUMP_IF]   = native_branch,    [OP_JUMP_NOT]  = native_branch,
	[OP_LOOP]      = native_loop,      [OP_NEXT]      = native_next,      [OP_RETURN]    = native_return,
	[OP_EACH]      = native_each,      [OP_EACH_COPY] = native_each,
	[OP_ARG]       = native_arg,       [OP_REG]       = native_reg,
	[OP_BUILTIN]   = native_builtin,   [OP_LOAD]      = native_load,
	[OP_PUT]       = native_put_word,  [OP_GET]       = native_get_word,  [OP_ZERO]      = native_zero_slot,
	[OP_COPY]      = native_copy_slot, [OP_PART]      = native_copy_part,
	[OP_TEXT]      = native_literal,   [OP_STR]       = native_str,       [OP_BUF]       = native_buf,
	[OP_COMM]      = native_comm,      [OP_USTACK]    = native_stack,
	[OP_LSTACK]    = native_script_stack,
	[OP_STRCMP]    = native_strcmp,    [OP_LENGTH]    = native_length,
	[OP_BYTE]      = native_byte,      [OP_APPEND]    = native_append,
	[OP_PUSH]      = native_push,      [OP_MARK]      = native_mark,
	[OP_WRITE]     = native_write_user,
	[OP_MAP_GET]   = native_map_get,   [OP_MAP_COPY]  = native_map_copy,  [OP_MAP_SET]   = native_map_set,
	[OP_MAP_PUT]   = native_map_put,   [OP_MAP_ADD]   = native_map_add,   [OP_MAP_DEL]   = native_map_del,
	[OP_PERCENTILE] = native_percentile,
	[OP_MAP_HAS]   = native_map_has,   [OP_AGGREGATE] = native_aggregate, [OP_EMIT]      = native_record,
	[OP_FAULT]     = native_count_fault,
};
/* clang-format on */

static bool has_code(enum op op)
{
	return op < OP_COUNT_ && emitters[op];
}

/* clang-format off */
static const char *const kernel_only[BUILTIN_COUNT_] = {
	[BUILTIN_CGROUP]  = "only the kernel knows the cgroup",
	[BUILTIN_TASK]    = "only the kernel knows its task",
	[BUILTIN_BOOT]    = "only the kernel has this clock",
	[BUILTIN_TAI]     = "only the kernel has this clock",
	[BUILTIN_JIFFIES] = "only the kernel has this clock",
	[BUILTIN_NUMA]    = "only the kernel knows the node of a CPU",
};
/* clang-format on */

const char *native_undoable(const struct program *p, const struct insn *in)
{
	if (op_uses_map(in->op) && p->maps[in->map].forgets)
		return "only the kernel has maps that forget entries";
	switch (in->op) {
#ifndef __x86_64__
	case OP_LSTACK: return "stacks of scripts need x86-64";
#endif
	case OP_KSTACK: return "only the kernel can read a kernel stack";
	case OP_FIELD:
	case OP_FIELD_STR: return "only the kernel can trace tracepoints";
	case OP_KLOAD:
	case OP_KSTR:
	case OP_KBUF: return "only the kernel can read kernel memory";
	case OP_SIGNAL: return "only the kernel can send a signal from within the program";
	case OP_BUILTIN: return kernel_only[in->imm];
	default: return has_code(in->op) ? NULL : "only the kernel can do this";
	}
}

/* Is instruction `at` a comparison whose only reader is the branch after it? */
static bool is_compare_branch(const struct gen *g, uint32_t at)
{
	const struct insn *in = &g->clause->code[at], *next = in + 1;

	/* ORDER: ops.h */
	return in->op >= OP_EQ && in->op <= OP_SLE && at + 1 < g->clause->insn_count &&
	       (next->op == OP_JUMP_IF || next->op == OP_JUMP_NOT) && next->a == in->d &&
	       !g->is_target[at + 1] && at + 1 != g->body && at + 1 != g->guard &&
	       !live_has(&g->live, at + 2, in->d) &&
	       !live_has(&g->live, (uint32_t)next->imm, in->d);
}

static void emit_insn(struct gen *g, uint32_t at)
{
	const struct insn *in = &g->clause->code[at];

	g->at = at;
	if (g->is_target[at]) {
		native_settle(g, at);
		native_forget_constants(g);
	}
	asm_bind(g->code, g->labels[at]);
	if (at == g->body)
		native_body_begin(g);
	if (at == g->guard && g->is_first && g->is_last)
		native_guard(g, !g->in_body	? g->head_exit
				: at == g->body ? g->lost
						: g->body_exit);
	if (at == g->body && g->frame.in_scratch)
		native_claim_scratch(g);
	if (has_code(in->op))
		emitters[in->op](g, in);
	else
		native_fail(g, "engine", "the clause needs the kernel");
}

static void emit_all(struct gen *g)
{
	uint32_t count = g->clause->insn_count;

	for (uint32_t i = 0; i < count && !g->err; i++) {
		if (is_compare_branch(g, i)) {
			g->at = i;
			if (g->is_target[i]) {
				native_settle(g, i);
				native_forget_constants(g);
			}
			asm_bind(g->code, g->labels[i]);
			native_compare_branch(g, &g->clause->code[i], &g->clause->code[i + 1]);
			i++;
			asm_bind(g->code, g->labels[i]);
			continue;
		}
		emit_insn(g, i);
	}
}

static void go_back(struct gen *g)
{
	if (!asm_jump_to(g->code, g->place->back) &&
	    !asm_jump_through(g->code, native_pool(g, &g->place->back, 8)))
		native_fail(g, "engine", "the memory for code is too far from the probe");
}

/* One attempt, with the sets of registers to save as they are now. Of several clauses all run, or
 * none does: the run may end between two of them. */
static void emit_clause(struct gen *g)
{
	bool guards_all = g->is_first && !g->is_last;
	int next = asm_label(g->code);
	struct layout layout;

	memset(g->saved_at, 0, sizeof(g->saved_at));
	/* A copy of our own: others who have the shared memory may not be trusted. */
	layout = *g->place->layout;
	layout.image = g->place->image;
	g->layout = native_pool(g, &layout, sizeof(layout));
	native_forget_constants(g);
	g->in_body = false;
	g->loop_depth = g->each_depth = 0;
	g->code->written = g->head_writes = g->body_writes = 0;
	for (uint32_t i = 0; i <= g->clause->insn_count; i++)
		g->labels[i] = asm_label(g->code);
	g->head_exit = asm_label(g->code);
	g->over = asm_label(g->code);
	g->body_exit = asm_label(g->code);
	g->lost = g->frame.in_scratch ? asm_label(g->code) : g->body_exit;
	native_head_begin(g);
	if (guards_all)
		native_guard(g, g->over);
	emit_all(g);
	asm_bind(g->code, g->labels[g->clause->insn_count]);
	if (g->in_body)
		native_body_end(g);
	else
		g->head_writes = g->code->written;
	native_head_end(g, g->head_exit);
	if (g->is_last)
		go_back(g);
	else
		asm_jump(g->code, next);
	if (guards_all) {
		native_head_end(g, g->over);
		go_back(g);
	}
	native_write_colds(g);
	asm_bind(g->code, next);
}

/* How the code was before an attempt. */
struct gen_mark {
	size_t len, labels, fixups, items, pooled;
};

static struct gen_mark mark_take(const struct gen *g)
{
	return (struct gen_mark){g->code->bytes.len, g->code->label_count, g->code->fixup_count,
				 g->pool->count, g->pool->bytes.len};
}

static void mark_restore(struct gen *g, const struct gen_mark *m)
{
	g->code->bytes.len = m->len;
	g->code->label_count = m->labels;
	g->code->fixup_count = m->fixups;
	g->pool->count = m->items;
	g->pool->bytes.len = m->pooled;
}

#define SAVABLE \
	(((1u << (ASM_REGS - 1) << 1) - 1) & ~(uint32_t)(UINT64_C(1) << STACK) & ~ASM_BIT(ACC))

/* Saving a register may need another one, to load what the first held; so attempts are made until
 * the code changes only what it saves. */
static void emit_until_saved(struct gen *g)
{
	const struct gen_mark m = mark_take(g);
	uint32_t head, body;

	for (;;) {
		emit_clause(g);
		head = g->head_writes & SAVABLE & ~g->head_saves;
		body = g->body_writes & SAVABLE & ~g->head_saves & ~head & ~g->body_saves;
		if (g->err || g->code->failed || (!head && !body))
			return;
		g->head_saves |= head;
		g->body_saves = (g->body_saves & ~head) | body;
		mark_restore(g, &m);
	}
}

/* ---- the trampoline */

static void find_targets(struct gen *g)
{
	const struct clause *c = g->clause;

	for (uint32_t i = 0; i < c->insn_count; i++) {
		const struct insn *in = &c->code[i];

		if (in->op == OP_JUMP || in->op == OP_JUMP_IF || in->op == OP_JUMP_NOT)
			g->is_target[in->imm] = true;
		if (in->op == OP_NEXT && c->code[in->target].op == OP_LOOP)
			g->is_target[in->target + 1] = true;
		if (op_is_each(in->op))
			g->is_target[in->target] = true;
	}
}

static int generate_clause(struct gen *g)
{
	uint32_t count = g->clause->insn_count;
	int err;

	g->labels = calloc(count + 1, sizeof(*g->labels));
	g->is_target = calloc(count + 1, sizeof(*g->is_target));
	g->known = calloc(g->clause->reg_count + 1u, sizeof(*g->known));
	err = g->labels && g->is_target && g->known ? native_liveness(g->clause, &g->live)
						    : -ENOMEM;
	if (!err)
		err = native_plan_frame(g);
	if (!err) {
		find_targets(g);
		native_find_parts(g);
		emit_until_saved(g);
		err = g->err ? g->err : g->code->failed ? -ENOMEM : 0;
	}
	free(g->labels);
	free(g->is_target);
	free(g->known);
	free(g->live.words);
	free(g->frame.slot_at);
	free(g->frame.padded);
	for (size_t i = 0; i < g->cold_count; i++)
		free(g->colds[i].known);
	free(g->colds);
	return err;
}

/* What the kernel reads of a restartable sequence when it interrupts a thread. */
static void write_rseq_cs(struct native_code *c, const struct pool_item *item)
{
	uint32_t start = c->labels[item->start], end = c->labels[item->end];
	struct rseq_cs cs = {.start_ip = c->address + start,
			     .post_commit_offset = end - start,
			     .abort_ip = c->address + c->labels[item->abort]};

	memcpy(c->bytes.ptr + c->labels[item->label], &cs, sizeof(cs));
}

/* The constants, after the code and at least one trap. */
static void flush_pool(struct native_code *c, const struct pool *p)
{
	size_t start;

	asm_traps(c, 1 + -(c->address + c->bytes.len + 1) % 32);
	start = c->bytes.len;
	if (p->bytes.len)
		asm_bytes(c, p->bytes.ptr, p->bytes.len);
	for (size_t i = 0; i < p->count && !c->failed; i++) {
		const struct pool_item *item = &p->items[i];

		c->labels[item->label] = (uint32_t)(start + item->at);
		if (item->start >= 0)
			write_rseq_cs(c, item);
	}
}

int native_generate(const struct native_place *place, const struct native_step *steps, size_t count,
		    struct native_code *out, struct diag *d)
{
	struct pool pool = {.bytes = BUF_INIT};
	int err = 0;

	code_reset(out);
	out->address = place->landing;
	for (size_t i = 0; i < count && !err; i++) {
		struct gen g = {.code = out,
				.place = place,
				.program = steps[i].program,
				.clause = steps[i].clause,
				.attach = steps[i].attach,
				.diag = d,
				.pool = &pool,
				.is_first = !i,
				.is_last = i + 1 == count};

		err = generate_clause(&g);
	}
	if (!err) {
		flush_pool(out, &pool);
		err = code_finish_native(out);
	}
	buf_free(&pool.bytes);
	free(pool.items);
	return err == -ENOMEM ? diag_error(d, err, "no-memory", "out of memory") : err;
}
