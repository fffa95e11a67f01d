/* Sending a record from the trampoline itself.
 *
 * In the sequence: TMP is the ring, W1 the record and W2 the head after it. Records with texts or
 * stacks have a size that is known when they are sent: it is in W4, and the words of the texts are
 * in W5 and W6. */
#include "user/gen/gen_inline.h"

#define MOST_VARIABLE 2	  /* texts and stacks of a record */
#define MOST_COPIED   256 /* bytes of another slot */
#define AHEAD	      512 /* bytes after a record's start whose cache line is fetched */

static const int word_counts[MOST_VARIABLE] = {W5, W6};

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

bool native_has_inline_record(const struct gen *g, const struct insn *in)
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
	struct asm_mem frame = in_frame ? native_frame(g, 0) : native_at(g, a.more_at);

	native_aside_hit(g);
	native_put_fields(g, in, in_frame ? native_frame(g, g->frame.emit_at) : frame);
	native_call(g, INSIDE_EMIT, HIT, LABEL(shape), MEMORY(frame));
	if (g->has_time) {
		asm_load(g->code, 8, false, ACC, native_hit_tsc(g));
		asm_alu_imm(g->code, ALU_ADD, ACC, 1);
		asm_store(g->code, 8, native_at(g, g->tsc_at), ACC);
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
	int fits = asm_label(c);

	asm_load(c, 4, false, reg, native_slot(g, f->slot, 0));
	if (t->kind != TYPE_USTACK) {
		asm_alu_imm(c, ALU_ADD, reg, 7);
		asm_shift_imm(c, SHIFT_RIGHT, reg, 3);
	}
	asm_alu_imm(c, ALU_CMP, reg, (int32_t)most);
	asm_jump_if(c, COND_BE, fits);
	asm_const(c, reg, most);
	asm_bind(c, fits);
	asm_alu_imm(c, ALU_ADD, reg, 1);
}

static void find_size(struct gen *g, const struct insn *in)
{
	unsigned number = 0;

	if (!variable_count(g, in))
		return;
	asm_const(g->code, W4, record_bytes(g, in, false));
	for (unsigned i = 0; i < in->field_count; i++) {
		if (!is_variable(g, &in->fields[i]))
			continue;
		count_words(g, &in->fields[i], word_counts[number]);
		asm_lea(g->code, W4, MEM_INDEX(W4, word_counts[number], 3, 0));
		number++;
	}
}

/* Compare `reg` with the size of the record. */
static void compare_size(struct gen *g, const struct insn *in, int reg)
{
	if (variable_count(g, in))
		asm_alu(g->code, ALU_CMP, reg, W4);
	else
		asm_alu_imm(g->code, ALU_CMP, reg, (int32_t)record_bytes(g, in, false));
}

/* to = from + the size of the record. */
static void add_size(struct gen *g, const struct insn *in, int to, int from)
{
	if (variable_count(g, in))
		asm_lea(g->code, to, MEM_INDEX(from, W4, 0, 0));
	else
		asm_lea(g->code, to, MEM(from, record_bytes(g, in, false)));
}

/* TMP = the ring of this CPU, W1 = its head. */
static void find_ring(struct gen *g)
{
	const struct layout *l = g->place->layout;
	struct native_code *c = g->code;

	asm_mul_imm(c, TMP, ACC, (int32_t)l->ring_stride);
	asm_const(c, ACC, g->place->shared + l->rings_at);
	asm_alu(c, ALU_ADD, TMP, ACC);
	asm_load(c, 8, false, W1, MEM(TMP, offsetof(struct ring_head, head)));
}

/* W1 becomes the address of what is at that position. The head and the limit are in memory that
 * others may have, too: whatever they are, the record ends before the ring does. */
static void find_position(struct gen *g, const struct insn *in, int outside)
{
	const struct layout *l = g->place->layout;

	asm_alu_imm(g->code, ALU_AND, W1, (int32_t)(l->ring_size - 1));
	if (in) {
		add_size(g, in, ACC, W1);
		asm_alu_imm(g->code, ALU_CMP, ACC, (int32_t)l->ring_size);
		asm_jump_if(g->code, COND_A, outside);
	}
	asm_lea(g->code, W1, MEM_INDEX(TMP, W1, 0, l->ring_data));
}

/* W2 = the end of the data, as a position, and ACC = what is left before it. */
static void find_end(struct gen *g)
{
	struct native_code *c = g->code;

	asm_mov(c, W2, W1);
	asm_alu_imm(c, ALU_OR, W2, (int32_t)(g->place->layout->ring_size - 1));
	asm_alu_imm(c, ALU_ADD, W2, 1);
	asm_mov(c, ACC, W2);
	asm_alu(c, ALU_SUB, ACC, W1);
}

/* The end of the data is too near: what is left becomes a pad; then the record is tried again. */
static void pad_ring(struct gen *g, const struct cold *cold)
{
	int full = native_cold(g, cold->insn, record_aside, cold->back2);
	struct sequence s = sequence_begin(g, g->place->layout->cpus, full);
	struct native_code *c = g->code;

	find_ring(g);
	find_end(g);
	compare_size(g, cold->insn, ACC);
	asm_jump_if(c, COND_AE, cold->back); /* another thread has been here */
	asm_load(c, 8, false, AUX, MEM(TMP, offsetof(struct ring_head, tail)));
	asm_alu_imm(c, ALU_ADD, AUX, (int32_t)g->place->layout->ring_size);
	asm_alu(c, ALU_CMP, W2, AUX);
	asm_jump_if(c, COND_A, full);
	find_position(g, NULL, full);
	asm_store(c, 4, MEM(W1, offsetof(struct ring_record, size)), ACC);
	asm_store_imm(c, 4, MEM(W1, offsetof(struct ring_record, flags)), RING_PAD);
	asm_store_last(c, MEM(TMP, offsetof(struct ring_head, head)), W2);
	sequence_end(g, &s);
}

/* The limit was reached: a new one from the reader's tail; then the record is tried again. */
static void renew_limit(struct gen *g, const struct cold *cold)
{
	int full = native_cold(g, cold->insn, record_aside, cold->back2), pad;
	struct sequence s = sequence_begin(g, g->place->layout->cpus, full);
	struct native_code *c = g->code;
	int nearer = asm_label(c);

	pad = native_cold(g, cold->insn, pad_ring, cold->back);
	if (c->failed)
		return;
	g->colds[g->cold_count - 1].back2 = cold->back2;
	find_ring(g);
	find_end(g);
	compare_size(g, cold->insn, ACC);
	asm_jump_if(c, COND_B, pad);
	asm_load(c, 8, false, AUX, MEM(TMP, offsetof(struct ring_head, tail)));
	asm_alu_imm(c, ALU_ADD, AUX, (int32_t)g->place->layout->ring_size);
	asm_alu(c, ALU_CMP, AUX, W2);
	asm_jump_if(c, COND_AE, nearer);
	asm_mov(c, W2, AUX);
	asm_bind(c, nearer);
	asm_mov(c, ACC, W2);
	asm_alu(c, ALU_SUB, ACC, W1);
	compare_size(g, cold->insn, ACC);
	asm_jump_if(c, COND_L, full);
	asm_store(c, 8, MEM(TMP, offsetof(struct ring_head, limit)), W2);
	sequence_end(g, &s);
}

/* ACC = when the site was hit, or a little later for each record before; ruins AUX. */
static void take_time(struct gen *g)
{
	struct native_code *c = g->code;
	int known = asm_label(c);

	if (g->has_time) {
		asm_load(c, 8, false, ACC, native_at(g, g->tsc_at));
		asm_test(c, ACC, ACC);
		asm_jump_if(c, COND_NE, known);
	}
	asm_clock(c);
	asm_bind(c, known);
	if (g->has_time) {
		asm_lea(c, AUX, MEM(ACC, 1));
		asm_store(c, 8, native_at(g, g->tsc_at), AUX);
	}
}

/* Time, sizes, format. Ruins ACC and AUX. */
static void write_heads(struct gen *g, const struct insn *in)
{
	const int32_t head = sizeof(struct ring_record);
	uint32_t bytes = record_bytes(g, in, false);
	struct native_code *c = g->code;

	asm_expect_store(c, MEM(W1, AHEAD));
	take_time(g);
	asm_store(c, 8, MEM(W1, offsetof(struct ring_record, tsc)), ACC);
	asm_store_imm(c, 4, MEM(W1, offsetof(struct ring_record, flags)), 0);
	asm_store_imm(c, 4, MEM(W1, head + (int32_t)offsetof(struct record_head, format)),
		      (uint16_t)in->imm); /* and flags, 0 */
	if (!variable_count(g, in)) {
		asm_store_imm(c, 4, MEM(W1, offsetof(struct ring_record, size)), (int32_t)bytes);
		asm_store_imm(c, 4, MEM(W1, head + (int32_t)offsetof(struct record_head, size)),
			      (int32_t)bytes - head);
		return;
	}
	asm_store(c, 4, MEM(W1, offsetof(struct ring_record, size)), W4);
	asm_lea(c, ACC, MEM(W4, -head));
	asm_store(c, 4, MEM(W1, head + (int32_t)offsetof(struct record_head, size)), ACC);
}

/* `count` words from slot to *to; W1 moves to after them. Ruins ACC, AUX and `count`. */
static void write_variable(struct gen *g, const struct field *f, struct asm_mem *to, int count)
{
	struct native_code *c = g->code;
	int more = asm_label(c);

	asm_lea(c, W1, *to);
	*to = MEM(W1, 0);
	asm_lea(c, AUX, native_slot(g, f->slot, 0));
	asm_bind(c, more);
	asm_load(c, 8, false, ACC, MEM(AUX, 0));
	asm_store(c, 8, MEM(W1, 0), ACC);
	asm_alu_imm(c, ALU_ADD, AUX, 8);
	asm_alu_imm(c, ALU_ADD, W1, 8);
	asm_alu_imm(c, ALU_SUB, count, 1);
	asm_jump_if(c, COND_NE, more);
}

static void write_words(struct gen *g, const struct field *f, struct asm_mem *to)
{
	uint32_t bytes =
		f->slot == SLOT_NO ? 8 : (uint32_t)type_memory(native_slot_type(g, f->slot));
	int32_t imm;

	for (uint32_t at = 0; at < bytes; at += 8, to->disp += 8) {
		if (f->slot == SLOT_NO && native_is_imm(g, f->reg, &imm)) {
			asm_store_imm(g->code, 8, *to, imm);
			continue;
		}
		if (f->slot == SLOT_NO)
			native_read(g, f->reg, ACC);
		else
			asm_load(g->code, 8, false, ACC, native_slot(g, f->slot, at));
		asm_store(g->code, 8, *to, ACC);
	}
}

static void write_fields(struct gen *g, const struct insn *in)
{
	struct asm_mem to = MEM(W1, sizeof(struct ring_record) + sizeof(struct record_head));
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
	int back = asm_label(c), again = asm_here(c);
	int aside = native_cold(g, in, record_aside, back);
	int renew = native_cold(g, in, renew_limit, again);
	struct sequence s;

	if (c->failed)
		return;
	g->colds[g->cold_count - 1].back2 = back;
	find_size(g, in);
	s = sequence_begin(g, g->place->layout->cpus, aside);
	find_ring(g);
	add_size(g, in, W2, W1);
	asm_alu_load(c, ALU_CMP, W2, MEM(TMP, offsetof(struct ring_head, limit)));
	asm_jump_if(c, COND_A, renew);
	find_position(g, in, aside);
	write_heads(g, in);
	write_fields(g, in);
	asm_store_last(c, MEM(TMP, offsetof(struct ring_head, head)), W2);
	sequence_end(g, &s);
	sequence_leave(g, back);
}
