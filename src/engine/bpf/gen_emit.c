/* Records. One whose fields all have a fixed size is written straight into the ring; one with text
 * is put together in scratch memory and sent with the length it really has. The reader is not woken
 * for each: only when the ring has filled to a quarter, or for control records. */
#include "engine/bpf/gen.h"

#include "program/record.h"

#define RESERVE_MOST 1024u /* larger records go through scratch memory as well */
#define WAKE_NEVER   1	   /* BPF_RB_NO_WAKEUP */
#define WAKE_NOW     2	   /* BPF_RB_FORCE_WAKEUP */

static bool is_variable(const struct type *t)
{
	return type_is_text(t) || type_is_stack(t);
}

uint32_t record_most(const struct format *f, bool *fixed)
{
	uint32_t total = sizeof(struct record_head);

	*fixed = true;
	for (unsigned i = 0; i < f->field_count; i++) {
		total += (uint32_t)type_memory(&f->fields[i]);
		*fixed &= !is_variable(&f->fields[i]);
	}
	*fixed &= total <= RESERVE_MOST;
	return total;
}

/* R0 = wake-up flags. The window above the watermark is so wide that the records of all CPUs at
 * once cannot jump over it, so the reader is woken when the ring fills, but not by each record
 * while it is full. */
static void wake_flags(struct gen *g, const struct format *f, uint32_t most)
{
	struct code *c = g->code;
	int quiet = code_label(c), done = code_label(c);
	uint32_t window = (most + 16) * (g->world->cpus + 1);

	if (window > g->world->ring_bytes / 2)
		window = g->world->ring_bytes / 2;
	if (format_is_control(f)) {
		code_const(c, R0, WAKE_NOW);
		code_bind(c, quiet);
		code_bind(c, done);
		return;
	}
	code_map(c, R1, g->world->ring_fd);
	code_const(c, R2, 0); /* BPF_RB_AVAIL_DATA */
	code_call(c, BPF_FUNC_ringbuf_query);
	code_alu_imm(c, BPF_SUB, R0, (int32_t)(g->world->ring_bytes / 4));
	code_jump_imm(c, BPF_JGE, R0, (int32_t)window, quiet);
	code_const(c, R0, WAKE_NOW);
	code_jump(c, done);
	code_bind(c, quiet);
	code_const(c, R0, WAKE_NEVER);
	code_bind(c, done);
}

/* A record that found the ring full: data is lost and counted, control is kept as a count, from
 * which the reader makes the record. */
static void count_unsent(struct gen *g, const struct insn *in, const struct format *f)
{
	gen_count(g,
		  format_is_control(f) ? CONTROL_FIXED_ + (uint32_t)in->imm : CONTROL_LOST_RECORDS);
}

static uint64_t head_word(uint32_t size, uint16_t format)
{
	struct record_head head = {.size = size, .format = format};
	uint64_t word;

	memcpy(&word, &head, sizeof(word));
	return word;
}

static void emit_fixed(struct gen *g, const struct insn *in, const struct format *f, uint32_t size)
{
	struct code *c = g->code;
	int full = code_label(c), done = code_label(c);
	int32_t at = sizeof(struct record_head);

	code_map(c, R1, g->world->ring_fd);
	code_const(c, R2, size);
	code_const(c, R3, 0);
	code_call(c, BPF_FUNC_ringbuf_reserve);
	code_jump_imm(c, BPF_JEQ, R0, 0, full);
	code_mov(c, TMP, R0);
	code_const(c, R1, (int64_t)head_word(size, (uint16_t)in->imm));
	code_store(c, 8, TMP, 0, R1);
	for (unsigned i = 0; i < in->field_count; i++) {
		uint32_t len = (uint32_t)type_memory(&f->fields[i]);

		if (in->fields[i].reg != REG_NO) {
			gen_get(g, R1, in->fields[i].reg);
			code_store(c, 8, TMP, at, R1);
		} else {
			gen_copy_to(g, TMP, at, gen_slot(g, in->fields[i].slot), 0, len);
		}
		at += (int32_t)len;
	}
	wake_flags(g, f, size);
	code_mov(c, R1, TMP);
	code_mov(c, R2, R0);
	code_call(c, BPF_FUNC_ringbuf_submit);
	code_jump(c, done);
	code_bind(c, full);
	count_unsent(g, in, f);
	code_bind(c, done);
}

/* Where the next field of a record goes: a constant until the first text, then in TMP too, which is
 * the sum of what the texts before took. */
struct position {
	int32_t fixed;
	uint32_t variable_most; /* 0: TMP is not in use yet */
};

static void position_address(struct gen *g, int dst, const struct position *p)
{
	gen_address(g, dst, (struct home){true, g->frame->record}, p->fixed);
	if (p->variable_most)
		code_alu(g->code, BPF_ADD, dst, TMP);
}

/* Copy text or addresses: head, then the bytes in use, padded to 8 by the zeros behind them. */
static void pack_variable(struct gen *g, const struct type *t, struct home s, struct position *p)
{
	struct code *c = g->code;

	position_address(g, R1, p);
	code_load(c, 8, R2, gen_base(s), s.offset);
	code_store(c, 8, R1, 0, R2);
	code_load(c, 4, R2, gen_base(s), s.offset);
	if (type_is_stack(t)) {
		code_alu_imm(c, BPF_LSH, R2, 3);
	} else {
		code_alu_imm(c, BPF_ADD, R2, 7);
		code_alu_imm(c, BPF_AND, R2, -8);
	}
	gen_limit(g, R2, (int32_t)t->size);
	code_mov(c, TMP2, R2);
	code_alu_imm(c, BPF_ADD, R1, HEAD_SIZE);
	gen_address(g, R3, s, HEAD_SIZE);
	code_call(c, BPF_FUNC_probe_read_kernel);
	if (p->variable_most)
		code_alu(c, BPF_ADD, TMP, TMP2);
	else
		code_mov(c, TMP, TMP2);
	p->fixed += HEAD_SIZE;
	p->variable_most += t->size;
	gen_limit(g, TMP, (int32_t)p->variable_most);
}

static void pack_fixed(struct gen *g, const struct type *t, const struct field *field,
		       struct position *p)
{
	uint32_t len = (uint32_t)type_memory(t);

	position_address(g, R4, p);
	if (field->reg != REG_NO) {
		gen_get(g, R1, field->reg);
		code_store(g->code, 8, R4, 0, R1);
	} else {
		gen_copy_to(g, R4, 0, gen_slot(g, field->slot), 0, len);
	}
	p->fixed += (int32_t)len;
}

static void emit_packed(struct gen *g, const struct insn *in, const struct format *f, uint32_t most)
{
	struct code *c = g->code;
	struct position p = {.fixed = sizeof(struct record_head)};
	int sent = code_label(c);

	for (unsigned i = 0; i < in->field_count; i++) {
		const struct type *t = &f->fields[i];

		if (is_variable(t))
			pack_variable(g, t, gen_slot(g, in->fields[i].slot), &p);
		else
			pack_fixed(g, t, &in->fields[i], &p);
	}
	if (!p.variable_most)
		code_const(c, TMP, 0);
	code_alu_imm(c, BPF_ADD, TMP, p.fixed);
	code_store(c, 4, SCRATCH, g->frame->record, TMP);
	code_store_imm(c, 4, SCRATCH, g->frame->record + 4,
		       (int32_t)(head_word(0, (uint16_t)in->imm) >> 32));
	wake_flags(g, f, most);
	code_mov(c, R4, R0);
	code_map(c, R1, g->world->ring_fd);
	gen_address(g, R2, (struct home){true, g->frame->record}, 0);
	code_mov(c, R3, TMP);
	code_call(c, BPF_FUNC_ringbuf_output);
	code_jump_imm(c, BPF_JEQ, R0, 0, sent);
	count_unsent(g, in, f);
	code_bind(c, sent);
}

void gen_emit(struct gen *g, const struct insn *in)
{
	const struct format *f = &g->program->formats[in->imm];
	bool fixed;
	uint32_t most = record_most(f, &fixed);

	if (fixed)
		emit_fixed(g, in, f, most);
	else
		emit_packed(g, in, f, most);
	if (f->kind == FORMAT_EXIT)
		code_jump(g->code, g->end);
}
