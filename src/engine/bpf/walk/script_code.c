/* Stacks of scripts: the walk of lang/frames.c as eBPF. What differs between
 * languages and versions is data, in the target of the process (struct lang_target), so the code is
 * the same for all of them.
 *
 * Frames are written to the slot. Memory after it, of the same scratch entry, has what the walk
 * works with: what it reads from there on the verifier knows nothing of, so paths merge, and bounds
 * are checked where they are used.
 *
 * What follows after the target is a function, which gets the slot and the target; the verifier
 * follows it once for all that call it. Loops are jumps where the kernel has may_goto. Else it has
 * bpf_loop call another one: a loop's next round is its next call, which goes to where CELL_STAGE
 * says. */
#include "engine/bpf/walk/script_code.h"

#include "program/program.h"

/* Calls of bpf_loop: for threads, frames, blocks, and the steps of names. */
#define CALLS_MOST (1 << 16)

_Static_assert(AT_BYTES + LANG_BYTES <= SCRIPT_WALK_SIZE, "memory for the walk");

/* ---- the state of the thread */

static void find_self(const struct lang_code *w)
{
	code_call(w->c, BPF_FUNC_get_current_task);
	code_mov(w->c, R3, R0);
	code_alu_imm(w->c, BPF_ADD, R3, (int32_t)w->walks->script->places.thread_pointer);
	lang_kernel(w, w->unreadable);
	lang_set(w, CELL_SELF, R1);
}

/* R1 = the variable of the thread; 0: it has none */
static void find_tls(const struct lang_code *w)
{
	struct code *c = w->c;
	int has = code_label(c);

	code_const(c, R1, 1);
	lang_field(w, TMP2, TARGET(root));
	code_jump_imm(c, BPF_JEQ, TMP2, 0, has);
	lang_read(w, 8, w->unreadable);
	code_bind(c, has);
	code_jump_imm(c, BPF_JGT, R1, UINT16_MAX, w->unreadable);
	code_alu_imm(c, BPF_LSH, R1, 4);
	lang_set(w, CELL_STATE, R1);
	lang_get(w, TMP2, CELL_SELF);
	code_alu_imm(c, BPF_ADD, TMP2, 8);
	lang_read(w, 8, w->unreadable);
	code_mov(c, TMP2, R1);
	lang_get(w, R1, CELL_STATE);
	code_alu(c, BPF_ADD, TMP2, R1);
	lang_read(w, 8, w->unreadable);
	code_jump_imm(c, BPF_JEQ, R1, 0, w->no_thread);
	code_jump_imm(c, BPF_JEQ, R1, -1, w->no_thread);
	code_mov(c, TMP2, R1);
	lang_field(w, R1, TARGET(tls_offset));
	code_alu(c, BPF_ADD, TMP2, R1);
	lang_read(w, 8, w->unreadable);
}

/* R1 = what the thread has set for the key at the root */
static void find_keyed(const struct lang_code *w)
{
	struct code *c = w->c;

	lang_field(w, TMP2, TARGET(root));
	lang_read(w, 4, w->unreadable);
	code_jump_imm(c, BPF_JGE, R1, LANG_KEYS, w->unreadable);
	code_alu_imm(c, BPF_MUL, R1, LANG_KEY_BYTES);
	lang_get(w, TMP2, CELL_SELF);
	code_alu(c, BPF_ADD, TMP2, R1);
	code_alu_imm(c, BPF_ADD, TMP2, LANG_KEYS_AT);
	lang_read(w, 8, w->unreadable);
}

/* R1 = the state of the thread of the lists that has this thread's pointer; 0: none */
static void find_listed(const struct lang_code *w)
{
	struct code *c = w->c;
	int look = code_label(c), go_on = code_label(c), found = code_label(c);
	int is_it = code_label(c), more = code_label(c);

	lang_field(w, TMP2, TARGET(root));
	lang_field(w, R1, TARGET(shape.interpreters));
	code_alu(c, BPF_ADD, TMP2, R1);
	lang_read(w, 8, w->unreadable);
	lang_set(w, CELL_NEXT, R1);
	lang_zero(w, CELL_END);
	code_bind(c, w->stages[STAGE_THREAD]);
	lang_get(w, R1, CELL_END);
	code_jump_imm(c, BPF_JNE, R1, 0, look);
	lang_get(w, R1, CELL_NEXT);
	code_jump_imm(c, BPF_JEQ, R1, 0, found);
	lang_field(w, R2, TARGET(shape.first_thread));
	code_alu(c, BPF_ADD, R1, R2);
	lang_set(w, CELL_HEAD, R1);
	lang_follow(w, CELL_NEXT, TARGET(shape.first_thread));
	lang_set(w, CELL_END, R1);
	lang_field(w, R2, TARGET(shape.next_interpreter));
	code_const(c, R1, 0);
	code_jump_imm(c, BPF_JEQ, R2, LANG_NO_NEXT, more);
	lang_follow(w, CELL_NEXT, TARGET(shape.next_interpreter));
	code_bind(c, more);
	lang_set(w, CELL_NEXT, R1);
	code_jump(c, go_on);
	code_bind(c, look);
	lang_follow(w, CELL_END, TARGET(shape.thread_pointer));
	lang_get(w, R2, CELL_SELF);
	code_jump_if(c, BPF_JEQ, R1, R2, is_it);
	lang_follow(w, CELL_END, TARGET(shape.next_thread));
	lang_get(w, R2, CELL_HEAD);
	lang_set(w, CELL_END, R1);
	code_jump_if(c, BPF_JNE, R1, R2, go_on);
	lang_zero(w, CELL_END);
	code_bind(c, go_on);
	lang_round(w, LANG_ROUNDS_MOST, w->unreadable, STAGE_THREAD);
	code_bind(c, is_it);
	lang_get(w, R1, CELL_END);
	lang_field(w, R2, TARGET(shape.of_thread));
	code_jump_imm(c, BPF_JEQ, R2, LANG_NOTHING, found);
	lang_follow(w, CELL_END, TARGET(shape.of_thread));
	code_bind(c, found);
	lang_zero(w, CELL_ROUNDS);
}

static void find_state(const struct lang_code *w)
{
	struct code *c = w->c;
	int has = code_label(c), tls = code_label(c), listed = code_label(c);
	int root = code_label(c), keyed = code_label(c);

	find_self(w);
	lang_field(w, R1, TARGET(shape.start));
	code_jump_imm(c, BPF_JEQ, R1, LANG_START_ROOT, root);
	code_jump_imm(c, BPF_JEQ, R1, LANG_START_TLS, tls);
	code_jump_imm(c, BPF_JEQ, R1, LANG_START_LIST, listed);
	code_jump_imm(c, BPF_JEQ, R1, LANG_START_KEY, keyed);
	lang_field(w, TMP2, TARGET(root));
	lang_read(w, 8, w->unreadable);
	code_jump(c, has);
	code_bind(c, root);
	lang_field(w, R1, TARGET(root));
	code_jump(c, has);
	code_bind(c, tls);
	find_tls(w);
	code_jump(c, has);
	code_bind(c, keyed);
	find_keyed(w);
	code_jump(c, has);
	code_bind(c, listed);
	find_listed(w);
	code_bind(c, has);
	code_jump_imm(c, BPF_JEQ, R1, 0, w->no_thread);
	lang_set(w, CELL_STATE, R1);
}

/* ---- the end: a note when it was not the root, if there is room; the head */

/* R4 = why it ended. */
static void note_ends(const struct lang_code *w)
{
	const struct {
		int label;
		enum lang_note note;
	} ends[] = {
		{w->unreadable, LANG_UNREADABLE},
		{w->no_thread, LANG_NO_THREAD},
		{w->no_runtime, LANG_NO_RUNTIME},
		{w->limit, LANG_LIMIT},
		{w->root, LANG_ROOT},
	};
	struct code *c = w->c;
	int note = code_label(c);

	for (size_t i = 0; i < COUNT(ends); i++) {
		code_bind(c, ends[i].label);
		code_const(c, R4, ends[i].note);
		code_jump(c, note);
	}
	code_bind(c, note);
}

/* In: R4 as above. */
static void end_walk(const struct lang_code *w)
{
	struct code *c = w->c;
	int done = code_label(c);

	lang_get(w, R1, CELL_COUNT);
	code_jump_imm(c, BPF_JEQ, R4, LANG_ROOT, done);
	code_jump_imm(c, BPF_JGE, R1, (int32_t)w->most, done);
	lang_put_note(w);
	code_bind(c, done);
	code_alu_imm(c, BPF_LSH, R1, 1); /* words */
	code_store(c, 4, SCRATCH, w->frames - HEAD_SIZE, R1);
}

/* ---- the walk */

static void make_labels(struct lang_code *w)
{
	int *const labels[] = {&w->unreadable, &w->no_thread, &w->no_runtime, &w->limit, &w->root,
			       &w->blocks,     &w->add,	      &w->next,	      &w->finish};

	for (size_t i = 0; i < COUNT(labels); i++)
		*labels[i] = code_label(w->c);
	for (unsigned i = 0; i < STAGES; i++)
		w->stages[i] = code_label(w->c);
}

/* In: R2 is the address of the caller's STACK_SCRATCH. Returns 1 when the stack is complete. */
static void stages_body(struct lang_code *w)
{
	struct code *c = w->c;

	w->is_called = true;
	code_load(c, 8, SCRATCH, R2, 0);
	code_load(c, 8, TMP, R2, STACK_CTX - STACK_SCRATCH);
	lang_get(w, R1, CELL_STAGE);
	for (int i = STAGE_START + 1; i < STAGES; i++)
		code_jump_imm(c, BPF_JEQ, R1, i, w->stages[i]);
	find_state(w);
	lang_frames(w);
	note_ends(w);
	lang_set(w, CELL_NOTE, R4);
	code_const(c, R0, 1);
	code_exit(c);
}

/* The label of a function of this walk. */
static int script_function(const struct lang_code *w, enum walk_kind kind)
{
	return walks_body(w->walks, &(struct walk_body){.kind = kind,
							.depth = w->depth,
							.marks = w->marks,
							.may_sleep = w->may_sleep});
}

/* R4 = why it ended. */
static void call_rounds(const struct lang_code *w)
{
	struct code *c = w->c;

	lang_zero(w, CELL_STAGE);
	code_const(c, R1, LANG_UNREADABLE);
	lang_set(w, CELL_NOTE, R1);
	code_store(c, 8, FRAME, STACK_SCRATCH, SCRATCH);
	code_store(c, 8, FRAME, STACK_CTX, TMP);
	code_const(c, R1, CALLS_MOST);
	code_function(c, R2, script_function(w, WALK_STAGES));
	code_helper(c, FUNC_LOOP, REG(R1), REG(R2), SUM(FRAME, STACK_SCRATCH), IMM(0));
	lang_get(w, R4, CELL_NOTE);
}

/* In: R1 is the slot, R2 the target. */
static void script_body(struct lang_code *w)
{
	struct code *c = w->c;
	int none = code_label(c);

	code_jump_imm(c, BPF_JEQ, R1, 0, none); /* never */
	code_jump_imm(c, BPF_JEQ, R2, 0, none); /* never */
	code_mov(c, SCRATCH, R1);
	code_mov(c, TMP, R2);
	if (w->walks->has_may_goto) {
		find_state(w);
		lang_frames(w);
		note_ends(w);
	} else {
		call_rounds(w);
	}
	end_walk(w);
	code_bind(c, none);
	code_const(c, R0, 0);
	code_exit(c);
}

void script_walk_body(struct walks *walks, const struct walk_body *b)
{
	struct lang_code w = {.walks = walks,
			      .c = walks->code,
			      .frames = HEAD_SIZE,
			      .work = HEAD_SIZE + 8 * (int32_t)b->depth,
			      .depth = b->depth,
			      .most = b->depth / 2,
			      .may_sleep = b->may_sleep,
			      .marks = b->marks};

	make_labels(&w);
	code_bind(walks->code, b->label);
	if (b->kind == WALK_STAGES)
		stages_body(&w);
	else
		script_body(&w);
}

void walk_script(struct walks *walks, const struct walk_slot *slot, int64_t language)
{
	struct code *c = walks->code;
	int done = code_label(c);
	struct lang_code w = {.walks = walks,
			      .c = c,
			      .frames = slot->at.offset + HEAD_SIZE,
			      .work = slot->at.offset + HEAD_SIZE + (int32_t)slot->size,
			      .depth = slot->size / 8,
			      .most = slot->size / 16,
			      .may_sleep = slot->may_sleep,
			      .marks = language & LANGUAGE_ENTRIES};

	make_labels(&w);
	lang_find_target(&w, language & ~LANGUAGE_ENTRIES);
	code_address(c, R1, SCRATCH, slot->at.offset);
	code_mov(c, R2, TMP);
	code_call_function(c, script_function(&w, WALK_SCRIPT),
			   HEAD_SIZE + slot->size + SCRIPT_WALK_SIZE, sizeof(struct lang_target));
	code_jump(c, done);
	code_bind(c, w.no_runtime);
	code_const(c, R4, LANG_NO_RUNTIME);
	end_walk(&w);
	code_bind(c, done);
}
