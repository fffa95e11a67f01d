/* The stack of a trampoline: what head and body of a clause save and restore, the frame and
 * struct hit. */
#include "user/gen/gen_inline.h"

#include <errno.h>
#include <linux/rseq.h>
#include <stdlib.h>

/* ---- frames */

static uint32_t loop_words(const struct insn *loop)
{
	return op_is_each(loop->op) ? 2 : 1;
}

static uint32_t loops_nested(const struct clause *c)
{
	uint32_t depth = 0, most = 0;

	for (uint32_t i = 0; i < c->insn_count; i++) {
		if (op_is_loop(c->code[i].op))
			depth += loop_words(&c->code[i]);
		if (depth > most)
			most = depth;
		if (c->code[i].op == OP_NEXT)
			depth -= loop_words(&c->code[c->code[i].target]);
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

int native_plan_frame(struct gen *g)
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
void native_lower_stack(struct gen *g, int32_t bytes)
{
	if (bytes)
		asm_lea(g->code, STACK, MEM(STACK, -bytes));
	g->depth += bytes;
}

/* The stack pointer stays at a multiple of what the CPU wants. */
int32_t native_aligned(uint32_t bytes)
{
	return (int32_t)((bytes + ASM_STACK_ALIGN - 1) & -(uint32_t)ASM_STACK_ALIGN);
}

static int32_t head_bytes(const struct gen *g)
{
	return native_aligned(8 * (g->clause->reg_count + g->frame.loops + g->has_time));
}

static int32_t body_bytes(const struct gen *g)
{
	return native_aligned((uint32_t)sizeof(struct hit) + 16 +
			      (g->frame.in_scratch ? 8 : g->frame.bytes));
}

void native_head_begin(struct gen *g)
{
	struct native_code *c = g->code;

	g->depth = 0;
	native_lower_stack(g, RED_ZONE);
	asm_save_flags(c);
	g->saved_at[ACC] = g->depth + 8;
	g->depth += 16;
	push_all(g, g->head_saves);
	native_lower_stack(g, head_bytes(g));
	g->tsc_at = g->depth;
	g->rounds_at = g->depth - 8 * g->has_time;
	g->regs_at = g->rounds_at - 8 * (int32_t)g->frame.loops;
	if (g->has_time)
		asm_store_imm(c, 8, native_at(g, g->tsc_at), 0);
}

void native_head_end(struct gen *g, int label)
{
	struct native_code *c = g->code;

	asm_bind(c, label);
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

	native_store_const(g, m, value);
}

/* What the functions of inside.h need of the event; ruins ACC. They look for what is not
 * here in the process page. */
void native_make_hit(struct gen *g)
{
	struct native_code *c = g->code;

	asm_const(c, ACC, g->place->shared);
	asm_store(c, 8, native_at(g, g->hit_at - (int32_t)offsetof(struct hit, base)), ACC);
	asm_lea(c, ACC, MEM_LABEL(g->layout));
	asm_store(c, 8, native_at(g, g->hit_at - (int32_t)offsetof(struct hit, layout)), ACC);
	store_hit(g, offsetof(struct hit, process), g->place->process);
	store_hit(g, offsetof(struct hit, kept), g->place->kept);
	if (g->place->rseq == NATIVE_NONE) {
		store_hit(g, offsetof(struct hit, rseq), 0);
	} else {
		/* Threads that have struct rseq have libc's block, which begins with its address.
		 */
		asm_thread_pointer(c, ACC, false);
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

void native_body_begin(struct gen *g)
{
	g->head_writes = g->code->written;
	g->code->written = 0;
	push_all(g, g->body_saves);
	native_lower_stack(g, body_bytes(g));
	g->hit_at = g->depth;
	g->frame_at = g->claim_at = g->depth - (int32_t)sizeof(struct hit) - 16;
	g->in_body = true;
	if (!g->has_hit)
		return;
	native_make_hit(g);
	g->tsc_at = g->hit_at - (int32_t)offsetof(struct hit, tsc);
}

static void release_scratch(struct gen *g)
{
	asm_const(g->code, TMP, 0);
	asm_store_last(g->code, MEM(KEEP, -(int32_t)sizeof(struct scratch_head)), TMP);
}

void native_body_end(struct gen *g)
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

static void claim_by_call(struct gen *g, const struct cold *cold)
{
	(void)cold;
	native_call(g, INSIDE_SCRATCH_CLAIM, HIT, MEMORY(native_at(g, g->claim_at)));
	asm_mov(g->code, KEEP, ACC);
	asm_test(g->code, ACC, ACC);
	asm_jump_if(g->code, COND_E, g->lost);
}

/* AUX = the thread that claims a frame. */
static void load_claimer(struct gen *g)
{
	if (g->place->tid == NATIVE_NONE)
		asm_const(g->code, AUX, SCRATCH_TAKEN);
	else
		asm_load(g->code, 4, false, AUX, MEM_THREAD(g->place->tid));
}

/* KEEP = a frame: that of this CPU, if it is free. */
void native_claim_scratch(struct gen *g)
{
	const struct layout *l = g->place->layout;
	struct native_code *c = g->code;
	int back = asm_label(c), call = native_cold(g, NULL, claim_by_call, back);
	struct sequence s;

	if (g->place->rseq == NATIVE_NONE) {
		asm_jump(c, call);
		asm_bind(c, back);
		return;
	}
	s = sequence_begin(g, l->scratch_own, call);
	asm_mul_imm(c, KEEP, ACC, (int32_t)(sizeof(struct scratch_head) + l->scratch_size));
	asm_const(c, TMP, g->place->shared + l->scratch_at);
	asm_alu(c, ALU_ADD, KEEP, TMP);
	asm_load(c, 8, false, TMP, MEM(KEEP, offsetof(struct scratch_head, thread)));
	asm_test(c, TMP, TMP);
	asm_jump_if(c, COND_NE, call);
	asm_lea(c, TMP, native_at(g, g->claim_at));
	asm_store(c, 8, MEM(KEEP, offsetof(struct scratch_head, mark)), TMP);
	asm_store(c, 8, native_at(g, g->claim_at), KEEP);
	load_claimer(g);
	asm_store(c, 8, MEM(KEEP, offsetof(struct scratch_head, thread)), AUX);
	sequence_end(g, &s);
	asm_lea(c, KEEP, MEM(KEEP, sizeof(struct scratch_head)));
	sequence_leave(g, back);
}

void native_leave_child(struct native_code *c, uint64_t process, int out)
{
	asm_const(c, ACC, process + offsetof(struct process_page, pid));
	asm_alu_mem_imm(c, ALU_CMP, 4, MEM(ACC, 0), 0);
	asm_jump_if(c, COND_E, out);
}

/* Nothing is done once the run is over; nor in a child that is not followed. ORDER: such a child
 * does not have the shared memory. */
void native_guard(struct gen *g, int out)
{
	const struct native_place *p = g->place;
	struct native_code *c = g->code;

	if (!p->follow)
		native_leave_child(c, p->process, out);
	asm_const(c, ACC, p->shared + offsetof(struct layout, is_stopped));
	asm_alu_mem_imm(c, ALU_CMP, 4, MEM(ACC, 0), 0);
	asm_jump_if(c, COND_NE, out);
}
