/* Adding to the cell of an aggregate in the trampoline itself. */
#include "user/gen/gen_inline.h"

bool native_has_cell(const struct gen *g, const struct insn *in)
{
	const struct map_shape *m = &g->place->maps[in->map];
	bool is_added = m->takes == TAKES_ONE || m->takes == TAKES_NUMBER ||
			(m->takes == TAKES_HIST && !m->bits);

	return g->place->rseq != NATIVE_NONE && m->rseq_stripes && m->cell_chunk <= INT32_MAX &&
	       is_added && m->join == JOIN_ADD;
}

static const struct map_shape *shape_of(const struct gen *g, const struct insn *in)
{
	return &g->place->maps[in->map];
}

static bool is_hist(const struct gen *g, const struct insn *in)
{
	return shape_of(g, in)->takes == TAKES_HIST;
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

/* ACC = the cell of this CPU, which ACC is the number of, and TMP = the number that it must have.
 * Keys have that in TMP already; else the map has one entry, which is looked at. W1 is the cell's
 * offset in those of the CPU. */
static void find_cell(struct gen *g, const struct insn *in, int cold)
{
	const struct map_shape *m = shape_of(g, in);
	struct native_code *c = g->code;
	bool has_offset = is_hist(g, in) || !m->is_single;

	asm_mul_imm(c, ACC, ACC, (int32_t)m->cell_stride);
	if (has_offset)
		asm_alu(c, ALU_ADD, ACC, W1);
	if (!m->is_single) {
		asm_const(c, W2, g->place->shared + map_cell_at(m, 0, 0));
		asm_alu(c, ALU_ADD, ACC, W2);
		return;
	}
	asm_const(c, TMP, g->place->shared + map_cell_at(m, 0, 1));
	asm_alu(c, ALU_ADD, ACC, TMP);
	asm_const(c, TMP, g->place->shared + map_entry_at(m, 1));
	asm_load(c, 8, false, TMP, MEM(TMP, offsetof(struct map_entry, link)));
	asm_test_imm(c, TMP, LINK_DEAD);
	asm_jump_if(c, COND_NE, cold);
}

/* The first of this CPU: its cell is of an earlier use of the entry, unless another thread has been
 * here meanwhile, or the entry is used again. Number last. */
static void first_in_cell(struct gen *g, const struct cold *cold)
{
	const struct insn *in = cold->insn;
	int aside = native_cold(g, in, aggregate_aside, cold->back);
	struct sequence s = sequence_begin(g, shape_of(g, in)->rseq_stripes, aside);

	find_cell(g, in, aside);
	asm_alu_load(g->code, ALU_CMP, TMP, MEM(ACC, offsetof(struct map_cell, number)));
	asm_jump_if(g->code, COND_E, cold->back2);
	asm_jump_if(g->code, COND_B, aside);
	asm_store(g->code, 8, MEM(ACC, offsetof(struct map_cell, value)), AUX);
	asm_store_last(g->code, MEM(ACC, offsetof(struct map_cell, number)), TMP);
	sequence_end(g, &s);
}

/* W1 = the offset of the cell of the bucket that the value falls into: hist_bucket(), with one
 * bucket for each power of two. Ruins AUX. */
static void find_bucket(struct gen *g, const struct insn *in)
{
	const struct type *t = &g->program->maps[in->map].value;
	struct native_code *c = g->code;
	int done = asm_label(c);

	native_read(g, in->a, AUX);
	asm_const(c, W1, 0);
	asm_test(c, AUX, AUX);
	if (t->is_signed)
		asm_jump_if(c, COND_S, done);
	asm_const(c, W1, sizeof(struct map_cell));
	asm_jump_if(c, COND_E, done);
	asm_log2(c, W1, AUX);
	asm_alu_imm(c, ALU_ADD, W1, 2);
	asm_shift_imm(c, SHIFT_LEFT, W1, 4);
	asm_bind(c, done);
}

/* Find the entry of a key: W1 = the offset of its cells, or of the bucket's among them; TMP =
 * their number. Goes to `back` when there is no room. */
static void find_entry(struct gen *g, const struct insn *in, int back)
{
	const struct map_shape *m = shape_of(g, in);
	uint64_t cell = m->cell_words * sizeof(struct map_cell);
	int shape = native_map_shape(g, in);
	struct native_code *c = g->code;

	native_call(g, INSIDE_MAP_PLACE, HIT, LABEL(shape), native_key(g, in), IMM(in->span));
	asm_test(c, ACC, ACC);
	asm_jump_if(c, COND_E, back);
	asm_mul_imm(c, W3, ACC, (int32_t)cell);
	if (map_chunks(m) > 1) {
		asm_shift_imm(c, SHIFT_RIGHT, ACC, (uint8_t)m->chunk_shift);
		asm_mul_imm(c, ACC, ACC, (int32_t)(m->cell_chunk - (cell << m->chunk_shift)));
		asm_alu(c, ALU_ADD, W3, ACC);
	}
	asm_mov(c, TMP, AUX);
	if (is_hist(g, in)) {
		find_bucket(g, in);
		asm_alu(c, ALU_ADD, W1, W3);
	} else {
		asm_mov(c, W1, W3);
	}
}

void native_cell_aggregate(struct gen *g, const struct insn *in)
{
	struct native_code *c = g->code;
	int back = asm_label(c);
	int aside = native_cold(g, in, aggregate_aside, back);
	int first = native_cold(g, in, first_in_cell, back), again = asm_label(c);
	struct sequence s;

	if (c->failed)
		return;
	g->colds[g->cold_count - 1].back2 = again;
	if (!shape_of(g, in)->is_single)
		find_entry(g, in, back);
	else if (is_hist(g, in))
		find_bucket(g, in);
	if (shape_of(g, in)->takes == TAKES_NUMBER)
		native_read(g, in->a, AUX);
	else
		asm_const(c, AUX, 1);
	asm_bind(c, again);
	s = sequence_begin(g, shape_of(g, in)->rseq_stripes, aside);
	find_cell(g, in, aside);
	asm_alu_load(c, ALU_CMP, TMP, MEM(ACC, offsetof(struct map_cell, number)));
	asm_jump_if(c, COND_NE, first);
	asm_add_to(c, MEM(ACC, offsetof(struct map_cell, value)), AUX);
	sequence_end(g, &s);
	sequence_leave(g, back);
}
