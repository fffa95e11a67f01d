/* Comparing texts in slots: with a literal word by word, two unknown ones in loops. */
#include "engine/bpf/gen.h"

#define COMPARE_LONG  2048 /* bytes from which on texts are compared by blocks first ... */
#define COMPARE_BLOCK 64   /* ... of so many */

uint64_t gen_literal_word(struct str text, uint32_t at, uint32_t len)
{
	uint64_t word = 0;

	if (at < len)
		memcpy(&word, text.ptr + at, len - at < 8 ? len - at : 8);
	return word;
}

/* The literal a slot always holds: written once, by OP_TEXT. NULL: not so. */
static const struct str *literal_of(const struct gen *g, uint16_t slot)
{
	const struct str *found = NULL;

	for (uint32_t i = 0; i < g->clause->insn_count; i++) {
		const struct insn *in = &g->clause->code[i];
		bool writes_s = (in->op >= OP_PUT && in->op <= OP_FIELD_STR && in->op != OP_GET);

		if (in->op == OP_MAP_COPY && in->t == slot)
			return NULL;
		if (!writes_s || in->s != slot)
			continue;
		if (found || in->op != OP_TEXT)
			return NULL;
		found = &g->program->literals[in->imm];
	}
	return found;
}

/* R3 = first `most` bytes are equal and the lengths, as far as they count, too: 0, else 1. */
static void compare_literal(struct gen *g, uint16_t slot, struct str text, uint32_t size,
			    int64_t most, int differ)
{
	struct code *c = g->code;
	struct home s = gen_slot(g, slot);
	uint32_t len = text.len < size ? (uint32_t)text.len : size;
	bool whole = most < 0 || (uint64_t)most > len;
	uint32_t count = whole ? len : (uint32_t)most;

	if (count > gen_slot_type(g, slot)->size) { /* nothing in the slot is as long */
		code_jump(c, differ);
		return;
	}
	code_load(c, 4, R1, gen_base(s), s.offset);
	code_jump_imm(c, whole ? BPF_JNE : BPF_JLT, R1, (int32_t)count, differ);
	for (uint32_t at = 0; at < count; at += 8) {
		uint32_t left = count - at;
		uint64_t word = gen_literal_word(text, at, count);

		code_load(c, 8, R1, gen_base(s), s.offset + HEAD_SIZE + (int32_t)at);
		if (left < 8) { /* only the first `left` bytes in memory order */
			uint64_t mask = 0;

			memset(&mask, 0xff, left);
			code_const(c, R2, (int64_t)mask);
			code_alu(c, BPF_AND, R1, R2);
		}
		code_const(c, R2, (int64_t)word);
		code_jump_if(c, BPF_JNE, R1, R2, differ);
	}
}

/* min(length of the text, most) in `reg`. */
static void counted_length(struct gen *g, int reg, struct home s, int64_t most, uint32_t size)
{
	code_load(g->code, 4, reg, gen_base(s), s.offset);
	gen_limit(g, reg, most >= 0 && most < size ? (int32_t)most : (int32_t)size);
}

/* Whole blocks, as many as R5 bytes have; TMP goes behind them. The verifier walks every round of a
 * loop and gives up after some thousand, which word by word is the half of a long text. */
static void compare_blocks(struct gen *g, struct home s, struct home t, uint32_t least, int differ)
{
	struct code *c = g->code;
	int again = code_label(c), rest = code_label(c);

	code_bind(c, again);
	code_mov(c, R0, TMP);
	code_alu_imm(c, BPF_ADD, R0, COMPARE_BLOCK);
	code_jump_if(c, BPF_JGT, R0, R5, rest);
	code_jump_imm(c, BPF_JGT, R0, (int32_t)least, rest);
	gen_address(g, R1, s, HEAD_SIZE);
	code_alu(c, BPF_ADD, R1, TMP);
	gen_address(g, R2, t, HEAD_SIZE);
	code_alu(c, BPF_ADD, R2, TMP);
	code_const(c, R0, 0);
	for (int at = 0; at < COMPARE_BLOCK; at += 8) {
		code_load(c, 8, R3, R1, at);
		code_load(c, 8, R4, R2, at);
		code_alu(c, BPF_XOR, R3, R4);
		code_alu(c, BPF_OR, R0, R3);
	}
	code_alu_imm(c, BPF_ADD, TMP, COMPARE_BLOCK);
	code_jump_imm(c, BPF_JEQ, R0, 0, again);
	code_jump(c, differ);
	code_bind(c, rest);
}

/* Two texts that are both unknown: whole words in a loop, then the rest byte by byte. */
static void compare_texts(struct gen *g, const struct insn *in, int differ)
{
	struct code *c = g->code;
	struct home s = gen_slot(g, in->s), t = gen_slot(g, in->t);
	uint32_t size_s = gen_slot_type(g, in->s)->size, size_t_ = gen_slot_type(g, in->t)->size;
	uint32_t least = size_s < size_t_ ? size_s : size_t_;
	int again = code_label(c), rest = code_label(c), same = code_label(c);

	counted_length(g, R4, s, in->imm, size_s);
	counted_length(g, R5, t, in->imm, size_t_);
	code_jump_if(c, BPF_JNE, R4, R5, differ);
	code_const(c, TMP, 0);
	code_const(c, R0, least / 8 + 1); /* rounds: the verifier must see that they are few */
	if (least > COMPARE_LONG) {
		compare_blocks(g, s, t, least, differ);
		code_const(c, R0, COMPARE_BLOCK / 8);
	}
	code_bind(c, again); /* TMP: bytes known to be equal */
	code_jump_imm(c, BPF_JEQ, R0, 0, same);
	code_alu_imm(c, BPF_SUB, R0, 1);
	code_jump_if(c, BPF_JGE, TMP, R5, same);
	code_jump_imm(c, BPF_JGE, TMP, (int32_t)least, same);
	gen_address(g, R1, s, HEAD_SIZE);
	code_alu(c, BPF_ADD, R1, TMP);
	gen_address(g, R2, t, HEAD_SIZE);
	code_alu(c, BPF_ADD, R2, TMP);
	code_load(c, 8, R1, R1, 0);
	code_load(c, 8, R2, R2, 0);
	code_alu(c, BPF_XOR, R1, R2);
	code_alu_imm(c, BPF_ADD, TMP, 8);
	code_jump_if(c, BPF_JGT, TMP, R5, rest);
	code_jump_imm(c, BPF_JEQ, R1, 0, again);
	code_jump(c, differ);
	code_bind(c, rest); /* the last word: bytes beyond the length do not count */
	code_alu(c, BPF_SUB, TMP, R5);
	code_alu_imm(c, BPF_LSH, TMP, 3);
	code_alu_imm(c, BPF_AND, TMP, 63);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	code_alu(c, BPF_LSH, R1, TMP);
#else
	code_alu(c, BPF_RSH, R1, TMP);
#endif
	code_jump_imm(c, BPF_JNE, R1, 0, differ);
	code_bind(c, same);
}

void gen_compare(struct gen *g, const struct insn *in)
{
	const struct str *s = literal_of(g, in->s), *t = literal_of(g, in->t);
	int differ = code_label(g->code), done = code_label(g->code);

	if (t)
		compare_literal(g, in->s, *t, gen_slot_type(g, in->t)->size, in->imm, differ);
	else if (s)
		compare_literal(g, in->t, *s, gen_slot_type(g, in->s)->size, in->imm, differ);
	else
		compare_texts(g, in, differ);
	code_const(g->code, R3, 0);
	code_jump(g->code, done);
	code_bind(g->code, differ);
	code_const(g->code, R3, 1);
	code_bind(g->code, done);
	gen_set(g, in->d, R3);
}
