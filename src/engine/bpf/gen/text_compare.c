/* Comparing texts in slots: with a literal word by word, two unknown ones in loops. */
#include "engine/bpf/gen/emitter.h"

#include "program/op.h"

#define COMPARE_LONG  2048 /* longer texts are compared by blocks first */
#define COMPARE_BLOCK 64   /* bytes of a block */

/* The literal a slot always holds: written once, by OP_TEXT. NULL: it may hold others. Which
 * operations write slots s and t is read off the table of operations. */
static const struct str *literal_of(const struct emitter *g, uint16_t slot)
{
	const struct str *found = NULL;

	for (uint32_t i = 0; i < g->clause->insn_count; i++) {
		const struct insn *in = &g->clause->code[i];
		bool adds = in->op == OP_APPEND || in->op == OP_PUSH || in->op == OP_MARK;
		const char *results = op_info(in->op)->results;

		if ((strchr(results, 't') && in->t == slot) || (adds && in->s == slot))
			return NULL;
		if (!strpbrk(results, "sp") || in->s != slot)
			continue;
		if (found || in->op != OP_TEXT)
			return NULL;
		found = &g->program->literals[in->imm];
	}
	return found;
}

/* To `differ` unless the first `most` bytes are equal, and the lengths as far as they count: whole
 * texts of different lengths differ, but a longer one may begin with the same bytes. The last word
 * is loaded whole, too, since a slot has 8 bytes after its text, and masked. */
static void compare_literal(struct emitter *g, uint16_t slot, struct str text, uint32_t size,
			    int64_t most, int differ)
{
	struct code *c = g->code;
	struct spill s = gen_slot(g, slot);
	uint32_t len = text.len < size ? (uint32_t)text.len : size;
	bool whole = most < 0 || (uint64_t)most > len;
	uint32_t count = whole ? len : (uint32_t)most;

	if (count > gen_slot_type(g, slot)->size) { /* nothing in the slot is as long */
		code_jump(c, differ);
		return;
	}
	code_load(c, 4, R1, spill_base(s), s.offset);
	code_jump_imm(c, whole ? BPF_JNE : BPF_JLT, R1, (int32_t)count, differ);
	for (uint32_t at = 0; at < count; at += 8) {
		code_load(c, 8, R1, spill_base(s), s.offset + HEAD_SIZE + (int32_t)at);
		if (count - at < 8) {
			uint64_t mask = 0; /* of the first bytes in memory order */

			memset(&mask, 0xff, count - at);
			code_const(c, R2, (int64_t)mask);
			code_alu(c, BPF_AND, R1, R2);
		}
		code_const(c, R2, (int64_t)gen_literal_word(text, at, count));
		code_jump_if(c, BPF_JNE, R1, R2, differ);
	}
}

/* `reg` = min(length of the text, most): the bytes of it that count. */
static void load_length(struct emitter *g, int reg, struct spill s, int64_t most, uint32_t size)
{
	code_load(g->code, 4, reg, spill_base(s), s.offset);
	code_limit(g->code, reg, most >= 0 && most < size ? most : size);
}

/* R1 and R2 = where byte TMP of the texts is. */
static void point_at(struct emitter *g, struct spill s, struct spill t)
{
	gen_address(g, R1, s, HEAD_SIZE);
	code_alu(g->code, BPF_ADD, R1, TMP);
	gen_address(g, R2, t, HEAD_SIZE);
	code_alu(g->code, BPF_ADD, R2, TMP);
}

/* Whole blocks, as many as R5 bytes have; TMP becomes the number of bytes compared. The verifier
 * follows every round of a loop and gives up after some thousands, which by words is half of a text
 * of 64 KiB; so a round compares 8 words without a branch between them. */
static void compare_blocks(struct emitter *g, struct spill s, struct spill t, uint32_t least,
			   int differ)
{
	struct code *c = g->code;
	int again = code_here(c), rest = code_label(c);

	code_mov(c, R0, TMP);
	code_alu_imm(c, BPF_ADD, R0, COMPARE_BLOCK);
	code_jump_if(c, BPF_JGT, R0, R5, rest);
	code_jump_imm(c, BPF_JGT, R0, (int32_t)least, rest);
	point_at(g, s, t);
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

/* Two unknown texts: blocks when they may be long, then words. TMP is the number of bytes known to
 * be equal; R0 counts the rounds down, since the verifier must see that they are few, which it
 * cannot see from R5, a value in memory. */
static void compare_texts(struct emitter *g, const struct insn *in, int differ)
{
	struct code *c = g->code;
	struct spill s = gen_slot(g, in->s), t = gen_slot(g, in->t);
	uint32_t size_of_s = gen_slot_type(g, in->s)->size;
	uint32_t size_of_t = gen_slot_type(g, in->t)->size;
	uint32_t least = size_of_s < size_of_t ? size_of_s : size_of_t;
	int rest = code_label(c), same = code_label(c), again;

	load_length(g, R4, s, in->imm, size_of_s);
	load_length(g, R5, t, in->imm, size_of_t);
	code_jump_if(c, BPF_JNE, R4, R5, differ);
	code_const(c, TMP, 0);
	code_const(c, R0, least / 8 + 1);
	if (least > COMPARE_LONG) {
		compare_blocks(g, s, t, least, differ);
		code_const(c, R0, COMPARE_BLOCK / 8);
	}
	again = code_here(c);
	code_jump_imm(c, BPF_JEQ, R0, 0, same);
	code_alu_imm(c, BPF_SUB, R0, 1);
	code_jump_if(c, BPF_JGE, TMP, R5, same);
	code_jump_imm(c, BPF_JGE, TMP, (int32_t)least, same);
	point_at(g, s, t);
	code_load(c, 8, R1, R1, 0);
	code_load(c, 8, R2, R2, 0);
	code_alu(c, BPF_XOR, R1, R2);
	code_alu_imm(c, BPF_ADD, TMP, 8);
	code_jump_if(c, BPF_JGT, TMP, R5, rest);
	code_jump_imm(c, BPF_JEQ, R1, 0, again);
	code_jump(c, differ);
	/* The last word, of which TMP - R5 bytes are beyond the length: they are shifted out of
	 * R1, the difference. */
	code_bind(c, rest);
	code_alu(c, BPF_SUB, TMP, R5);
	code_alu_imm(c, BPF_LSH, TMP, 3);
	code_alu_imm(c, BPF_AND, TMP, 63);
	code_alu(c, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? BPF_LSH : BPF_RSH, R1, TMP);
	code_jump_imm(c, BPF_JNE, R1, 0, differ);
	code_bind(c, same);
}

void gen_strcmp(struct emitter *g, const struct insn *in)
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
