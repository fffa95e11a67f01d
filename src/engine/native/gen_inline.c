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

/* Begin a sequence, which is restarted at `retry`; eax = the CPU. `cold`: where to go when that is
 * none of the `cpus`. Ruins rax. */
static struct sequence sequence_from(struct gen *g, int retry, uint32_t cpus, int cold)
{
	struct native_code *c = g->code;
	struct sequence s = {x86_label(c), x86_label(c), x86_label(c)};

	native_cold(g, NULL, write_abort, retry);
	if (c->failed)
		return s;
	g->colds[g->cold_count - 1].back2 = s.abort;
	x86_lea(c, RAX, MEM_LABEL(native_pool_rseq(g, s.start, s.end, s.abort)));
	x86_store(c, 8, MEM_FS(g->place->rseq + (int32_t)offsetof(struct rseq, rseq_cs)), RAX);
	x86_bind(c, s.start);
	x86_load(c, 4, false, RAX, MEM_FS(g->place->rseq + (int32_t)offsetof(struct rseq, cpu_id)));
	x86_alu_imm(c, ALU_CMP, RAX, (int32_t)cpus);
	x86_jump_if(c, COND_AE, cold);
	return s;
}

static struct sequence sequence_begin(struct gen *g, uint32_t cpus, int cold)
{
	return sequence_from(g, x86_here(g->code), cpus, cold);
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
 * In the sequence: rcx is the ring, rsi the record and rdi the head after it. Records with texts or
 * stacks have a size that is known when they are sent: it is in r9, and the words of the texts are
 * in r10 and r11. */

#define MOST_VARIABLE 2	  /* texts and stacks of a record */
#define MOST_COPIED   256 /* bytes of another slot */

static const int word_counts[MOST_VARIABLE] = {R10, R11};

static bool is_variable(const struct gen *g, const struct field *f)
{
	return f->slot != SLOT_NO &&
	       (TYPE_BIT(native_slot_type(g, f->slot)->kind) &
		(TYPE_BIT(TYPE_STR) | TYPE_BIT(TYPE_BUF) | TYPE_BIT(TYPE_USTACK)));
}

static unsigned variable_count(const struct gen *g, const struct insn *in)
{
	unsigned count = 0;

	for (unsigned i = 0; i < in->field_count; i++)
		count += is_variable(g, &in->fields[i]);
	return count;
}

/* Bytes of the record without its texts and stacks; or at most, with them. */
static uint32_t record_bytes(const struct gen *g, const struct insn *in, bool most)
{
	uint32_t bytes = sizeof(struct ring_record) + sizeof(struct record_head);

	for (unsigned i = 0; i < in->field_count; i++) {
		const struct field *f = &in->fields[i];

		if (f->slot == SLOT_NO)
			bytes += 8;
		else if (most || !is_variable(g, f))
			bytes += (uint32_t)type_memory(native_slot_type(g, f->slot));
	}
	return bytes;
}

static bool has_inline_record(const struct gen *g, const struct insn *in)
{
	const struct format *f = &g->program->formats[in->imm];
	const struct layout *l = g->place->layout;

	for (unsigned i = 0; i < in->field_count; i++)
		if (in->fields[i].slot != SLOT_NO && !is_variable(g, &in->fields[i]) &&
		    type_memory(native_slot_type(g, in->fields[i].slot)) > MOST_COPIED)
			return false;
	return !format_is_control(f) && variable_count(g, in) <= MOST_VARIABLE &&
	       l->ring_stride <= INT32_MAX && l->ring_size <= INT32_MAX &&
	       record_bytes(g, in, true) <= l->ring_size / 4;
}

static bool has_slots(const struct insn *in)
{
	for (unsigned i = 0; i < in->field_count; i++)
		if (in->fields[i].slot != SLOT_NO)
			return true;
	return false;
}

/* Words from registers go to the frame when there is one, else beside. */
static void record_aside(struct gen *g, const struct cold *cold)
{
	const struct insn *in = cold->insn;
	bool in_frame = has_slots(in);
	struct aside a = native_aside_begin(g, in_frame ? 0 : 8u * in->field_count);
	int shape = native_record_shape(g, in, in_frame ? g->frame.emit_at : 0);
	struct x86_mem frame = in_frame ? native_frame(g, 0) : native_at(g, a.more_at);

	native_aside_hit(g);
	native_put_fields(g, in, in_frame ? native_frame(g, g->frame.emit_at) : frame);
	native_call(g, INSIDE_EMIT, HIT, LABEL(shape), MEMORY(frame));
	if (g->has_time) {
		x86_load(g->code, 8, false, RAX, native_hit_tsc(g));
		x86_alu_imm(g->code, ALU_ADD, RAX, 1);
		x86_store(g->code, 8, native_at(g, g->tsc_at), RAX);
	}
	native_aside_end(g, &a);
}

/* `reg` = the words of a text or stack, its head included; never more than the slot has, whatever
 * is in memory that others may have, too. */
static void count_words(struct gen *g, const struct field *f, int reg)
{
	const struct type *t = native_slot_type(g, f->slot);
	uint32_t most = t->size / 8;
	struct native_code *c = g->code;
	int fits = x86_label(c);

	x86_load(c, 4, false, reg, native_slot(g, f->slot, 0));
	if (t->kind != TYPE_USTACK) {
		x86_alu_imm(c, ALU_ADD, reg, 7);
		x86_shift_imm(c, SHIFT_RIGHT, reg, 3);
	}
	x86_alu_imm(c, ALU_CMP, reg, (int32_t)most);
	x86_jump_if(c, COND_BE, fits);
	x86_const(c, reg, most);
	x86_bind(c, fits);
	x86_alu_imm(c, ALU_ADD, reg, 1);
}

static void find_size(struct gen *g, const struct insn *in)
{
	unsigned number = 0;

	if (!variable_count(g, in))
		return;
	x86_const(g->code, R9, record_bytes(g, in, false));
	for (unsigned i = 0; i < in->field_count; i++) {
		if (!is_variable(g, &in->fields[i]))
			continue;
		count_words(g, &in->fields[i], word_counts[number]);
		x86_lea(g->code, R9, MEM_INDEX(R9, word_counts[number], 3, 0));
		number++;
	}
}

/* Compare `reg` with the size of the record. */
static void compare_size(struct gen *g, const struct insn *in, int reg)
{
	if (variable_count(g, in))
		x86_alu(g->code, ALU_CMP, reg, R9);
	else
		x86_alu_imm(g->code, ALU_CMP, reg, (int32_t)record_bytes(g, in, false));
}

/* to = from + the size of the record. */
static void add_size(struct gen *g, const struct insn *in, int to, int from)
{
	if (variable_count(g, in))
		x86_lea(g->code, to, MEM_INDEX(from, R9, 0, 0));
	else
		x86_lea(g->code, to, MEM(from, record_bytes(g, in, false)));
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

/* rsi becomes the address of what is at that position. The head and the limit are in memory that
 * others may have, too: whatever they are, the record ends before the ring does. */
static void find_position(struct gen *g, const struct insn *in, int outside)
{
	const struct layout *l = g->place->layout;

	x86_alu_imm(g->code, ALU_AND, RSI, (int32_t)(l->ring_size - 1));
	if (in) {
		add_size(g, in, RAX, RSI);
		x86_alu_imm(g->code, ALU_CMP, RAX, (int32_t)l->ring_size);
		x86_jump_if(g->code, COND_A, outside);
	}
	x86_lea(g->code, RSI, MEM_INDEX(RCX, RSI, 0, l->ring_data));
}

/* rdi = the end of the data, as a position, and rax = what is left before it. */
static void find_end(struct gen *g)
{
	struct native_code *c = g->code;

	x86_mov(c, RDI, RSI);
	x86_alu_imm(c, ALU_OR, RDI, (int32_t)(g->place->layout->ring_size - 1));
	x86_alu_imm(c, ALU_ADD, RDI, 1);
	x86_mov(c, RAX, RDI);
	x86_alu(c, ALU_SUB, RAX, RSI);
}

/* The end of the data is too near: what is left becomes a pad; then the record is tried again. */
static void pad_ring(struct gen *g, const struct cold *cold)
{
	int full = native_cold(g, cold->insn, record_aside, cold->back2);
	struct sequence s = sequence_begin(g, g->place->layout->cpus, full);
	struct native_code *c = g->code;

	find_ring(g);
	find_end(g);
	compare_size(g, cold->insn, RAX);
	x86_jump_if(c, COND_AE, cold->back); /* another thread has been here */
	x86_load(c, 8, false, RDX, MEM(RCX, offsetof(struct ring_head, tail)));
	x86_alu_imm(c, ALU_ADD, RDX, (int32_t)g->place->layout->ring_size);
	x86_alu(c, ALU_CMP, RDI, RDX);
	x86_jump_if(c, COND_A, full);
	find_position(g, NULL, full);
	x86_store(c, 4, MEM(RSI, offsetof(struct ring_record, size)), RAX);
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
	if (c->failed)
		return;
	g->colds[g->cold_count - 1].back2 = cold->back2;
	find_ring(g);
	find_end(g);
	compare_size(g, cold->insn, RAX);
	x86_jump_if(c, COND_B, pad);
	x86_load(c, 8, false, RDX, MEM(RCX, offsetof(struct ring_head, tail)));
	x86_alu_imm(c, ALU_ADD, RDX, (int32_t)g->place->layout->ring_size);
	x86_alu(c, ALU_CMP, RDX, RDI);
	x86_jump_if(c, COND_AE, nearer);
	x86_mov(c, RDI, RDX);
	x86_bind(c, nearer);
	x86_mov(c, RAX, RDI);
	x86_alu(c, ALU_SUB, RAX, RSI);
	compare_size(g, cold->insn, RAX);
	x86_jump_if(c, COND_L, full);
	x86_store(c, 8, MEM(RCX, offsetof(struct ring_head, limit)), RDI);
	sequence_end(g, &s);
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

/* Time, sizes, format. Ruins rax and rdx. */
static void write_heads(struct gen *g, const struct insn *in)
{
	const int32_t head = sizeof(struct ring_record);
	uint32_t bytes = record_bytes(g, in, false);
	struct native_code *c = g->code;

	take_time(g);
	x86_store(c, 8, MEM(RSI, offsetof(struct ring_record, tsc)), RAX);
	x86_store_imm(c, 4, MEM(RSI, offsetof(struct ring_record, flags)), 0);
	x86_store_imm(c, 4, MEM(RSI, head + (int32_t)offsetof(struct record_head, format)),
		      (uint16_t)in->imm); /* and flags, 0 */
	if (!variable_count(g, in)) {
		x86_store_imm(c, 4, MEM(RSI, offsetof(struct ring_record, size)), (int32_t)bytes);
		x86_store_imm(c, 4, MEM(RSI, head + (int32_t)offsetof(struct record_head, size)),
			      (int32_t)bytes - head);
		return;
	}
	x86_store(c, 4, MEM(RSI, offsetof(struct ring_record, size)), R9);
	x86_lea(c, RAX, MEM(R9, -head));
	x86_store(c, 4, MEM(RSI, head + (int32_t)offsetof(struct record_head, size)), RAX);
}

/* `count` words from slot to *to; rsi moves to after them. Ruins rax, rdx and `count`. */
static void write_variable(struct gen *g, const struct field *f, struct x86_mem *to, int count)
{
	struct native_code *c = g->code;
	int more = x86_label(c);

	x86_lea(c, RSI, *to);
	*to = MEM(RSI, 0);
	x86_lea(c, RDX, native_slot(g, f->slot, 0));
	x86_bind(c, more);
	x86_load(c, 8, false, RAX, MEM(RDX, 0));
	x86_store(c, 8, MEM(RSI, 0), RAX);
	x86_alu_imm(c, ALU_ADD, RDX, 8);
	x86_alu_imm(c, ALU_ADD, RSI, 8);
	x86_alu_imm(c, ALU_SUB, count, 1);
	x86_jump_if(c, COND_NE, more);
}

static void write_words(struct gen *g, const struct field *f, struct x86_mem *to)
{
	uint32_t bytes =
		f->slot == SLOT_NO ? 8 : (uint32_t)type_memory(native_slot_type(g, f->slot));
	int32_t imm;

	for (uint32_t at = 0; at < bytes; at += 8, to->disp += 8) {
		if (f->slot == SLOT_NO && native_is_imm(g, f->reg, &imm)) {
			x86_store_imm(g->code, 8, *to, imm);
			continue;
		}
		if (f->slot == SLOT_NO)
			native_read(g, f->reg, RAX);
		else
			x86_load(g->code, 8, false, RAX, native_slot(g, f->slot, at));
		x86_store(g->code, 8, *to, RAX);
	}
}

static void write_fields(struct gen *g, const struct insn *in)
{
	struct x86_mem to = MEM(RSI, sizeof(struct ring_record) + sizeof(struct record_head));
	unsigned number = 0;

	for (unsigned i = 0; i < in->field_count; i++) {
		if (is_variable(g, &in->fields[i]))
			write_variable(g, &in->fields[i], &to, word_counts[number++]);
		else
			write_words(g, &in->fields[i], &to);
	}
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
	find_size(g, in);
	s = sequence_from(g, again, g->place->layout->cpus, aside);
	find_ring(g);
	add_size(g, in, RDI, RSI);
	x86_alu_load(c, ALU_CMP, RDI, MEM(RCX, offsetof(struct ring_head, limit)));
	x86_jump_if(c, COND_A, renew);
	find_position(g, in, aside);
	write_heads(g, in);
	write_fields(g, in);
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
