/* Texts and stacks in slots. All of them are calls but the shortest: what takes time is the work on
 * their bytes. */
#include "user/gen/gen_state.h"

/* Bytes of its text, and whether those after the text must be zero. */
static uint64_t slot_size(const struct gen *g, uint16_t slot)
{
	return native_slot_type(g, slot)->size | (g->frame.padded[slot] ? INSIDE_PADDED : 0);
}

void native_literal(struct gen *g, const struct insn *in)
{
	struct str text = g->program->literals[in->imm];
	int label = native_pool(g, text.ptr, text.len);

	native_call(g, INSIDE_TEXT, MEMORY(native_slot(g, in->s, 0)), IMM(slot_size(g, in->s)),
		    LABEL(label), IMM(text.len));
}

static void read_bytes(struct gen *g, const struct insn *in, enum inside_fn fn)
{
	uint32_t size = native_slot_type(g, in->s)->size;
	uint64_t sizes = INSIDE_SIZES(slot_size(g, in->s), in->imm ? (uint64_t)in->imm : size);

	if (in->b == REG_NO)
		native_call(g, fn, HIT, MEMORY(native_slot(g, in->s, 0)), REG(in->a),
			    IMM(UINT64_MAX), IMM(sizes), IMM(in->span));
	else
		native_call(g, fn, HIT, MEMORY(native_slot(g, in->s, 0)), REG(in->a), REG(in->b),
			    IMM(sizes), IMM(in->span));
}

void native_str(struct gen *g, const struct insn *in)
{
	read_bytes(g, in, INSIDE_STR);
}

void native_buf(struct gen *g, const struct insn *in)
{
	read_bytes(g, in, INSIDE_BUF);
}

void native_comm(struct gen *g, const struct insn *in)
{
	native_call(g, INSIDE_COMM, HIT, MEMORY(native_slot(g, in->s, 0)), IMM(slot_size(g, in->s)),
		    IMM(in->span));
}

void native_strcmp(struct gen *g, const struct insn *in)
{
	native_call(g, INSIDE_STRCMP, MEMORY(native_slot(g, in->s, 0)),
		    MEMORY(native_slot(g, in->t, 0)),
		    IMM(in->imm < 0 ? UINT64_MAX : (uint64_t)in->imm));
	native_write(g, in->d, ACC);
}

void native_append(struct gen *g, const struct insn *in)
{
	uint64_t sizes = INSIDE_SIZES(slot_size(g, in->s), native_slot_type(g, in->t)->size);

	native_call(g, INSIDE_APPEND, MEMORY(native_slot(g, in->s, 0)),
		    MEMORY(native_slot(g, in->t, 0)), IMM(sizes));
}

/* The length may be anything, in memory that others have, too. A text ends in zeros up to the next
 * multiple of 8: the first byte of a word clears the rest of it. */
void native_push(struct gen *g, const struct insn *in)
{
	struct asm_mem text = native_slot(g, in->s, sizeof(struct text_head));
	struct asm_mem len = native_slot(g, in->s, (int64_t)offsetof(struct text_head, len));
	struct asm_mem flags = native_slot(g, in->s, (int64_t)offsetof(struct text_head, flags));
	struct native_code *c = g->code;
	int full = asm_label(c), inside = asm_label(c), stored = asm_label(c), done = asm_label(c);

	native_read(g, in->a, ACC);
	asm_const(c, AUX, 255);
	asm_alu(c, ALU_AND, ACC, AUX);
	asm_load(c, 4, false, TMP, len);
	asm_alu_imm(c, ALU_CMP, TMP, (int32_t)native_slot_type(g, in->s)->size);
	asm_jump_if(c, COND_AE, full);
	text.index = TMP;
	asm_const(c, AUX, 7);
	asm_alu(c, ALU_AND, AUX, TMP);
	asm_alu_imm(c, ALU_CMP, AUX, 0);
	asm_jump_if(c, COND_NE, inside);
	asm_store(c, 8, text, ACC);
	asm_jump(c, stored);
	asm_bind(c, inside);
	asm_store(c, 1, text, ACC);
	asm_bind(c, stored);
	asm_alu_imm(c, ALU_ADD, TMP, 1);
	asm_store(c, 4, len, TMP);
	asm_jump(c, done);
	asm_bind(c, full);
	asm_const(c, ACC, TEXT_CUT);
	asm_store(c, 4, flags, ACC);
	asm_bind(c, done);
}

void native_mark(struct gen *g, const struct insn *in)
{
	struct asm_mem flags = native_slot(g, in->s, (int64_t)offsetof(struct text_head, flags));
	struct asm_mem other = native_slot(g, in->t, (int64_t)offsetof(struct text_head, flags));

	asm_load(g->code, 4, false, ACC, flags);
	asm_load(g->code, 4, false, TMP, other);
	asm_alu(g->code, ALU_OR, ACC, TMP);
	asm_store(g->code, 4, flags, ACC);
}

void native_write_user(struct gen *g, const struct insn *in)
{
	bool is_text = native_slot_type(g, in->s)->kind != TYPE_TUPLE;

	native_call(g, INSIDE_WRITE, HIT, REG(in->a),
		    MEMORY(native_slot(g, in->s, is_text ? sizeof(struct text_head) : 0)),
		    IMM((uint64_t)in->imm), IMM(in->span));
	native_write(g, in->d, ACC);
}

void native_length(struct gen *g, const struct insn *in)
{
	asm_load(g->code, 4, false, ACC,
		 native_slot(g, in->s, (int64_t)offsetof(struct text_head, len)));
	native_write(g, in->d, ACC);
}

/* The length may be anything, in memory that others have, too. */
void native_byte(struct gen *g, const struct insn *in)
{
	struct asm_mem text = native_slot(g, in->s, sizeof(struct text_head));
	struct native_code *c = g->code;
	int done = asm_label(c);

	native_read(g, in->a, TMP);
	asm_load(c, 4, false, AUX, native_slot(g, in->s, (int64_t)offsetof(struct text_head, len)));
	asm_const(c, ACC, 0);
	asm_alu(c, ALU_CMP, TMP, AUX);
	asm_jump_if(c, COND_AE, done);
	asm_alu_imm(c, ALU_CMP, TMP, (int32_t)native_slot_type(g, in->s)->size);
	asm_jump_if(c, COND_AE, done);
	text.index = TMP;
	asm_load(c, 1, false, ACC, text);
	asm_bind(c, done);
	native_write(g, in->d, ACC);
}

void native_script_stack(struct gen *g, const struct insn *in)
{
	native_pid(g, in);
	asm_mov(g->code, W4, ACC);
	native_call(g, INSIDE_LSTACK, HIT, MEMORY(native_slot(g, in->s, 0)),
		    IMM(slot_size(g, in->s)), IMM((uint64_t)in->imm), IMM(g->place->lang),
		    HOST(W4));
}

/* The frame pointer and the stack pointer go to the two words after struct hit. */
void native_stack(struct gen *g, const struct insn *in)
{
	int32_t pair = g->hit_at - (int32_t)sizeof(struct hit);
	struct native_code *c = g->code;

	native_saved(g, FRAME_POINTER, ACC);
	asm_store(c, 8, native_at(g, pair), ACC);
	asm_lea(c, ACC, native_at(g, 0));
	asm_store(c, 8, native_at(g, pair - 8), ACC);
	native_pid(g, in);
	asm_mov(c, W4, ACC);
	native_call(g, INSIDE_USTACK, HIT, MEMORY(native_slot(g, in->s, 0)),
		    IMM(slot_size(g, in->s)), IMM(g->place->site), MEMORY(native_at(g, pair)),
		    HOST(W4));
}
