/* From frame to frame, in whichever shape they lie, until the last one or until the slot is full.
 */
#include "engine/bpf/walk/script_code.h"

/* ---- frames */

/* CELL_NEXT and CELL_END for the first frame; to `blocks` for Perl. */
static void find_first(const struct lang_code *w)
{
	struct code *c = w->c;
	int has = code_label(c), linked = code_label(c);

	lang_field(w, R1, TARGET(shape.shape));
	code_jump_imm(c, BPF_JEQ, R1, LANG_BLOCKS, w->blocks);
	lang_follow(w, CELL_STATE, TARGET(shape.top));
	lang_set(w, CELL_NEXT, R1);
	lang_field(w, R2, TARGET(shape.top_again));
	code_jump_imm(c, BPF_JEQ, R2, LANG_NOTHING, has);
	lang_follow(w, CELL_NEXT, TARGET(shape.top_again));
	lang_set(w, CELL_NEXT, R1);
	code_bind(c, has);
	lang_zero(w, CELL_END);
	lang_field(w, R1, TARGET(shape.shape));
	code_jump_imm(c, BPF_JNE, R1, LANG_ARRAY, linked);
	lang_follow(w, CELL_STATE, TARGET(shape.base));
	lang_set(w, CELL_END, R1);
	lang_follow(w, CELL_STATE, TARGET(shape.words));
	code_alu_imm(c, BPF_LSH, R1, 3);
	lang_get(w, R2, CELL_END);
	code_alu(c, BPF_ADD, R1, R2);
	lang_set(w, CELL_END, R1);
	code_bind(c, linked);
	lang_get(w, R1, CELL_NEXT);
	code_jump_imm(c, BPF_JEQ, R1, 0, w->no_thread);
}

/* dst = `size` bytes of the frame that was read, at an offset that a field of the target says. */
static void get_of_frame(const struct lang_code *w, int dst, int size, int offset, int field_size)
{
	lang_field(w, R2, offset, field_size);
	code_alu_imm(w->c, BPF_AND, R2, 127);
	code_mov(w->c, R3, SCRATCH);
	code_alu(w->c, BPF_ADD, R3, R2);
	code_load(w->c, size, dst, R3, w->work + AT_FRAME);
}

/* The bytes of the frame at TMP2. */
static void read_frame(const struct lang_code *w)
{
	struct code *c = w->c;
	int ok = code_label(c);

	for (int sleeping = 0; sleeping <= w->may_sleep; sleeping++) {
		lang_field(w, R2, TARGET(shape.size));
		code_alu_imm(c, BPF_AND, R2, 127);
		code_address(c, R1, SCRATCH, w->work + AT_FRAME);
		code_mov(c, R3, TMP2);
		code_call(c, sleeping ? BPF_FUNC_copy_from_user : BPF_FUNC_probe_read_user);
		code_jump_imm(c, BPF_JEQ, R0, 0, ok);
	}
	code_jump(c, w->unreadable);
	code_bind(c, ok);
}

/* CELL_POSITION by what kind of position it is. */
static void find_position(const struct lang_code *w)
{
	struct code *c = w->c;
	int wide = code_label(c), has = code_label(c), plain = code_label(c),
	    unknown = code_label(c);

	lang_field(w, R1, TARGET(shape.position_size));
	code_jump_imm(c, BPF_JNE, R1, 4, wide);
	get_of_frame(w, R1, 4, TARGET(shape.position));
	code_extend(w->c, R1, 4, true);
	code_jump(c, has);
	code_bind(c, wide);
	get_of_frame(w, TMP2, 8, TARGET(shape.position));
	lang_field(w, R1, TARGET(shape.line));
	code_jump_imm(c, BPF_JEQ, R1, LANG_NOTHING, plain);
	code_alu(c, BPF_ADD, TMP2, R1);
	lang_read(w, 4, unknown);
	code_jump(c, has);
	code_bind(c, unknown);
	code_const(c, R1, 0);
	code_jump(c, has);
	code_bind(c, plain);
	code_mov(c, R1, TMP2);
	lang_field(w, R2, TARGET(shape.is_relative));
	code_jump_imm(c, BPF_JEQ, R2, 0, has);
	lang_get(w, R2, CELL_OBJECT);
	code_alu(c, BPF_SUB, R1, R2);
	code_bind(c, has);
	lang_set(w, CELL_POSITION, R1);
}

/* The frame that was added last is one by which the interpreter was entered. */
static void mark_last(const struct lang_code *w)
{
	struct code *c = w->c;
	int done = code_label(c);

	lang_get(w, R1, CELL_COUNT);
	code_jump_imm(c, BPF_JEQ, R1, 0, done);
	code_jump_imm(c, BPF_JGT, R1, (int32_t)w->most, done);
	code_alu_imm(c, BPF_SUB, R1, 1);
	code_alu_imm(c, BPF_LSH, R1, 4);
	code_alu(c, BPF_ADD, R1, SCRATCH);
	code_const(c, R2, (int64_t)LANG_ENTRY);
	code_load(c, 8, R3, R1, w->frames);
	code_alu(c, BPF_OR, R3, R2);
	code_store(c, 8, R1, w->frames, R3);
	code_bind(c, done);
}

/* To `no` if what the block does last has ended a call. CELL_NUMBER is already that of the next. */
static void check_last(const struct lang_code *w, int no)
{
	lang_get(w, R1, CELL_NUMBER);
	code_alu_imm(w->c, BPF_ADD, R1, 2);
	lang_get(w, R2, CELL_ENDED);
	code_jump_if(w->c, BPF_JEQ, R1, R2, no);
}

/* To `no` unless the block of a sub or an eval ends a call of the interpreter. What a sort's block,
 * a deferred one or code in a pattern does last also returns to no statement: it is one call then.
 */
static void check_returns(const struct lang_code *w, int no)
{
	struct code *c = w->c;
	int whole = code_label(c);

	lang_get(w, TMP2, CELL_BLOCK);
	lang_field(w, R1, TARGET(shape.entry_at));
	code_alu(c, BPF_ADD, TMP2, R1);
	lang_read(w, 8, no);
	code_jump_imm(c, BPF_JNE, R1, 0, no);
	lang_get(w, R1, CELL_TYPE);
	code_alu_imm(c, BPF_AND, R1, LANG_BLOCK_CODE);
	code_jump_imm(c, BPF_JEQ, R1, 0, whole);
	check_last(w, no);
	code_bind(c, whole);
	lang_get(w, R1, CELL_NUMBER);
	code_alu_imm(c, BPF_ADD, R1, 1);
	lang_set(w, CELL_ENDED, R1);
}

/* Mark the frame that was added last as one by which the interpreter was entered, if that frame
 * says so itself. */
static void mark_entry(const struct lang_code *w)
{
	struct code *c = w->c;
	int done = code_label(c), mark = code_label(c), flags = code_label(c);
	int returns = code_label(c);

	if (!w->marks)
		return;
	lang_field(w, R1, TARGET(shape.entry));
	code_jump_imm(c, BPF_JEQ, R1, LANG_ENTRY_EACH, mark);
	code_jump_imm(c, BPF_JEQ, R1, LANG_ENTRY_FLAGS, flags);
	code_jump_imm(c, BPF_JEQ, R1, LANG_ENTRY_RETURNS, returns);
	code_jump_imm(c, BPF_JNE, R1, LANG_ENTRY_BITS, done);
	get_of_frame(w, R1, 4, TARGET(shape.entry_at));
	lang_field(w, R2, TARGET(shape.entry_bits));
	code_alu(c, BPF_AND, R1, R2);
	code_jump_imm(c, BPF_JEQ, R1, 0, done);
	code_jump(c, mark);

	code_bind(c, flags);
	get_of_frame(w, TMP2, 8, TARGET(shape.entry_at));
	lang_read(w, 4, done);
	lang_field(w, R2, TARGET(shape.entry_bits));
	code_alu(c, BPF_AND, R1, R2);
	lang_field(w, R2, TARGET(shape.entry_value));
	code_jump_if(c, BPF_JNE, R1, R2, done);
	code_jump(c, mark);

	code_bind(c, returns);
	lang_get(w, R1, CELL_BLOCK);
	code_jump_imm(c, BPF_JEQ, R1, 0, mark); /* it is in no sub */
	check_returns(w, done);

	code_bind(c, mark);
	mark_last(w);
	code_bind(c, done);
}

/* The next frame with an object goes to `add`; those of the interpreter's own are left out. */
static void take_frames(const struct lang_code *w)
{
	struct code *c = w->c;
	int keep = code_label(c), array = code_label(c), go_on = code_label(c);
	int skipped = code_label(c);

	code_bind(c, w->stages[STAGE_FRAME]);
	lang_get(w, TMP2, CELL_NEXT);
	code_jump_imm(c, BPF_JEQ, TMP2, 0, w->root);
	lang_get(w, R1, CELL_END);
	code_jump_if(c, BPF_JEQ, TMP2, R1, w->root);
	read_frame(w);
	get_of_frame(w, R1, 8, TARGET(shape.object));
	lang_set(w, CELL_OBJECT, R1);
	code_jump_imm(c, BPF_JEQ, R1, 0, w->next);
	lang_field(w, R4, TARGET(shape.skip));
	code_jump_imm(c, BPF_JEQ, R4, 0, keep);
	get_of_frame(w, R1, 1, TARGET(shape.skip_at));
	code_jump_if(c, BPF_JEQ, R1, R4, skipped);
	code_bind(c, keep);
	find_position(w);
	code_jump(c, w->add);

	code_bind(c, skipped);
	if (w->marks) {
		lang_field(w, R1, TARGET(shape.entry));
		code_jump_imm(c, BPF_JNE, R1, LANG_ENTRY_SKIPPED, w->next);
		mark_last(w);
	}

	code_bind(c, w->next);
	lang_get(w, R1, CELL_END);
	code_jump_imm(c, BPF_JNE, R1, 0, array);
	get_of_frame(w, R1, 8, TARGET(shape.next));
	lang_set(w, CELL_NEXT, R1);
	code_jump(c, go_on);
	code_bind(c, array);
	lang_get(w, R1, CELL_NEXT);
	lang_field(w, R2, TARGET(shape.size));
	code_alu(c, BPF_ADD, R1, R2);
	lang_set(w, CELL_NEXT, R1);
	lang_get(w, R2, CELL_END);
	code_jump_if(c, BPF_JGT, R1, R2, w->unreadable);
	code_bind(c, go_on);
	lang_round(w, LANG_ROUNDS_MOST, w->unreadable, STAGE_FRAME);
}

/* CELL_SORT and CELL_ENDED for the stack of blocks in CELL_NEXT. */
static void find_use(const struct lang_code *w)
{
	struct code *c = w->c;
	int done = code_label(c);

	if (!w->marks)
		return;
	lang_zero(w, CELL_SORT);
	lang_zero(w, CELL_ENDED);
	lang_get(w, TMP2, CELL_NEXT);
	lang_field(w, R1, TARGET(shape.stack_use));
	code_alu(c, BPF_ADD, TMP2, R1);
	lang_read(w, 4, done);
	code_jump_imm(c, BPF_JNE, R1, LANG_BLOCK_SORT, done);
	lang_set(w, CELL_SORT, R1);
	code_bind(c, done);
}

/* CELL_END, CELL_NUMBER, CELL_NEXT, CELL_SORT and CELL_ENDED for the stack of blocks in CELL_NEXT.
 */
static void open_stack(const struct lang_code *w)
{
	struct code *c = w->c;

	lang_follow(w, CELL_NEXT, TARGET(shape.words));
	lang_set(w, CELL_END, R1);
	lang_get(w, TMP2, CELL_NEXT);
	lang_field(w, R1, TARGET(shape.last));
	code_alu(c, BPF_ADD, TMP2, R1);
	lang_read(w, 4, w->unreadable);
	code_extend(w->c, R1, 4, true);
	code_jump_imm(c, BPF_JSGT, R1, LANG_BLOCK_MOST, w->unreadable);
	lang_set(w, CELL_NUMBER, R1);
	find_use(w);
	lang_follow(w, CELL_NEXT, TARGET(shape.next));
	lang_set(w, CELL_NEXT, R1);
}

/* The interpreter was entered for a part of the next frame; then to `again`. */
static void add_part(const struct lang_code *w, int again)
{
	struct code *c = w->c;

	lang_get(w, R1, CELL_COUNT);
	code_jump_imm(c, BPF_JGE, R1, (int32_t)w->most, w->limit);
	code_const(c, R4, LANG_PART);
	lang_put_note(w);
	lang_set(w, CELL_COUNT, R1);
	code_jump(c, again);
}

/* A block, of the type in R1, that is not shown as a sub: perhaps the interpreter was entered for
 * it. */
static void take_part(const struct lang_code *w, int fake, int again)
{
	struct code *c = w->c;
	int part = code_label(c), returns = code_label(c), eval = code_label(c);
	int last = code_label(c);

	code_bind(c, fake);
	if (!w->marks) {
		code_jump(c, again);
		return;
	}
	code_jump_imm(c, BPF_JEQ, R1, LANG_BLOCK_DEFER, last);
	code_jump_imm(c, BPF_JEQ, R1, LANG_BLOCK_SUB, returns);
	code_jump_imm(c, BPF_JEQ, R1, LANG_BLOCK_EVAL, eval);
	code_jump_imm(c, BPF_JNE, R1, LANG_BLOCK_NULL, again);
	lang_get(w, R1, CELL_NUMBER);
	code_jump_imm(c, BPF_JSGE, R1, 0, again);
	lang_get(w, R1, CELL_SORT);
	code_jump_imm(c, BPF_JEQ, R1, 0, again);
	code_bind(c, last);
	check_last(w, again);
	code_jump(c, part);
	code_bind(c, eval);
	lang_get(w, R1, CELL_TYPE);
	code_alu_imm(c, BPF_AND, R1, LANG_BLOCK_TRY);
	code_jump_imm(c, BPF_JNE, R1, 0, again);
	code_bind(c, returns);
	check_returns(w, again);
	code_bind(c, part);
	add_part(w, again);
}

/* The block with the number in R1: if it is of a sub, CELL_OBJECT; else to `again`. */
static void open_block(const struct lang_code *w, int again)
{
	struct code *c = w->c;
	int is_sub = code_label(c), is_format = code_label(c), named = code_label(c);
	int other = code_label(c);

	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_SUB, R2, 1);
	lang_set(w, CELL_NUMBER, R2);
	lang_field(w, R2, TARGET(shape.size));
	code_alu(c, BPF_MUL, R1, R2);
	lang_get(w, R2, CELL_END);
	code_alu(c, BPF_ADD, R1, R2);
	lang_set(w, CELL_BLOCK, R1);
	code_mov(c, TMP2, R1);
	lang_field(w, R1, TARGET(shape.type));
	code_alu(c, BPF_ADD, TMP2, R1);
	lang_read(w, 1, w->unreadable);
	lang_set(w, CELL_TYPE, R1);
	code_alu_imm(c, BPF_AND, R1, LANG_BLOCK_TYPE);
	code_jump_imm(c, BPF_JEQ, R1, LANG_BLOCK_SUB, is_sub);
	code_jump_imm(c, BPF_JEQ, R1, LANG_BLOCK_FORMAT, is_format);
	take_part(w, other, again);
	code_bind(c, is_sub);
	lang_get(w, R2, CELL_TYPE);
	code_alu_imm(c, BPF_AND, R2, LANG_BLOCK_FAKE);
	code_jump_imm(c, BPF_JNE, R2, 0, other);
	code_bind(c, is_format);
	lang_follow(w, CELL_BLOCK, TARGET(shape.object));
	code_jump_imm(c, BPF_JNE, R1, 0, named);
	code_const(c, R1, LANG_MAIN);
	code_bind(c, named);
	lang_set(w, CELL_OBJECT, R1);
}

/* Perl: from block to block, from stack to stack. The frame of what is in no sub comes last. */
static void take_blocks(const struct lang_code *w)
{
	struct code *c = w->c;
	int again = code_label(c), has_block = code_label(c), add = code_label(c);
	int has_stack = code_label(c);

	code_bind(c, w->blocks);
	lang_follow(w, CELL_STATE, TARGET(shape.top));
	lang_set(w, CELL_STATEMENT, R1);
	lang_follow(w, CELL_STATE, TARGET(shape.base));
	lang_set(w, CELL_NEXT, R1);
	code_const(c, R1, -1);
	lang_set(w, CELL_NUMBER, R1);
	code_jump(c, again);
	code_bind(c, w->finish); /* a frame was added: its caller's statement */
	lang_get(w, R1, CELL_BLOCK);
	code_jump_imm(c, BPF_JEQ, R1, 0, w->root);
	lang_follow(w, CELL_BLOCK, TARGET(shape.position));
	lang_set(w, CELL_STATEMENT, R1);
	code_bind(c, again);
	lang_round(w, LANG_BLOCK_MOST, w->unreadable, STAGE_BLOCK);
	code_bind(c, w->stages[STAGE_BLOCK]);
	lang_get(w, R1, CELL_NUMBER);
	code_jump_imm(c, BPF_JSGE, R1, 0, has_block);
	lang_get(w, R1, CELL_NEXT);
	code_jump_imm(c, BPF_JNE, R1, 0, has_stack);
	code_const(c, R1, LANG_MAIN);
	lang_set(w, CELL_OBJECT, R1);
	lang_zero(w, CELL_BLOCK);
	lang_get(w, R1, CELL_STATEMENT);
	code_jump_imm(c, BPF_JEQ, R1, 0, w->root);
	code_jump(c, add);
	code_bind(c, has_stack);
	open_stack(w);
	code_jump(c, again);
	code_bind(c, has_block);
	open_block(w, again);
	code_bind(c, add);
	lang_get(w, R1, CELL_STATEMENT);
	lang_set(w, CELL_POSITION, R1);
	code_jump(c, w->add);
}

/* One frame more, CELL_OBJECT and CELL_POSITION; then the next. */
static void add_frame(const struct lang_code *w)
{
	struct code *c = w->c;

	code_bind(c, w->add);
	lang_get(w, R1, CELL_COUNT);
	code_jump_imm(c, BPF_JGE, R1, (int32_t)w->most, w->limit);
	lang_check(w);
	lang_get(w, R1, CELL_COUNT);
	code_jump_imm(c, BPF_JGE, R1, (int32_t)w->most, w->limit);
	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_LSH, R2, 4);
	code_alu(c, BPF_ADD, R2, SCRATCH);
	lang_get(w, R3, CELL_OBJECT);
	code_store(c, 8, R2, w->frames, R3);
	lang_get(w, R3, CELL_POSITION);
	code_store(c, 8, R2, w->frames + 8, R3);
	code_alu_imm(c, BPF_ADD, R1, 1);
	lang_set(w, CELL_COUNT, R1);
	mark_entry(w);
	lang_define(w);
	lang_field(w, R1, TARGET(shape.shape));
	code_jump_imm(c, BPF_JEQ, R1, LANG_BLOCKS, w->finish);
	code_jump(c, w->next);
}

void lang_frames(const struct lang_code *w)
{
	find_first(w);
	take_frames(w);
	take_blocks(w);
	add_frame(w);
}
