/* Records. The ring reserves a constant number of bytes only, which the verifier must see. So a
 * record whose fields all have a fixed size is written into the ring directly. One with text is
 * packed in scratch memory and sent with the length it really has; where nothing else needs its
 * first text any more, it is packed around that text, which is then not copied (frame.c):
 *
 *	head | fixed fields | text slot: u32 length, u32 flags, bytes | further fields
 *
 * After a record of a program that is stamped comes the time, 8 bytes that are none of its size.
 *
 * The reader is not woken for each record: only when a quarter of the ring is full, and for control
 * records. */
#include "engine/bpf/gen/emitter.h"

#include <errno.h>

#include "program/record.h"

#define WAKE_NEVER 1 /* BPF_RB_NO_WAKEUP */
#define WAKE_NOW   2 /* BPF_RB_FORCE_WAKEUP */

/* R0 = wake-up flags of a record of R2 bytes. Asking how full the ring is costs a call. So each CPU
 * asks only after it has sent a sixteenth of the ring divided by the number of CPUs: all of them
 * together cannot fill the ring unseen, and while the ring stays full, the reader is woken no more
 * often. The counters are plain words: when an update is lost, a CPU asks one record later. */
static void choose_wakeup(struct emitter *g, const struct format *f)
{
	struct code *c = g->code;
	uint32_t little = g->world->ring_bytes / 16 / g->world->cpus;
	int done = code_label(c);

	if (format_is_control(f)) {
		code_const(c, R0, WAKE_NOW);
		return;
	}
	code_store(c, 8, FRAME, STACK_A, R2);
	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_alu_imm(c, BPF_AND, R0, SENT_STRIPES - 1);
	code_alu_imm(c, BPF_MUL, R0, SENT_STRIDE);
	code_map_value(c, R1, g->world->control_fd, CONTROL_SENT * 8);
	code_alu(c, BPF_ADD, R1, R0);
	code_load(c, 8, R2, R1, 0);
	code_load(c, 8, R3, FRAME, STACK_A);
	code_alu(c, BPF_ADD, R2, R3);
	code_store(c, 8, R1, 0, R2);
	code_const(c, R0, WAKE_NEVER);
	code_jump_imm(c, BPF_JLT, R2, (int32_t)little, done);
	code_store_imm(c, 8, R1, 0, 0);
	code_helper(c, BPF_FUNC_ringbuf_query, MAP(g->world->ring_fd), IMM(BPF_RB_AVAIL_DATA));
	code_mov(c, R1, R0);
	code_const(c, R0, WAKE_NEVER);
	code_jump_imm(c, BPF_JLT, R1, (int32_t)(g->world->ring_bytes / 4), done);
	code_const(c, R0, WAKE_NOW);
	code_bind(c, done);
}

/* A record that found the ring full: data is lost and counted, control is kept as a count, from
 * which the reader makes the record. */
static void count_unsent(struct emitter *g, const struct insn *in, const struct format *f)
{
	uint32_t number = control_number(g->program, (uint32_t)in->imm);

	if (!format_is_control(f))
		gen_count(g, CONTROL_LOST_RECORDS);
	else if (number < g->world->control_count)
		gen_count(g, CONTROL_FIXED_ + number);
	else
		gen_fail(g, -E2BIG, "too-big", "the script has too many calls that act on maps");
}

static uint64_t head_word(uint32_t size, uint16_t format)
{
	struct record_head head = {.size = size, .format = format};
	uint64_t word;

	memcpy(&word, &head, sizeof(word));
	return word;
}

/* A field that has a fixed size, to `offset` of a base register. */
static void store_field(struct emitter *g, int to, int32_t offset, const struct field *field,
			uint32_t len)
{
	struct spill slot;

	if (field->reg == REG_NO) {
		slot = gen_slot(g, field->slot);
		code_copy(g->code, to, offset, spill_base(slot), slot.offset, len);
		return;
	}
	gen_get(g, R1, field->reg);
	code_store(g->code, 8, to, offset, R1);
}

static uint32_t stamp_size(const struct emitter *g)
{
	return g->program->is_stamped ? STAMP_SIZE : 0;
}

/* Between reserve and submit nothing may leave the program or sleep: the verifier refuses a record
 * that is not submitted on every path, and the reader stops at one that is still being written. */
static void emit_fixed(struct emitter *g, const struct insn *in, const struct format *f,
		       uint32_t size)
{
	struct code *c = g->code;
	int full = code_label(c), done = code_label(c);
	int32_t at = sizeof(struct record_head);

	code_helper(c, BPF_FUNC_ringbuf_reserve, MAP(g->world->ring_fd), IMM(size + stamp_size(g)),
		    IMM(0));
	code_jump_imm(c, BPF_JEQ, R0, 0, full);
	code_mov(c, TMP, R0);
	code_const(c, R1, (int64_t)head_word(size, (uint16_t)in->imm));
	code_store(c, 8, TMP, 0, R1);
	for (unsigned i = 0; i < in->field_count; i++) {
		uint32_t len = (uint32_t)type_memory(&f->fields[i]);

		store_field(g, TMP, at, &in->fields[i], len);
		at += (int32_t)len;
	}
	if (stamp_size(g)) {
		code_call(c, BPF_FUNC_ktime_get_ns);
		code_store(c, 8, TMP, at, R0);
	}
	code_const(c, R2, size + stamp_size(g));
	choose_wakeup(g, f);
	code_helper(c, BPF_FUNC_ringbuf_submit, REG(TMP), REG(R0));
	code_jump(c, done);
	code_bind(c, full);
	count_unsent(g, in, f);
	code_bind(c, done);
}

/* Where the next field of a record goes: a constant until the first text, then plus TMP, the bytes
 * that the texts before it take. The verifier must see that TMP has a limit. */
struct position {
	int32_t record; /* in scratch */
	int32_t fixed;
	uint32_t variable_most; /* 0: TMP is not in use yet */
};

static void point_at_field(struct emitter *g, int dst, const struct position *p)
{
	gen_address(g, dst, in_scratch(p->record), p->fixed);
	if (p->variable_most)
		code_alu(g->code, BPF_ADD, dst, TMP);
}

/* Append text or addresses: the head, then the bytes in use, padded to 8 by the zeros after them.
 * Those that are in place already only count. Ruins TMP2: the bytes without the head, padded.
 * The limits are for the verifier: it has forgotten that the length, in scratch memory, has one. */
static void pack_variable(struct emitter *g, const struct type *t, struct spill s, bool in_place,
			  struct position *p)
{
	struct code *c = g->code;

	code_load(c, 4, TMP2, spill_base(s), s.offset);
	if (type_is_stack(t)) {
		code_alu_imm(c, BPF_LSH, TMP2, 3);
	} else {
		code_alu_imm(c, BPF_ADD, TMP2, 7);
		code_alu_imm(c, BPF_AND, TMP2, -8);
	}
	code_limit(g->code, TMP2, t->size);
	if (!in_place) {
		point_at_field(g, R1, p);
		code_load(c, 8, R2, spill_base(s), s.offset);
		code_store(c, 8, R1, 0, R2);
		code_alu_imm(c, BPF_ADD, R1, HEAD_SIZE);
		code_helper(c, BPF_FUNC_probe_read_kernel, REG(R1), REG(TMP2), MEM(s, HEAD_SIZE));
	}
	if (p->variable_most)
		code_alu(c, BPF_ADD, TMP, TMP2);
	else
		code_mov(c, TMP, TMP2);
	p->fixed += HEAD_SIZE;
	p->variable_most += t->size;
	code_limit(g->code, TMP, p->variable_most);
}

/* Fields one after another; the first text or stack may be where it belongs already. TMP becomes
 * the size of the record. */
static void emit_packed(struct emitter *g, const struct insn *in, const struct format *f)
{
	struct code *c = g->code;
	struct position p = {.record = g->frame->record, .fixed = sizeof(struct record_head)};
	uint32_t before;
	int sent = code_label(c), first = -1;

	if (g->frame->in_place[in - g->clause->code]) {
		first = record_first_variable(f, &before);
		p.record = gen_slot(g, in->fields[first].slot).offset - (int32_t)before;
	}
	for (unsigned i = 0; i < in->field_count; i++) {
		const struct type *t = &f->fields[i];

		if (type_is_variable(t)) {
			pack_variable(g, t, gen_slot(g, in->fields[i].slot), (int)i == first, &p);
			continue;
		}
		point_at_field(g, R4, &p);
		store_field(g, R4, 0, &in->fields[i], (uint32_t)type_memory(t));
		p.fixed += (int32_t)type_memory(t);
	}
	if (stamp_size(g)) { /* where TEXT_SLOP leaves room */
		code_call(c, BPF_FUNC_ktime_get_ns);
		point_at_field(g, R4, &p);
		code_store(c, 8, R4, 0, R0);
	}
	if (!p.variable_most)
		code_const(c, TMP, 0);
	code_alu_imm(c, BPF_ADD, TMP, p.fixed);
	code_store(c, 4, SCRATCH, p.record, TMP);
	code_store_imm(c, 4, SCRATCH, p.record + 4,
		       (int32_t)(head_word(0, (uint16_t)in->imm) >> 32));
	if (stamp_size(g))
		code_alu_imm(c, BPF_ADD, TMP, STAMP_SIZE);
	code_mov(c, R2, TMP);
	choose_wakeup(g, f);
	code_mov(c, R4, R0);
	code_helper(c, BPF_FUNC_ringbuf_output, MAP(g->world->ring_fd),
		    MEM(in_scratch(p.record), 0), REG(TMP), REG(R4));
	code_jump_imm(c, BPF_JEQ, R0, 0, sent);
	count_unsent(g, in, f);
	code_bind(c, sent);
}

void gen_emit(struct emitter *g, const struct insn *in)
{
	const struct format *f = &g->program->formats[in->imm];
	bool fixed;
	uint32_t most = record_most(f, &fixed);

	if (fixed)
		emit_fixed(g, in, f, most);
	else
		emit_packed(g, in, f);
	if (f->kind != FORMAT_EXIT)
		return;
	/* A FORMAT_EXIT record stops all programs here and now, not when the reader comes to the
	 * record: events after it are not counted. */
	code_map_value(g->code, R1, g->world->control_fd, CONTROL_STOP * 8);
	code_const(g->code, R2, 1);
	code_store(g->code, 8, R1, 0, R2);
	code_jump(g->code, g->end);
}
