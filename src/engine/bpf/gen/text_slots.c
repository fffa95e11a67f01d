/* Texts and stacks in slots.
 *
 *	text slot	u32 length | u32 flags | text ... | TEXT_SLOP zeros
 *	stack slot	u32 count  | u32 pid   | addresses ...
 *
 * The zeros after a text pad it to whole words in records. Slots that are keys or values are zero
 * up to their end ("padded"), since all of their memory counts there. */
#include "engine/bpf/gen/emitter.h"

#include <errno.h>

#define PAGE	  4096
#define COMM_SIZE 16
#define LENGTH_AT ((int)offsetof(struct text_head, len))
#define FLAGS_AT  ((int)offsetof(struct text_head, flags))

static void set_head(struct emitter *g, struct spill s, uint32_t len, uint32_t flags)
{
	code_store_imm(g->code, 4, spill_base(s), s.offset, (int32_t)len);
	code_store_imm(g->code, 4, spill_base(s), s.offset + 4, (int32_t)flags);
}

/* An empty text with these flags. */
static void set_empty(struct emitter *g, const struct insn *in, uint32_t flags)
{
	struct spill s = gen_slot(g, in->s);

	set_head(g, s, 0, flags);
	gen_zero(g, s, HEAD_SIZE, g->frame->padded[in->s] ? gen_slot_type(g, in->s)->size : 8);
}

/* The rest of a reader: of a read that failed, then of a pointer that is null, which jumps to
 * `null`. */
static void end_reading(struct emitter *g, const struct insn *in, int null, int done)
{
	gen_fault(g, in, FAULT_READ);
	set_empty(g, in, TEXT_UNREADABLE);
	code_jump(g->code, done);
	code_bind(g->code, null);
	set_empty(g, in, TEXT_NULL);
}

/* Before a read: the padding after a text of at most STORE_SHORT bytes. */
static void pad_start(struct emitter *g, const struct insn *in)
{
	uint32_t size = gen_slot_type(g, in->s)->size;

	if (g->frame->padded[in->s])
		gen_zero(g, gen_slot(g, in->s), HEAD_SIZE, size < STORE_SHORT ? size : STORE_SHORT);
}

/* Is the slot only used as a key, not as a part of one or as a value? Of a short key only
 * STORE_SHORT bytes of text are looked at, so the bytes after them may be anything. */
static bool is_only_key(const struct emitter *g, uint16_t slot)
{
	for (uint32_t i = 0; i < g->clause->insn_count; i++) {
		const struct insn *in = &g->clause->code[i];

		if ((in->op == OP_MAP_PUT || in->op == OP_COPY) && in->t == slot)
			return false;
	}
	return true;
}

/* R0 bytes of text are in the slot (at most its size): write its head, and zeros after it. R2 has
 * the flags. */
static void set_length(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	struct spill s = gen_slot(g, in->s);
	uint32_t size = gen_slot_type(g, in->s)->size;
	int done = code_label(c);

	code_limit(g->code, R0, (int32_t)size);
	code_store(c, 4, spill_base(s), s.offset, R0);
	code_store(c, 4, spill_base(s), s.offset + 4, R2);
	gen_address(g, R1, s, HEAD_SIZE);
	code_alu(c, BPF_ADD, R1, R0);
	code_store_imm(c, 8, R1, 0, 0); /* TEXT_SLOP */
	if (g->frame->padded[in->s] && size > STORE_SHORT) {
		if (is_only_key(g, in->s))
			code_jump_imm(c, BPF_JLE, R0, STORE_SHORT, done);
		code_const(c, R2, size);
		code_alu(c, BPF_SUB, R2, R0);
		code_helper(c, BPF_FUNC_probe_read_kernel, REG(R1), REG(R2),
			    MAP_VALUE(g->world->zeros_fd, 0));
	}
	code_bind(c, done);
}

/* Make the pages of [TMP, TMP + TMP2] resident by reading a byte of each with a helper that may
 * sleep. No helper reads a text and sleeps, so the read of the text, which may not, comes after
 * this. Code for each page instead of a loop, so that the verifier has no rounds to follow; one
 * page more than the text can fill, as it may begin at the end of one. */
static void touch_pages(struct emitter *g, uint32_t most)
{
	struct code *c = g->code;

	for (uint32_t at = 0; at <= most + PAGE - 1; at += PAGE) {
		int skip = code_label(c);

		code_mov(c, R3, TMP);
		if (at) {
			code_mov(c, R2, TMP);
			code_alu(c, BPF_ADD, R2, TMP2);
			code_alu_imm(c, BPF_ADD, R3, (int32_t)at);
			code_alu_imm(c, BPF_AND, R3, -PAGE);
			code_jump_if(c, BPF_JGT, R3, R2, skip);
		}
		code_helper(c, BPF_FUNC_copy_from_user, SUM(FRAME, STACK_A), IMM(1), REG(R3));
		code_bind(c, skip);
	}
}

/* R0 = bytes read with the NUL, or 0 for an empty text, or negative. Up to TMP2 + 2 bytes are read:
 * one for the NUL, and one that shows that the text is longer than TMP2. */
static void read_text(struct emitter *g, struct spill s)
{
	code_helper(g->code, BPF_FUNC_probe_read_user_str, MEM(s, HEAD_SIZE), SUM(TMP2, 2),
		    REG(TMP));
}

/* Bytes of text that the slot may have. */
static int32_t text_limit(const struct emitter *g, const struct insn *in)
{
	return (int32_t)(in->imm ? in->imm : gen_slot_type(g, in->s)->size);
}

/* TMP2 = register b, but never more than the limit. */
static void get_limit(struct emitter *g, const struct insn *in)
{
	if (in->b == REG_NO) {
		code_const(g->code, TMP2, text_limit(g, in));
		return;
	}
	gen_get(g, TMP2, in->b);
	code_limit(g->code, TMP2, text_limit(g, in));
}

/* R2 = TEXT_CUT, unless the script asked for no more than the limit. */
static void set_cut(struct emitter *g, const struct insn *in)
{
	int asked = code_label(g->code);

	if (in->b != REG_NO) {
		gen_get(g, R1, in->b);
		code_jump_imm(g->code, BPF_JLE, R1, text_limit(g, in), asked);
	}
	code_const(g->code, R2, TEXT_CUT);
	code_bind(g->code, asked);
}

/* The text and a little more cannot be read. Can all bytes up to the limit, as where memory ends
 * with the text? Then to `ok` with R0 as if the text were longer. A NUL that is found now was
 * written since the last try: read again, so that nothing after it stays in the slot. */
static void read_to_the_end(struct emitter *g, const struct insn *in, int ok)
{
	struct code *c = g->code;
	struct spill s = gen_slot(g, in->s);
	int changed = code_label(c), unreadable = code_label(c);

	code_helper(c, BPF_FUNC_probe_read_user, MEM(s, HEAD_SIZE), REG(TMP2), REG(TMP));
	code_jump_imm(c, BPF_JNE, R0, 0, unreadable);
	gen_address(g, R1, s, HEAD_SIZE);
	code_mov(c, R3, R1);
	code_mov(c, R2, R1);
	code_alu(c, BPF_ADD, R2, TMP2);
	code_store_imm(c, 8, R2, 0, 0);
	code_mov(c, R2, TMP2);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_call(c, BPF_FUNC_probe_read_kernel_str); /* onto itself: only looks for the NUL */
	code_jump_if(c, BPF_JSLE, R0, TMP2, changed);
	code_mov(c, R0, TMP2);
	code_alu_imm(c, BPF_ADD, R0, 2);
	code_jump(c, ok);
	code_bind(c, changed);
	pad_start(g, in);
	read_text(g, s);
	code_jump_imm(c, BPF_JSGE, R0, 0, ok);
	code_bind(c, unreadable);
}

/* The rare ways are after the usual one, not between its parts: the verifier follows code in its
 * order, so it meets the widest case first and finds that the rare ones are known. */
void gen_str(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	struct spill s = gen_slot(g, in->s);
	int null = code_label(c), ok = code_label(c), fits = code_label(c), done = code_label(c),
	    slow = code_label(c), empty = code_label(c);

	gen_get(g, TMP, in->a);
	code_jump_imm(c, BPF_JEQ, TMP, 0, null);
	get_limit(g, in);
	pad_start(g, in);
	read_text(g, s);
	code_jump_imm(c, BPF_JSLT, R0, 0, slow);
	code_bind(c, ok);
	/* Before 6.15 the kernel returns 0 for "", not 1. */
	code_jump_imm(c, BPF_JEQ, R0, 0, empty);
	code_alu_imm(c, BPF_SUB, R0, 1);
	code_bind(c, empty);
	code_const(c, R2, 0);
	code_jump_if(c, BPF_JLE, R0, TMP2, fits);
	code_mov(c, R0, TMP2);
	set_cut(g, in);
	code_bind(c, fits);
	set_length(g, in);
	code_jump(c, done);
	code_bind(c, slow);
	if (gen_may_sleep(g)) {
		touch_pages(g, gen_slot_type(g, in->s)->size);
		read_text(g, s);
		code_jump_imm(c, BPF_JSGE, R0, 0, ok);
	}
	read_to_the_end(g, in, ok);
	end_reading(g, in, null, done);
	code_bind(c, done);
}

/* reg = min(reg, most), as code_limit() does, and TMP2 says that something was cut. */
static void limit_cut(struct emitter *g, int reg, int32_t most)
{
	int fits = code_label(g->code);

	code_jump_imm(g->code, BPF_JLE, reg, most, fits);
	code_const(g->code, reg, most);
	code_const(g->code, TMP2, TEXT_CUT);
	code_bind(g->code, fits);
}

/* Bytes at an address: all of them or none. A request for more than the slot holds is cut. */
void gen_buf(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	struct spill s = gen_slot(g, in->s);
	bool is_kernel = in->op == OP_KBUF;
	int null = code_label(c), ok = code_label(c), done = code_label(c);

	gen_get(g, TMP, in->a);
	code_jump_imm(c, BPF_JEQ, TMP, 0, null);
	get_limit(g, in);
	pad_start(g, in);
	for (int sleeping = 0; sleeping <= (!is_kernel && gen_may_sleep(g)); sleeping++) {
		code_helper(c,
			    is_kernel  ? BPF_FUNC_probe_read_kernel
			    : sleeping ? BPF_FUNC_copy_from_user
				       : BPF_FUNC_probe_read_user,
			    MEM(s, HEAD_SIZE), REG(TMP2), REG(TMP));
		code_jump_imm(c, BPF_JEQ, R0, 0, ok);
	}
	end_reading(g, in, null, done);
	code_jump(c, done);
	code_bind(c, ok);
	code_const(c, R2, 0);
	set_cut(g, in);
	code_mov(c, R0, TMP2);
	set_length(g, in);
	code_bind(c, done);
}

void gen_literal(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	struct str text = g->program->literals[in->imm];
	struct spill s = gen_slot(g, in->s);
	uint32_t size = gen_slot_type(g, in->s)->size;
	uint32_t len = text.len < size ? (uint32_t)text.len : size, at;

	set_head(g, s, len, text.len > size ? TEXT_CUT : 0);
	for (at = 0; at < len + 1; at += 8) {
		uint64_t word = gen_literal_word(text, at, len);
		int32_t to = s.offset + HEAD_SIZE + (int32_t)at;

		if (word == (uint64_t)(int32_t)word) {
			code_store_imm(c, 8, spill_base(s), to, (int32_t)word);
			continue;
		}
		code_const(c, R1, (int64_t)word);
		code_store(c, 8, spill_base(s), to, R1);
	}
	if (g->frame->padded[in->s] && at < size)
		gen_zero(g, s, HEAD_SIZE + (int32_t)at, size - at);
}

/* The lengths are limited so that the verifier sees that both texts fit, whatever they are. */
void gen_append(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	struct spill s = gen_slot(g, in->s), t = gen_slot(g, in->t);
	uint32_t room = gen_slot_type(g, in->s)->size, most = gen_slot_type(g, in->t)->size;
	uint32_t keep = room > most ? room - most : 0;
	uint32_t looked_at = room < STORE_SHORT ? room : STORE_SHORT;

	/* Bytes that are cut off must not stay after the text of a key. */
	if (g->frame->padded[in->s] && keep < looked_at)
		code_helper(c, BPF_FUNC_probe_read_kernel, MEM(s, HEAD_SIZE + (int32_t)keep),
			    IMM(looked_at - keep), MAP_VALUE(g->world->zeros_fd, 0));
	code_load(c, 4, TMP2, spill_base(s), s.offset + FLAGS_AT);
	code_load(c, 4, R2, spill_base(t), t.offset + FLAGS_AT);
	code_alu(c, BPF_OR, TMP2, R2);
	code_alu_imm(c, BPF_AND, TMP2, TEXT_CUT);
	code_load(c, 4, TMP, spill_base(s), s.offset + LENGTH_AT);
	code_load(c, 4, R2, spill_base(t), t.offset + LENGTH_AT);
	limit_cut(g, TMP, (int32_t)keep);
	limit_cut(g, R2, (int32_t)(room - keep));
	gen_address(g, R1, s, HEAD_SIZE);
	code_alu(c, BPF_ADD, R1, TMP);
	code_alu(c, BPF_ADD, TMP, R2);
	gen_address(g, R3, t, HEAD_SIZE);
	code_call(c, BPF_FUNC_probe_read_kernel);
	code_mov(c, R0, TMP);
	code_mov(c, R2, TMP2);
	set_length(g, in);
}

/* The byte, and 8 zeros after it, as after any text (TEXT_SLOP). */
void gen_push(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	struct spill s = gen_slot(g, in->s);
	int full = code_label(c), done = code_label(c);

	gen_get(g, TMP, in->a);
	code_load(c, 4, R2, spill_base(s), s.offset + LENGTH_AT);
	code_jump_imm(c, BPF_JGE, R2, (int32_t)gen_slot_type(g, in->s)->size, full);
	gen_address(g, R1, s, HEAD_SIZE);
	code_alu(c, BPF_ADD, R1, R2);
	code_store_imm(c, 8, R1, 1, 0);
	code_store(c, 1, R1, 0, TMP);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_store(c, 4, spill_base(s), s.offset + LENGTH_AT, R2);
	code_jump(c, done);
	code_bind(c, full);
	code_store_imm(c, 4, spill_base(s), s.offset + FLAGS_AT, TEXT_CUT);
	code_bind(c, done);
}

void gen_mark(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	struct spill s = gen_slot(g, in->s), t = gen_slot(g, in->t);

	code_load(c, 4, R1, spill_base(s), s.offset + FLAGS_AT);
	code_load(c, 4, R2, spill_base(t), t.offset + FLAGS_AT);
	code_alu(c, BPF_OR, R1, R2);
	code_store(c, 4, spill_base(s), s.offset + FLAGS_AT, R1);
}

/* In: R0 is what a read of a kernel text of at most `most` bytes returned. A failed read is an
 * empty text. */
static void finish_kernel_text(struct emitter *g, const struct insn *in, uint32_t most)
{
	struct code *c = g->code;
	int ok = code_label(c), fits = code_label(c);

	code_jump_imm(c, BPF_JSGT, R0, 0, ok);
	code_const(c, R0, 1);
	code_bind(c, ok);
	code_alu_imm(c, BPF_SUB, R0, 1);
	code_const(c, R2, 0);
	code_jump_imm(c, BPF_JLE, R0, (int32_t)most, fits);
	if (most < gen_slot_type(g, in->s)->size)
		code_const(c, R0, most);
	code_const(c, R2, TEXT_CUT);
	code_bind(c, fits);
	set_length(g, in);
}

/* The helper fills COMM_SIZE bytes whatever the name's length, which the slot may not have: so it
 * writes to STACK_B and STACK_A, and the name is read from there. */
void gen_comm(struct emitter *g, const struct insn *in)
{
	uint32_t size = gen_slot_type(g, in->s)->size;

	pad_start(g, in);
	code_helper(g->code, BPF_FUNC_get_current_comm, SUM(FRAME, STACK_B), IMM(COMM_SIZE));
	code_helper(g->code, BPF_FUNC_probe_read_kernel_str, MEM(gen_slot(g, in->s), HEAD_SIZE),
		    IMM(size + 2 < COMM_SIZE ? size + 2 : COMM_SIZE), SUM(FRAME, STACK_B));
	finish_kernel_text(g, in, size);
}

/* bpf_get_stack gives bytes, or a negative error, which is an empty stack. It follows frame
 * pointers; at probes of programs there is a better way. */
/* A text field of a tracepoint: at a fixed place, or at one given by a word of offset and length.
 */
void gen_field_str(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	uint32_t size = gen_slot_type(g, in->s)->size;
	uint32_t most = in->size && in->size < size ? in->size : size;

	pad_start(g, in);
	code_mov(c, TMP, CTX);
	if (in->size) {
		code_alu_imm(c, BPF_ADD, TMP, (int32_t)in->imm);
	} else {
		code_load(c, 4, R1, CTX, (int)in->imm);
		code_alu_imm(c, BPF_AND, R1, 0xffff);
		code_alu(c, BPF_ADD, TMP, R1);
	}
	code_helper(c, BPF_FUNC_probe_read_kernel_str, MEM(gen_slot(g, in->s), HEAD_SIZE),
		    IMM(most + (most == size && in->size == 0 ? 2 : 1)), REG(TMP));
	finish_kernel_text(g, in, most);
}

/* Text at an address of the kernel. */
void gen_kernel_str(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	uint32_t size = gen_slot_type(g, in->s)->size, most = in->imm ? (uint32_t)in->imm : size;
	int null = code_label(c), bad = code_label(c), done = code_label(c);

	pad_start(g, in);
	gen_get(g, TMP, in->a);
	code_jump_imm(c, BPF_JEQ, TMP, 0, null);
	code_helper(c, BPF_FUNC_probe_read_kernel_str, MEM(gen_slot(g, in->s), HEAD_SIZE),
		    IMM(most == size ? most + 2 : most + 1), REG(TMP));
	code_jump_imm(c, BPF_JSLT, R0, 0, bad);
	finish_kernel_text(g, in, most);
	code_jump(c, done);
	code_bind(c, bad);
	end_reading(g, in, null, done);
	code_bind(c, done);
}

/* The kernel takes only pointers that its verifier has followed from what it handed over. */
void gen_path(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	uint32_t size = gen_slot_type(g, in->s)->size;
	unsigned count = PATH_COUNT(in->imm);
	int null = code_label(c), is_long = code_label(c), known = code_label(c);
	int done = code_label(c);

	pad_start(g, in);
	code_mov(c, TMP, CTX);
	for (unsigned i = 0; i < count; i++) {
		code_load(c, 8, TMP, TMP, (int)PATH_OFFSET(in->imm, i));
		code_jump_imm(c, BPF_JEQ, TMP, 0, null);
	}
	code_alu_imm(c, BPF_ADD, TMP, (int32_t)PATH_OFFSET(in->imm, count));
	code_helper(c, BPF_FUNC_d_path, REG(TMP), MEM(gen_slot(g, in->s), HEAD_SIZE),
		    IMM(size + 1));
	code_jump_imm(c, BPF_JSGT, R0, 0, known);
	code_jump_imm(c, BPF_JEQ, R0, -ENAMETOOLONG, is_long);
	gen_fault(g, in, FAULT_READ);
	set_empty(g, in, TEXT_UNREADABLE);
	code_jump(c, done);
	code_bind(c, is_long);
	set_empty(g, in, TEXT_CUT);
	code_jump(c, done);
	code_bind(c, null);
	set_empty(g, in, TEXT_NULL);
	code_jump(c, done);
	code_bind(c, known);
	finish_kernel_text(g, in, size);
	code_bind(c, done);
}

void gen_length(struct emitter *g, const struct insn *in)
{
	struct spill s = gen_slot(g, in->s);

	code_load(g->code, 4, R1, spill_base(s),
		  s.offset + (int32_t)offsetof(struct text_head, len));
	gen_set(g, in->d, R1);
}

/* The limit is for the verifier, which does not know that lengths fit into their slots. */
void gen_byte(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	struct spill s = gen_slot(g, in->s);
	int done = code_label(c);

	gen_get(g, R2, in->a);
	code_load(c, 4, R3, spill_base(s), s.offset + (int32_t)offsetof(struct text_head, len));
	code_const(c, R1, 0);
	code_jump_if(c, BPF_JGE, R2, R3, done);
	code_limit(g->code, R2, gen_slot_type(g, in->s)->size - 1);
	gen_address(g, R3, s, HEAD_SIZE);
	code_alu(c, BPF_ADD, R3, R2);
	code_load(c, 1, R1, R3, 0);
	code_bind(c, done);
	gen_set(g, in->d, R1);
}
