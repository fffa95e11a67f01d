/* What is around the operations: start and end of a clause, where values are, calls, the way
 * through the instructions, and the table from operations to emitters. */
#include "engine/native/gen_state.h"

#include <errno.h>
#include <linux/rseq.h>
#include <stdlib.h>

/* ---- places */

struct asm_mem native_at(const struct gen *g, int32_t below)
{
	return MEM(STACK, g->depth - below);
}

struct asm_mem native_frame(const struct gen *g, uint32_t at)
{
	if (g->frame.in_scratch)
		return MEM(KEEP, at);
	return native_at(g, g->frame_at - (int32_t)at);
}

struct asm_mem native_slot(const struct gen *g, uint16_t slot, int64_t more)
{
	return native_frame(g, g->frame.slot_at[slot] + (uint32_t)more);
}

const struct type *native_slot_type(const struct gen *g, uint16_t slot)
{
	return &g->clause->slots[slot].type;
}

void native_fail(struct gen *g, const char *tag, const char *text)
{
	if (!g->err)
		g->err = diag_error_at(g->diag, -ENOTSUP, tag, g->clause->span, "%s", text);
}

static int add_to_pool(struct gen *g, struct pool_item item, const void *bytes, size_t len)
{
	struct pool *p = g->pool;

	item.label = asm_label(g->code);
	item.at = p->bytes.len;
	if (array_grow(p->items, p->count, p->cap)) {
		g->code->failed = true;
		return item.label;
	}
	p->items[p->count++] = item;
	buf_add(&p->bytes, bytes, len);
	buf_fill(&p->bytes, '\0', -len % 8);
	g->code->failed |= p->bytes.failed;
	return item.label;
}

int native_pool(struct gen *g, const void *bytes, size_t len)
{
	return add_to_pool(g, (struct pool_item){.start = -1}, bytes, len);
}

int native_pool_rseq(struct gen *g, int start, int end, int abort)
{
	static const struct rseq_cs none;

	buf_fill(&g->pool->bytes, '\0', -g->pool->bytes.len % 32);
	return add_to_pool(g, (struct pool_item){.start = start, .end = end, .abort = abort}, &none,
			   sizeof(none));
}

/* ---- registers of the program */

static struct asm_mem reg_at(const struct gen *g, uint16_t reg)
{
	return native_at(g, g->regs_at - 8 * (int32_t)reg);
}

static bool fits(uint64_t value)
{
	return (int64_t)value >= INT32_MIN && (int64_t)value <= INT32_MAX;
}

bool native_is_const(const struct gen *g, uint16_t reg, uint64_t *value)
{
	if (reg == REG_NO || !g->known[reg].valid)
		return false;
	*value = g->known[reg].value;
	return true;
}

bool native_is_imm(const struct gen *g, uint16_t reg, int32_t *value)
{
	uint64_t wide;

	if (!native_is_const(g, reg, &wide) || !fits(wide))
		return false;
	*value = (int32_t)wide;
	return true;
}

int native_read(struct gen *g, uint16_t reg, int temp)
{
	uint64_t value;

	if (native_is_const(g, reg, &value))
		asm_const(g->code, temp, value);
	else
		asm_load(g->code, 8, false, temp, reg_at(g, reg));
	return temp;
}

void native_write(struct gen *g, uint16_t reg, int from)
{
	if (reg == REG_NO)
		return;
	g->known[reg].valid = false;
	asm_store(g->code, 8, reg_at(g, reg), from);
}

void native_write_const(struct gen *g, uint16_t reg, uint64_t value)
{
	if (reg != REG_NO)
		g->known[reg] = (struct known){value, true, false};
}

/* A constant to memory. Changes no flags, but ACC when it is wide. */
static void store_const(struct gen *g, struct asm_mem m, uint64_t value)
{
	if (fits(value)) {
		asm_store_imm(g->code, 8, m, (int32_t)value);
		return;
	}
	asm_const(g->code, ACC, value);
	asm_store(g->code, 8, m, ACC);
}

void native_settle(struct gen *g, uint32_t to)
{
	for (uint32_t reg = 0; reg < g->clause->reg_count; reg++) {
		struct known *k = &g->known[reg];

		if (!k->valid || k->written || !live_has(&g->live, to, (uint16_t)reg))
			continue;
		store_const(g, reg_at(g, (uint16_t)reg), k->value);
		k->written = true;
	}
}

static void forget_constants(struct gen *g)
{
	for (uint32_t reg = 0; reg < g->clause->reg_count; reg++)
		g->known[reg].valid = false;
}

/* ---- calls */

static const char *const functions[] = {
#define INSIDE_FN(name, function) [INSIDE_##name] = "inside_" #function,
	INSIDE_FUNCTIONS(INSIDE_FN)
#undef INSIDE_FN
};

static const int argument_regs[] = ASM_ARGS;

static void put_argument(struct gen *g, int to, const struct native_arg *a)
{
	switch (a->kind) {
	case ARG_END: break;
	case ARG_REG: native_read(g, (uint16_t)a->number, to); break;
	case ARG_HOST: asm_mov(g->code, to, a->number); break;
	case ARG_IMM: asm_const(g->code, to, a->value); break;
	case ARG_MEMORY: asm_lea(g->code, to, a->mem); break;
	case ARG_LABEL: asm_lea(g->code, to, MEM_LABEL(a->number)); break;
	}
}

static uint64_t offset_of(struct gen *g, const char *name)
{
	for (const struct native_function *f = native_functions; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f->offset;
	native_fail(g, "engine", "this build has no code for this CPU");
	return 0;
}

void native_call_args(struct gen *g, enum inside_fn fn, const struct native_arg *args)
{
	for (unsigned i = 0; args[i].kind != ARG_END; i++)
		put_argument(g, argument_regs[i], &args[i]);
	asm_call(g->code, g->place->inside + offset_of(g, functions[fn]));
}

static void count_up(struct gen *g, uint64_t at)
{
	asm_const(g->code, TMP, g->place->shared + at);
	asm_atomic_inc(g->code, TMP);
}

void native_fault(struct gen *g, const struct insn *in, int kind)
{
	const struct layout *l = g->place->layout;
	uint32_t span = in->span < l->span_count ? in->span : l->span_count - 1;

	if (l->span_count)
		count_up(g, l->faults_at + 8 * (FAULT_KINDS * (uint64_t)span + (unsigned)kind));
	if (kind == FAULT_LOOP_LIMIT)
		count_up(g, l->stats_at + offsetof(struct shared_stats, loop_limits));
}

/* ---- start and end */

static void push_all(struct gen *g, uint32_t set)
{
	int32_t at = g->depth;

	asm_push(g->code, set);
	for (int reg = 0; reg < ASM_REGS; reg++)
		if (set & ASM_BIT(reg))
			g->saved_at[reg] = at += 8;
	g->depth += (int32_t)asm_pushed(set);
}

/* Move the stack pointer by a constant; no flags change. */
static void lower_stack(struct gen *g, int32_t bytes)
{
	if (bytes)
		asm_lea(g->code, STACK, MEM(STACK, -bytes));
	g->depth += bytes;
}

/* The stack pointer stays at a multiple of what the CPU wants. */
static int32_t aligned(uint32_t bytes)
{
	return (int32_t)((bytes + ASM_STACK_ALIGN - 1) & -(uint32_t)ASM_STACK_ALIGN);
}

static int32_t head_bytes(const struct gen *g)
{
	return aligned(8 * (g->clause->reg_count + g->frame.loops + g->has_time));
}

static int32_t body_bytes(const struct gen *g)
{
	return aligned((uint32_t)sizeof(struct hit) + 16 +
		       (g->frame.in_scratch ? 8 : g->frame.bytes));
}

static void head_begin(struct gen *g)
{
	struct native_code *c = g->code;

	g->depth = 0;
	lower_stack(g, RED_ZONE);
	asm_save_flags(c);
	g->saved_at[ACC] = g->depth + 8;
	g->depth += 16;
	push_all(g, g->head_saves);
	lower_stack(g, head_bytes(g));
	g->tsc_at = g->depth;
	g->rounds_at = g->depth - 8 * g->has_time;
	g->regs_at = g->rounds_at - 8 * (int32_t)g->frame.loops;
	if (g->has_time)
		asm_store_imm(c, 8, native_at(g, g->tsc_at), 0);
}

static void head_end(struct gen *g)
{
	struct native_code *c = g->code;

	asm_bind(c, g->head_exit);
	if (head_bytes(g))
		asm_lea(c, STACK, MEM(STACK, head_bytes(g)));
	asm_pop(c, g->head_saves);
	asm_restore_flags(c);
	if (RED_ZONE)
		asm_lea(c, STACK, MEM(STACK, RED_ZONE));
}

struct asm_mem native_hit_tsc(const struct gen *g)
{
	return native_at(g, g->hit_at - (int32_t)offsetof(struct hit, tsc));
}

static void store_hit(struct gen *g, size_t at, uint64_t value)
{
	struct asm_mem m = native_at(g, g->hit_at - (int32_t)at);

	store_const(g, m, value);
}

/* What the functions of inside.h need of the event; ruins ACC. They look for what is not
 * here in the process page. */
static void make_hit(struct gen *g)
{
	struct native_code *c = g->code;

	asm_const(c, ACC, g->place->shared);
	asm_store(c, 8, native_at(g, g->hit_at - (int32_t)offsetof(struct hit, base)), ACC);
	asm_lea(c, ACC, MEM_LABEL(g->layout));
	asm_store(c, 8, native_at(g, g->hit_at - (int32_t)offsetof(struct hit, layout)), ACC);
	store_hit(g, offsetof(struct hit, process), g->place->process);
	store_hit(g, offsetof(struct hit, no_calls), g->place->no_calls);
	if (g->place->rseq == NATIVE_NONE) {
		store_hit(g, offsetof(struct hit, rseq), 0);
	} else {
		native_thread_pointer(g, ACC);
		asm_lea(c, ACC, MEM(ACC, g->place->rseq));
		asm_store(c, 8, native_at(g, g->hit_at - (int32_t)offsetof(struct hit, rseq)), ACC);
	}
	if (g->place->tid == NATIVE_NONE) {
		store_hit(g, offsetof(struct hit, tid), 0);
	} else {
		asm_load(c, 4, false, ACC, MEM_THREAD(g->place->tid));
		asm_store(c, 8, native_at(g, g->hit_at - (int32_t)offsetof(struct hit, tid)), ACC);
	}
	if (g->has_time) {
		asm_load(c, 8, false, ACC, native_at(g, g->tsc_at));
		asm_store(c, 8, native_hit_tsc(g), ACC);
	} else {
		store_hit(g, offsetof(struct hit, tsc), 0);
	}
}

static void body_begin(struct gen *g)
{
	g->head_writes = g->code->written;
	g->code->written = 0;
	push_all(g, g->body_saves);
	lower_stack(g, body_bytes(g));
	g->hit_at = g->depth;
	g->frame_at = g->claim_at = g->depth - (int32_t)sizeof(struct hit) - 16;
	g->in_body = true;
	if (!g->has_hit)
		return;
	make_hit(g);
	g->tsc_at = g->hit_at - (int32_t)offsetof(struct hit, tsc);
}

static void release_by_call(struct gen *g, const struct cold *cold)
{
	(void)cold;
	native_call(g, INSIDE_SCRATCH_RELEASE, HIT, HOST(KEEP));
}

static void release_scratch(struct gen *g)
{
	struct native_code *c = g->code;
	int back = asm_label(c), call = native_cold(g, NULL, release_by_call, back);

	asm_load(c, 8, false, ACC, native_at(g, g->claim_at));
	asm_test(c, ACC, ACC);
	asm_jump_if(c, COND_E, call);
	asm_const(c, TMP, 0);
	asm_store_last(c, MEM(ACC, 0), TMP);
	asm_bind(c, back);
}

static void body_end(struct gen *g)
{
	struct native_code *c = g->code;

	asm_bind(c, g->body_exit);
	g->body_writes = c->written;
	if (g->frame.in_scratch) {
		release_scratch(g);
		asm_bind(c, g->lost);
	}
	asm_lea(c, STACK, MEM(STACK, body_bytes(g)));
	asm_pop(c, g->body_saves);
	g->depth -= body_bytes(g) + (int32_t)asm_pushed(g->body_saves);
	g->in_body = false;
}

/* ---- asides: calls from anywhere */

struct aside native_aside_begin(struct gen *g, uint32_t more)
{
	struct aside a = {g->depth, g->hit_at, 0, 0, g->code->written};
	uint32_t saved = ASM_BIT(ACC) | g->head_saves | (g->in_body ? g->body_saves : 0);

	a.saved = ASM_CALL_CHANGES & ~saved;
	asm_push(g->code, a.saved);
	g->depth += (int32_t)asm_pushed(a.saved);
	lower_stack(g, aligned((uint32_t)sizeof(struct hit) + more));
	a.more_at = g->depth;
	if (!(g->in_body && g->has_hit))
		g->hit_at = g->depth - (int32_t)more;
	return a;
}

void native_aside_end(struct gen *g, const struct aside *a)
{
	int32_t pushed = (int32_t)asm_pushed(a->saved);

	asm_lea(g->code, STACK, MEM(STACK, g->depth - a->depth - pushed));
	asm_pop(g->code, a->saved);
	g->depth = a->depth;
	g->hit_at = a->hit_at;
	g->code->written = a->written | ASM_BIT(ACC);
}

void native_aside_hit(struct gen *g)
{
	if (!(g->in_body && g->has_hit))
		make_hit(g);
}

int native_cold(struct gen *g, const struct insn *in, cold_fn *write, int back)
{
	size_t size = (g->clause->reg_count + 1u) * sizeof(*g->known);
	struct cold *cold;

	if (array_grow(g->colds, g->cold_count, g->cold_cap)) {
		g->code->failed = true;
		return 0;
	}
	cold = &g->colds[g->cold_count++];
	*cold = (struct cold){.label = asm_label(g->code),
			      .back = back,
			      .back2 = back,
			      .write = write,
			      .insn = in,
			      .depth = g->depth,
			      .tsc_at = g->tsc_at,
			      .in_body = g->in_body,
			      .known = malloc(size)};
	g->code->failed |= !cold->known;
	if (cold->known)
		memcpy(cold->known, g->known, size);
	return cold->label;
}

static void write_cold(struct gen *g, const struct cold *cold)
{
	struct known *known = g->known;

	if (g->code->failed)
		return;
	g->depth = cold->depth;
	g->tsc_at = cold->tsc_at;
	g->in_body = cold->in_body;
	g->known = cold->known;
	g->code->written = 0;
	asm_bind(g->code, cold->label);
	cold->write(g, cold);
	asm_jump(g->code, cold->back);
	g->known = known;
	*(cold->in_body ? &g->body_writes : &g->head_writes) |= g->code->written;
}

/* Code may ask for more while it is written. */
static void write_colds(struct gen *g)
{
	for (size_t i = 0; i < g->cold_count; i++) {
		struct cold cold = g->colds[i];

		write_cold(g, &cold);
		free(cold.known);
	}
	g->cold_count = 0;
}

static void claim_by_call(struct gen *g, const struct cold *cold)
{
	(void)cold;
	asm_store_imm(g->code, 8, native_at(g, g->claim_at), 0);
	native_call(g, INSIDE_SCRATCH_CLAIM, HIT);
	asm_mov(g->code, KEEP, ACC);
	asm_test(g->code, ACC, ACC);
	asm_jump_if(g->code, COND_E, g->lost);
}

/* KEEP = a frame: that of this CPU, if it is free. */
static void claim_scratch(struct gen *g)
{
	const struct layout *l = g->place->layout;
	struct native_code *c = g->code;
	int back = asm_label(c), call = native_cold(g, NULL, claim_by_call, back);

	if (g->place->rseq == NATIVE_NONE) {
		asm_jump(c, call);
		asm_bind(c, back);
		return;
	}
	asm_load(c, 4, false, ACC,
		 MEM_THREAD(g->place->rseq + (int32_t)offsetof(struct rseq, cpu_id)));
	asm_alu_imm(c, ALU_CMP, ACC, (int32_t)l->scratch_count);
	asm_jump_if(c, COND_AE, call);
	asm_const(c, TMP, g->place->shared + l->scratch_at);
	asm_lea(c, TMP, MEM_INDEX(TMP, ACC, 3, 0));
	asm_const(c, AUX, 1);
	asm_exchange(c, TMP, AUX);
	asm_test(c, AUX, AUX);
	asm_jump_if(c, COND_NE, call);
	asm_store(c, 8, native_at(g, g->claim_at), TMP);
	asm_mul_imm(c, KEEP, ACC, (int32_t)l->scratch_size);
	asm_const(c, TMP, g->place->shared + l->scratch_at + 8 * (uint64_t)l->scratch_count);
	asm_alu(c, ALU_ADD, KEEP, TMP);
	asm_bind(c, back);
}

/* Nothing is done once the run is over; nor in a child that is not followed. */
static void emit_guard(struct gen *g)
{
	const struct native_place *p = g->place;
	int out = !g->in_body ? g->head_exit : g->at == g->body ? g->lost : g->body_exit;
	struct native_code *c = g->code;

	asm_const(c, ACC, p->shared + offsetof(struct layout, is_stopped));
	asm_alu_mem_imm(c, ALU_CMP, 4, MEM(ACC, 0), 0);
	asm_jump_if(c, COND_NE, out);
	if (p->follow)
		return;
	asm_const(c, ACC, p->process + offsetof(struct process_page, pid));
	asm_alu_mem_imm(c, ALU_CMP, 4, MEM(ACC, 0), 0);
	asm_jump_if(c, COND_E, out);
}

/* ---- the way through a clause */

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
	[OP_ARG]       = native_arg,       [OP_REG]       = native_reg,
	[OP_BUILTIN]   = native_builtin,   [OP_LOAD]      = native_load,
	[OP_PUT]       = native_put_word,  [OP_GET]       = native_get_word,  [OP_ZERO]      = native_zero_slot,
	[OP_COPY]      = native_copy_slot, [OP_PART]      = native_copy_part,
	[OP_TEXT]      = native_literal,   [OP_STR]       = native_str,       [OP_BUF]       = native_buf,
	[OP_COMM]      = native_comm,      [OP_USTACK]    = native_stack,
	[OP_STRCMP]    = native_strcmp,    [OP_LENGTH]    = native_length,
	[OP_BYTE]      = native_byte,      [OP_APPEND]    = native_append,
	[OP_WRITE]     = native_write_user,
	[OP_MAP_GET]   = native_map_get,   [OP_MAP_COPY]  = native_map_copy,  [OP_MAP_SET]   = native_map_set,
	[OP_MAP_PUT]   = native_map_put,   [OP_MAP_ADD]   = native_map_add,   [OP_MAP_DEL]   = native_map_del,
	[OP_PERCENTILE] = native_percentile,
	[OP_MAP_HAS]   = native_map_has,   [OP_AGGREGATE] = native_aggregate, [OP_EMIT]      = native_record,
};
/* clang-format on */

bool native_has_code(enum op op)
{
	return op < OP_COUNT_ && emitters[op];
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
		forget_constants(g);
	}
	asm_bind(g->code, g->labels[at]);
	if (at == g->body)
		body_begin(g);
	if (at == g->guard)
		emit_guard(g);
	if (at == g->body && g->frame.in_scratch)
		claim_scratch(g);
	if (in->op < OP_COUNT_ && emitters[in->op])
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
				forget_constants(g);
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

/* One attempt, with the sets of registers to save as they are now. */
static void emit_clause(struct gen *g)
{
	int next = asm_label(g->code);
	struct layout layout;

	memset(g->saved_at, 0, sizeof(g->saved_at));
	/* A copy of our own: others who have the shared memory may not be trusted. */
	layout = *g->place->layout;
	layout.image = g->place->image;
	g->layout = native_pool(g, &layout, sizeof(layout));
	forget_constants(g);
	g->in_body = false;
	g->loop_depth = 0;
	g->code->written = g->head_writes = g->body_writes = 0;
	for (uint32_t i = 0; i <= g->clause->insn_count; i++)
		g->labels[i] = asm_label(g->code);
	g->head_exit = asm_label(g->code);
	g->body_exit = asm_label(g->code);
	g->lost = g->frame.in_scratch ? asm_label(g->code) : g->body_exit;
	head_begin(g);
	emit_all(g);
	asm_bind(g->code, g->labels[g->clause->insn_count]);
	if (g->in_body)
		body_end(g);
	else
		g->head_writes = g->code->written;
	head_end(g);
	if (g->is_last && !asm_jump_to(g->code, g->place->back) &&
	    !asm_jump_through(g->code, native_pool(g, &g->place->back, 8)))
		native_fail(g, "engine", "the memory for code is too far from the probe");
	if (!g->is_last)
		asm_jump(g->code, next);
	write_colds(g);
	asm_bind(g->code, next);
}

/* How the code was before an attempt. */
struct mark {
	size_t len, labels, fixups, items, pooled;
};

static struct mark mark_take(const struct gen *g)
{
	return (struct mark){g->code->bytes.len, g->code->label_count, g->code->fixup_count,
			     g->pool->count, g->pool->bytes.len};
}

static void mark_restore(struct gen *g, const struct mark *m)
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
	const struct mark m = mark_take(g);
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

/* ---- frames */

static uint32_t loops_nested(const struct clause *c)
{
	uint32_t depth = 0, most = 0;

	for (uint32_t i = 0; i < c->insn_count; i++) {
		if (c->code[i].op == OP_LOOP && ++depth > most)
			most = depth;
		if (c->code[i].op == OP_NEXT)
			depth--;
	}
	return most;
}

/* Slots, then the words of the record that takes most from registers. */
static uint32_t frame_bytes(const struct clause *c, uint32_t *slot_at, uint32_t *emit_at)
{
	uint32_t at = 0, words = 0;

	for (uint32_t i = 0; i < c->slot_count; i++) {
		if (slot_at)
			slot_at[i] = at;
		at += (uint32_t)type_memory(&c->slots[i].type);
	}
	for (uint32_t i = 0; i < c->insn_count; i++)
		if (c->code[i].op == OP_EMIT && c->code[i].field_count > words)
			words = c->code[i].field_count;
	if (emit_at)
		*emit_at = at;
	return at + 8 * words;
}

uint32_t native_frame_size(const struct clause *c)
{
	uint32_t bytes = frame_bytes(c, NULL, NULL);

	return bytes > FRAME_BYTES ? bytes : 0;
}

/* Which slots are read beyond their text. */
static void find_padded(const struct clause *c, bool *padded)
{
	for (uint32_t i = 0; i < c->insn_count; i++) {
		const struct insn *in = &c->code[i];

		if (in->op == OP_COPY || in->op == OP_PART)
			padded[in->t] = true;
		if (in->op == OP_GET && in->imm)
			padded[in->s] = true;
	}
}

static int plan_frame(struct gen *g)
{
	const struct clause *c = g->clause;
	struct native_frame *f = &g->frame;

	f->slot_at = calloc(c->slot_count + 1, sizeof(*f->slot_at));
	f->padded = calloc(c->slot_count + 1, sizeof(*f->padded));
	if (!f->slot_at || !f->padded)
		return -ENOMEM;
	find_padded(c, f->padded);
	f->bytes = frame_bytes(c, f->slot_at, &f->emit_at);
	f->in_scratch = f->bytes > FRAME_BYTES;
	f->loops = loops_nested(c);
	if (f->in_scratch && f->bytes > g->place->layout->scratch_size)
		native_fail(g, "too-big", "the values of the clause are too large");
	if (8 * (uint64_t)(c->reg_count + f->loops) > FRAME_BYTES * 8)
		native_fail(g, "too-big", "the clause has too many values");
	return g->err;
}

/* ---- the trampoline */

static void find_targets(struct gen *g)
{
	const struct clause *c = g->clause;

	for (uint32_t i = 0; i < c->insn_count; i++) {
		const struct insn *in = &c->code[i];

		if (in->op == OP_JUMP || in->op == OP_JUMP_IF || in->op == OP_JUMP_NOT)
			g->is_target[in->imm] = true;
		if (in->op == OP_NEXT)
			g->is_target[in->target + 1] = true;
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
		err = plan_frame(g);
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
