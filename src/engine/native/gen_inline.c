/* What is done in the trampoline itself, in a restartable sequence (rseq): adding to a cell of an
 * aggregate, and a record of plain words. The kernel restarts a thread that it interrupts in
 *such a sequence, unless its last instruction was executed. So nobody else runs on this CPU between
 *the first instruction and the last, and memory that belongs to the CPU is changed without atomic
 * instructions, by the last instruction alone. Whatever does not go the usual way is left to the
 * functions of inside.h.
 *
 *	retry:	lea  sequence, %rax		; struct rseq_cs, after the code
 *		mov  %rax, %fs:rseq_cs
 *	start:	mov  %fs:cpu_id, %eax
 *		...				; may jump out, having changed nothing that counts
 *		add  %rdx, (%rax)		; the commit
 *	end:
 */
#include <linux/rseq.h>

#include "engine/native/gen_state.h"

/* What the kernel wants to find before the place where it restarts a thread: the number that glibc
 * has registered; an instruction that is never reached. */
#define RSEQ_SIGNATURE "\x0f\xb9\x3d\x53\x30\x05\x53" /* ud1 0x53053053(%rip), %edi */

struct sequence {
	int start, end, abort;
};

static void write_abort(struct gen *g, const struct cold *cold)
{
	x86_bytes(g->code, RSEQ_SIGNATURE, sizeof(RSEQ_SIGNATURE) - 1);
	x86_bind(g->code, cold->back2); /* the jump back is all */
}

/* Begin a sequence; eax = the CPU. `cold`: where to go when it has none of the `cpus`. Ruins rax.
 */
static struct sequence sequence_begin(struct gen *g, uint32_t cpus, int cold)
{
	struct native_code *c = g->code;
	int retry = x86_label(c);
	struct sequence s = {x86_label(c), x86_label(c), x86_label(c)};

	native_cold(g, NULL, write_abort, retry);
	if (c->failed)
		return s;
	g->colds[g->cold_count - 1].back2 = s.abort;
	x86_bind(c, retry);
	x86_lea(c, RAX, MEM_LABEL(native_pool_rseq(g, s.start, s.end, s.abort)));
	x86_store(c, 8, MEM_FS(g->place->rseq + (int32_t)offsetof(struct rseq, rseq_cs)), RAX);
	x86_bind(c, s.start);
	x86_load(c, 4, false, RAX, MEM_FS(g->place->rseq + (int32_t)offsetof(struct rseq, cpu_id)));
	x86_alu_imm(c, ALU_CMP, RAX, (int32_t)cpus);
	x86_jump_if(c, COND_AE, cold);
	return s;
}

/* The instruction before was the commit. */
static void sequence_end(struct gen *g, const struct sequence *s)
{
	x86_bind(g->code, s->end);
}

/* All ways on from a sequence lead here: the kernel must not find a sequence in memory that may be
 * used otherwise, some day. */
static void sequence_leave(struct gen *g, int back)
{
	x86_bind(g->code, back);
	x86_store_imm(g->code, 8, MEM_FS(g->place->rseq + (int32_t)offsetof(struct rseq, rseq_cs)),
		      0);
}

/* ---- aggregates */

bool native_has_cell(const struct gen *g, const struct insn *in)
{
	const struct map_shape *m = &g->place->maps[in->map];
	const struct type *t = &g->program->maps[in->map].value;

	return g->place->rseq != NATIVE_NONE && m->rseq_stripes && m->cell_stride <= INT32_MAX &&
	       (t->kind == TYPE_COUNT || t->kind == TYPE_SUM || (t->kind == TYPE_HIST && !t->bits));
}

static const struct map_shape *shape_of(const struct gen *g, const struct insn *in)
{
	return &g->place->maps[in->map];
}

static bool is_hist(const struct gen *g, const struct insn *in)
{
	return g->program->maps[in->map].value.kind == TYPE_HIST;
}

static void aggregate_aside(struct gen *g, const struct cold *cold)
{
	const struct insn *in = cold->insn;
	struct aside a = native_aside_begin(g, 0);
	struct native_arg value = {ARG_REG, in->a, 0, {0}};
	int shape = native_map_shape(g, in);

	native_aside_hit(g);
	if (in->a == REG_NO)
		value = (struct native_arg)NOTHING;
	native_call(g, INSIDE_AGGREGATE, HIT, LABEL(shape), native_key(g, in), value,
		    IMM(in->span));
	native_aside_end(g, &a);
}

/* rax = the cell of this CPU, which eax is the number of, and rcx = the number that it must have.
 * Keys have that in rcx already; else the map has one entry, which is looked at. rsi is the cell's
 * offset in those of the CPU. */
static void find_cell(struct gen *g, const struct insn *in, int cold)
{
	const struct map_shape *m = shape_of(g, in);
	struct native_code *c = g->code;
	bool has_offset = is_hist(g, in) || !m->is_single;

	x86_imul_imm(c, RAX, RAX, (int32_t)m->cell_stride);
	if (has_offset)
		x86_alu(c, ALU_ADD, RAX, RSI);
	if (!m->is_single) {
		x86_const(c, RDI, g->place->shared + map_cell_at(m, 0, 0));
		x86_alu(c, ALU_ADD, RAX, RDI);
		return;
	}
	x86_const(c, RCX, g->place->shared + map_cell_at(m, 0, 1));
	x86_alu(c, ALU_ADD, RAX, RCX);
	x86_const(c, RCX, g->place->shared + map_entry_at(m, 1));
	x86_load(c, 8, false, RCX, MEM(RCX, offsetof(struct map_entry, link)));
	x86_test_imm(c, RCX, LINK_DEAD);
	x86_jump_if(c, COND_NE, cold);
}

/* The first of this CPU: its cell is of an earlier use of the entry, unless another thread has been
 * here meanwhile, or the entry is used anew. Number last. */
static void first_in_cell(struct gen *g, const struct cold *cold)
{
	const struct insn *in = cold->insn;
	int aside = native_cold(g, in, aggregate_aside, cold->back);
	struct sequence s = sequence_begin(g, shape_of(g, in)->rseq_stripes, aside);

	find_cell(g, in, aside);
	x86_alu_load(g->code, ALU_CMP, RCX, MEM(RAX, offsetof(struct map_cell, number)));
	x86_jump_if(g->code, COND_E, cold->back2);
	x86_jump_if(g->code, COND_B, aside);
	x86_store(g->code, 8, MEM(RAX, offsetof(struct map_cell, value)), RDX);
	x86_store(g->code, 8, MEM(RAX, offsetof(struct map_cell, number)), RCX);
	sequence_end(g, &s);
}

/* rsi = the offset of the cell of the bucket that the value falls into: hist_bucket(), with one
 * bucket for each power of two. Ruins rdx. */
static void find_bucket(struct gen *g, const struct insn *in)
{
	const struct type *t = &g->program->maps[in->map].value;
	struct native_code *c = g->code;
	int done = x86_label(c);

	native_read(g, in->a, RDX);
	x86_const(c, RSI, 0);
	x86_test(c, RDX, RDX);
	if (t->is_signed)
		x86_jump_if(c, COND_S, done);
	x86_const(c, RSI, sizeof(struct map_cell));
	x86_jump_if(c, COND_E, done);
	x86_bsr(c, RSI, RDX);
	x86_alu_imm(c, ALU_ADD, RSI, 2);
	x86_shift_imm(c, SHIFT_LEFT, RSI, 4);
	x86_bind(c, done);
}

/* Find the entry of a key: rsi = the offset of its cells, or of the bucket's among them; rcx =
 * their number. Goes to `back` when there is no room. */
static void find_entry(struct gen *g, const struct insn *in, int back)
{
	const struct map_shape *m = shape_of(g, in);
	int shape = native_map_shape(g, in);
	struct native_code *c = g->code;

	native_call(g, INSIDE_MAP_PLACE, HIT, LABEL(shape), native_key(g, in), IMM(in->span));
	x86_test(c, RAX, RAX);
	x86_jump_if(c, COND_E, back);
	x86_imul_imm(c, R8, RAX, (int32_t)(m->cell_words * sizeof(struct map_cell)));
	x86_mov(c, RCX, RDX);
	if (is_hist(g, in)) {
		find_bucket(g, in);
		x86_alu(c, ALU_ADD, RSI, R8);
	} else {
		x86_mov(c, RSI, R8);
	}
}

void native_cell_aggregate(struct gen *g, const struct insn *in)
{
	struct native_code *c = g->code;
	int back = x86_label(c);
	int aside = native_cold(g, in, aggregate_aside, back);
	int first = native_cold(g, in, first_in_cell, back), again = x86_label(c);
	struct sequence s;

	if (c->failed)
		return;
	g->colds[g->cold_count - 1].back2 = again;
	if (!shape_of(g, in)->is_single)
		find_entry(g, in, back);
	else if (is_hist(g, in))
		find_bucket(g, in);
	if (g->program->maps[in->map].value.kind == TYPE_SUM)
		native_read(g, in->a, RDX);
	else
		x86_const(c, RDX, 1);
	x86_bind(c, again);
	s = sequence_begin(g, shape_of(g, in)->rseq_stripes, aside);
	find_cell(g, in, aside);
	x86_alu_load(c, ALU_CMP, RCX, MEM(RAX, offsetof(struct map_cell, number)));
	x86_jump_if(c, COND_NE, first);
	x86_add_to(c, MEM(RAX, offsetof(struct map_cell, value)), RDX);
	sequence_end(g, &s);
	sequence_leave(g, back);
}

/* ---- records
 *
 * In the sequence: rcx is the ring, rdi the head after the record, rsi the record. */

static uint32_t record_bytes(const struct insn *in)
{
	return (uint32_t)(sizeof(struct ring_record) + sizeof(struct record_head)) +
	       8 * in->field_count;
}

static bool has_inline_record(const struct gen *g, const struct insn *in)
{
	const struct format *f = &g->program->formats[in->imm];
	const struct layout *l = g->place->layout;

	for (unsigned i = 0; i < in->field_count; i++)
		if (in->fields[i].slot != SLOT_NO)
			return false;
	return !format_is_control(f) && l->ring_stride <= INT32_MAX && l->ring_size <= INT32_MAX;
}

static void record_aside(struct gen *g, const struct cold *cold)
{
	const struct insn *in = cold->insn;
	struct aside a = native_aside_begin(g, 8u * in->field_count);
	int shape = native_record_shape(g, in, 0);

	native_aside_hit(g);
	native_put_fields(g, in, native_at(g, a.more_at));
	native_call(g, INSIDE_EMIT, HIT, LABEL(shape), MEMORY(native_at(g, a.more_at)));
	if (g->has_time) {
		x86_load(g->code, 8, false, RAX, native_hit_tsc(g));
		x86_alu_imm(g->code, ALU_ADD, RAX, 1);
		x86_store(g->code, 8, native_at(g, g->tsc_at), RAX);
	}
	native_aside_end(g, &a);
}

/* rcx = the ring of this CPU, rsi = its head. */
static void find_ring(struct gen *g)
{
	const struct layout *l = g->place->layout;
	struct native_code *c = g->code;

	x86_imul_imm(c, RCX, RAX, (int32_t)l->ring_stride);
	x86_const(c, RAX, g->place->shared + l->rings_at);
	x86_alu(c, ALU_ADD, RCX, RAX);
	x86_load(c, 8, false, RSI, MEM(RCX, offsetof(struct ring_head, head)));
}

/* rsi becomes the address of what is at that position. */
static void find_position(struct gen *g)
{
	const struct layout *l = g->place->layout;

	x86_alu_imm(g->code, ALU_AND, RSI, (int32_t)(l->ring_size - 1));
	x86_lea(g->code, RSI, MEM_INDEX(RCX, RSI, 0, l->ring_data));
}

/* The end of the data is too near: what is left becomes a pad; then the record is tried again. */
static void pad_ring(struct gen *g, const struct cold *cold)
{
	int full = native_cold(g, cold->insn, record_aside, cold->back2);
	struct sequence s = sequence_begin(g, g->place->layout->cpus, full);
	struct native_code *c = g->code;

	find_ring(g);
	x86_mov(c, RDI, RSI);
	x86_alu_imm(c, ALU_OR, RDI, (int32_t)(g->place->layout->ring_size - 1));
	x86_alu_imm(c, ALU_ADD, RDI, 1); /* the end of the data, as a position */
	x86_load(c, 8, false, RDX, MEM(RCX, offsetof(struct ring_head, tail)));
	x86_lea(c, RAX, MEM(RDX, g->place->layout->ring_size));
	x86_alu(c, ALU_CMP, RDI, RAX);
	x86_jump_if(c, COND_A, full);
	x86_mov(c, RDX, RDI);
	x86_alu(c, ALU_SUB, RDX, RSI);
	x86_alu_imm(c, ALU_CMP, RDX, (int32_t)record_bytes(cold->insn));
	x86_jump_if(c, COND_AE, cold->back); /* another thread has been here */
	find_position(g);
	x86_store(c, 4, MEM(RSI, offsetof(struct ring_record, size)), RDX);
	x86_store_imm(c, 4, MEM(RSI, offsetof(struct ring_record, flags)), RING_PAD);
	x86_store(c, 8, MEM(RCX, offsetof(struct ring_head, head)), RDI);
	sequence_end(g, &s);
}

/* The limit was reached: a new one from the reader's tail; then the record is tried again. */
static void renew_limit(struct gen *g, const struct cold *cold)
{
	int full = native_cold(g, cold->insn, record_aside, cold->back2), pad;
	struct sequence s = sequence_begin(g, g->place->layout->cpus, full);
	struct native_code *c = g->code;
	int nearer = x86_label(c);

	pad = native_cold(g, cold->insn, pad_ring, cold->back);
	g->colds[g->cold_count - 1].back2 = cold->back2;
	find_ring(g);
	x86_mov(c, RDI, RSI);
	x86_alu_imm(c, ALU_OR, RDI, (int32_t)(g->place->layout->ring_size - 1));
	x86_alu_imm(c, ALU_ADD, RDI, 1);
	x86_mov(c, RAX, RDI);
	x86_alu(c, ALU_SUB, RAX, RSI);
	x86_alu_imm(c, ALU_CMP, RAX, (int32_t)record_bytes(cold->insn));
	x86_jump_if(c, COND_B, pad);
	x86_load(c, 8, false, RDX, MEM(RCX, offsetof(struct ring_head, tail)));
	x86_alu_imm(c, ALU_ADD, RDX, (int32_t)g->place->layout->ring_size);
	x86_alu(c, ALU_CMP, RDX, RDI);
	x86_jump_if(c, COND_AE, nearer);
	x86_mov(c, RDI, RDX);
	x86_bind(c, nearer);
	x86_mov(c, RAX, RDI);
	x86_alu(c, ALU_SUB, RAX, RSI);
	x86_alu_imm(c, ALU_CMP, RAX, (int32_t)record_bytes(cold->insn));
	x86_jump_if(c, COND_L, full);
	x86_store(c, 8, MEM(RCX, offsetof(struct ring_head, limit)), RDI);
	sequence_end(g, &s);
}

static uint64_t head_word(const struct insn *in)
{
	struct record_head head = {.size = record_bytes(in) - (uint32_t)sizeof(struct ring_record),
				   .format = (uint16_t)in->imm};
	uint64_t word;

	memcpy(&word, &head, sizeof(word));
	return word;
}

/* rax = when the site was hit, or a little later for each record before; ruins rdx. */
static void take_time(struct gen *g)
{
	struct native_code *c = g->code;
	int known = x86_label(c);

	if (g->has_time) {
		x86_load(c, 8, false, RAX, native_at(g, g->tsc_at));
		x86_test(c, RAX, RAX);
		x86_jump_if(c, COND_NE, known);
	}
	x86_rdtsc(c);
	x86_bind(c, known);
	if (g->has_time) {
		x86_lea(c, RDX, MEM(RAX, 1));
		x86_store(c, 8, native_at(g, g->tsc_at), RDX);
	}
}

/* Size and flags, when it was, and the fields, at rsi. Ruins rax and rdx. */
static void fill_record(struct gen *g, const struct insn *in)
{
	struct native_code *c = g->code;
	uint64_t head = head_word(in);

	take_time(g);
	x86_store(c, 8, MEM(RSI, offsetof(struct ring_record, tsc)), RAX);
	x86_store_imm(c, 8, MEM(RSI, offsetof(struct ring_record, size)),
		      (int32_t)record_bytes(in));
	x86_store_imm(c, 4, MEM(RSI, sizeof(struct ring_record)), (int32_t)head);
	x86_store_imm(c, 4, MEM(RSI, sizeof(struct ring_record) + 4), (int32_t)(head >> 32));
	native_put_fields(g, in, MEM(RSI, sizeof(struct ring_record) + sizeof(struct record_head)));
}

void native_inline_record(struct gen *g, const struct insn *in)
{
	struct native_code *c = g->code;
	int back = x86_label(c), again = x86_here(c);
	int aside = native_cold(g, in, record_aside, back);
	int renew = native_cold(g, in, renew_limit, again);
	struct sequence s;

	if (c->failed)
		return;
	g->colds[g->cold_count - 1].back2 = back;
	s = sequence_begin(g, g->place->layout->cpus, aside);
	find_ring(g);
	x86_lea(c, RDI, MEM(RSI, record_bytes(in)));
	x86_alu_load(c, ALU_CMP, RDI, MEM(RCX, offsetof(struct ring_head, limit)));
	x86_jump_if(c, COND_A, renew);
	find_position(g);
	fill_record(g, in);
	x86_store(c, 8, MEM(RCX, offsetof(struct ring_head, head)), RDI);
	sequence_end(g, &s);
	sequence_leave(g, back);
}

bool native_is_inline(const struct gen *g, const struct insn *in)
{
	if (in->op == OP_AGGREGATE)
		return native_has_cell(g, in) && g->place->maps[in->map].is_single;
	return in->op == OP_EMIT && g->place->rseq != NATIVE_NONE && has_inline_record(g, in);
}
