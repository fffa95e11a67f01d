/* What a function is called: the kernel copies all that its name is made of, by the steps in the
 * target, and sends it before the first record or key that has it. So it has a name when its
 * process has ended. */
#include "engine/bpf/walk/script_code.h"

#define FUNC_RINGBUF_OUTPUT 130
#define PAGE		    4096
#define WAKE_NEVER	    1 /* BPF_RB_NO_WAKEUP */
#define SEEN_BYTES	    24
/* A key of `seen`, up to STACK_A: with 64 bytes of stack, calls would take longer. */
#define STACK_SEEN STACK_GROUP

_Static_assert(sizeof(struct lang_step) == 16 && sizeof(struct lang_chunk) == 16,
	       "indexed by shifts");

#define STEP(field) (int)(offsetof(struct lang_target, steps) + offsetof(struct lang_step, field))

/* R3 = the step */
static void find_step(const struct lang_code *w)
{
	lang_get(w, R3, CELL_TIMES);
	code_alu_imm(w->c, BPF_AND, R3, LANG_STEPS - 1);
	code_alu_imm(w->c, BPF_LSH, R3, 4);
	code_alu(w->c, BPF_ADD, R3, TMP);
}

/* TMP2 = what a step reads: its register, and an offset. R3 is the step then. */
static void find_source(const struct lang_code *w)
{
	struct code *c = w->c;

	find_step(w);
	code_load(c, 1, R1, R3, STEP(from));
	code_alu_imm(c, BPF_AND, R1, LANG_REGISTERS - 1);
	code_alu_imm(c, BPF_LSH, R1, 3);
	code_alu(c, BPF_ADD, R1, SCRATCH);
	code_load(c, 8, TMP2, R1, w->work + AT_REGISTERS);
	code_load(c, 2, R1, R3, STEP(offset));
	code_alu(c, BPF_ADD, TMP2, R1);
}

/* A chunk of CELL_LEN bytes; to `fail` when it cannot be read. Ruins all. */
static void copy_chunk(const struct lang_code *w, bool sleeps, int fail)
{
	struct code *c = w->c;

	find_step(w);
	code_load(c, 2, R1, R3, STEP(at));
	code_alu_imm(c, BPF_AND, R1, LANG_AT_MOST);
	code_alu(c, BPF_ADD, R1, SCRATCH);
	code_alu_imm(c, BPF_ADD, R1, w->work + AT_BYTES);
	lang_get(w, R2, CELL_LEN);
	code_alu_imm(c, BPF_AND, R2, 2 * LANG_CHUNK_MOST - 1);
	code_limit(w->c, R2, LANG_CHUNK_MOST);
	code_mov(c, R3, TMP2);
	code_call(c, sleeps ? BPF_FUNC_copy_from_user : BPF_FUNC_probe_read_user);
	code_jump_imm(c, BPF_JNE, R0, 0, fail);
}

/* As long as the step says; if that cannot be read, to the end of the page. A chunk that cannot be
 * read at all has no bytes. */
static void take_chunk(const struct lang_code *w)
{
	struct code *c = w->c;
	int done = code_label(c), shorter = code_label(c), again = code_label(c),
	    none = code_label(c);

	code_load(c, 2, R1, R3, STEP(len));
	lang_set(w, CELL_LEN, R1);
	copy_chunk(w, false, again);
	code_jump(c, done);
	code_bind(c, again);
	if (w->may_sleep) {
		copy_chunk(w, true, shorter);
		code_jump(c, done);
	}
	code_bind(c, shorter);
	code_mov(c, R1, TMP2);
	code_alu_imm(c, BPF_AND, R1, PAGE - 1);
	code_const(c, R2, PAGE);
	code_alu(c, BPF_SUB, R2, R1);
	lang_get(w, R1, CELL_LEN);
	code_jump_if(c, BPF_JGE, R2, R1, none);
	lang_set(w, CELL_LEN, R2);
	copy_chunk(w, false, none);
	code_jump(c, done);
	code_bind(c, none);
	lang_zero(w, CELL_LEN);
	code_bind(c, done);
	find_step(w);
	code_load(c, 2, R5, R3, STEP(at));
	code_load(c, 1, R1, R3, STEP(chunk));
	code_alu_imm(c, BPF_AND, R1, LANG_CHUNKS - 1);
	code_alu_imm(c, BPF_LSH, R1, 4);
	code_alu(c, BPF_ADD, R1, SCRATCH);
	code_store(c, 8, R1, w->work + AT_CHUNKS, TMP2);
	lang_get(w, R2, CELL_LEN);
	code_store(c, 4, R1, w->work + AT_CHUNKS + 8, R2);
	code_store(c, 4, R1, w->work + AT_CHUNKS + 12, R5);
}

/* The register that the step is for = the word at TMP2, 0 when it cannot be read; LANG_STEP_INDEX:
 * the register += 8 * that word. R1 = the register, R3 = the step. */
static void take_register(const struct lang_code *w)
{
	struct code *c = w->c;
	int fail = code_label(c), done = code_label(c), set = code_label(c);

	lang_read(w, 8, fail);
	code_jump(c, done);
	code_bind(c, fail);
	code_const(c, R1, 0);
	code_bind(c, done);
	find_step(w);
	code_load(c, 1, R2, R3, STEP(kind));
	code_load(c, 1, R4, R3, STEP(to));
	code_alu_imm(c, BPF_AND, R4, LANG_REGISTERS - 1);
	code_alu_imm(c, BPF_LSH, R4, 3);
	code_alu(c, BPF_ADD, R4, SCRATCH);
	code_jump_imm(c, BPF_JNE, R2, LANG_STEP_INDEX, set);
	code_alu_imm(c, BPF_LSH, R1, 3);
	code_load(c, 8, R2, R4, w->work + AT_REGISTERS);
	code_alu(c, BPF_ADD, R1, R2);
	code_bind(c, set);
	code_store(c, 8, R4, w->work + AT_REGISTERS, R1);
}

static void take_steps(const struct lang_code *w)
{
	struct code *c = w->c;
	int chunk = code_label(c), go_on = code_label(c), done = code_label(c);

	lang_zero(w, CELL_TIMES);
	code_bind(c, w->stages[STAGE_STEP]);
	lang_get(w, R1, CELL_TIMES);
	lang_field(w, R2, TARGET(step_count));
	code_jump_if(c, BPF_JGE, R1, R2, done);
	find_source(w);
	code_load(c, 1, R1, R3, STEP(kind));
	code_jump_imm(c, BPF_JEQ, R1, LANG_STEP_COPY, chunk);
	take_register(w);
	code_load(c, 2, R2, R3, STEP(len));
	code_jump_imm(c, BPF_JEQ, R2, 0, go_on);
	code_mov(c, TMP2, R1);
	code_bind(c, chunk);
	take_chunk(w);
	code_bind(c, go_on);
	lang_get(w, R1, CELL_TIMES);
	code_alu_imm(c, BPF_ADD, R1, 1);
	lang_set(w, CELL_TIMES, R1);
	lang_again(w, STAGE_STEP, done);
	code_bind(c, done);
}

/* Keys are on the stack: before 6.2 a function has no others. */
static void copy_key(const struct lang_code *w)
{
	code_copy(w->c, FRAME, STACK_SEEN, SCRATCH, w->work + AT_CELLS + 8 * CELL_KEY, SEEN_BYTES);
}

/* If the ring is full it is met for the first time again. */
void lang_define(const struct lang_code *w)
{
	struct code *c = w->c;
	const int32_t key = w->work + AT_CELLS + 8 * CELL_KEY;
	int single = code_label(c), known = code_label(c);

	lang_zero(w, CELL_POSITION_KEY);
	lang_field(w, R1, TARGET(shape.is_pair));
	code_jump_imm(c, BPF_JEQ, R1, 0, single);
	lang_get(w, R1, CELL_POSITION);
	lang_set(w, CELL_POSITION_KEY, R1);
	code_bind(c, single);
	copy_key(w);
	code_helper(c, BPF_FUNC_map_lookup_elem, MAP(w->walks->script->seen_fd),
		    SUM(FRAME, STACK_SEEN));
	code_jump_imm(c, BPF_JNE, R0, 0, known);
	code_copy(w->c, SCRATCH, w->work + AT_HEAD, SCRATCH, key, SEEN_BYTES);
	code_load(c, 4, R1, TMP, (int)offsetof(struct lang_target, id));
	code_store(c, 8, SCRATCH, w->work + AT_HEAD + (int)offsetof(struct lang_definition, id),
		   R1);
	code_zero(c, w->walks->zeros_fd, in_scratch(w->work + AT_CHUNKS), 0,
		  LANG_CHUNKS * sizeof(struct lang_chunk));
	lang_get(w, R1, CELL_OBJECT);
	code_const(c, R2, (int64_t)LANG_ADDRESS(UINT64_MAX));
	code_alu(c, BPF_AND, R1, R2);
	code_store(c, 8, SCRATCH, w->work + AT_REGISTERS, R1);
	lang_get(w, R1, CELL_POSITION);
	code_store(c, 8, SCRATCH, w->work + AT_REGISTERS + 8, R1);
	take_steps(w);
	lang_field(w, R3, TARGET(bytes));
	code_alu_imm(c, BPF_AND, R3, 2 * PAGE - 1);
	code_limit(w->c, R3, LANG_BYTES);
	code_alu_imm(c, BPF_ADD, R3, (int32_t)sizeof(struct lang_definition));
	code_map(c, R1, w->walks->script->definitions.fd);
	code_address(c, R2, SCRATCH, w->work + AT_HEAD);
	code_const(c, R4, WAKE_NEVER);
	code_call(c, FUNC_RINGBUF_OUTPUT);
	code_jump_imm(c, BPF_JNE, R0, 0, known);
	copy_key(w); /* the steps may be other calls */
	code_helper(c, BPF_FUNC_map_update_elem, MAP(w->walks->script->seen_fd),
		    SUM(FRAME, STACK_SEEN), SUM(FRAME, STACK_SEEN), IMM(BPF_ANY));
	code_bind(c, known);
}

/* CELL_OBJECT with 16 bits of its check word. Memory that cannot be read gives none. */
void lang_check(const struct lang_code *w)
{
	struct code *c = w->c;
	int none = code_label(c);

	lang_field(w, R1, TARGET(shape.check));
	code_jump_imm(c, BPF_JEQ, R1, LANG_NOTHING, none);
	lang_get(w, TMP2, CELL_OBJECT);
	code_alu(c, BPF_ADD, TMP2, R1);
	lang_read(w, 4, none);
	code_alu_imm(c, BPF_LSH, R1, 48);
	lang_get(w, R2, CELL_OBJECT);
	code_alu(c, BPF_OR, R1, R2);
	lang_set(w, CELL_OBJECT, R1);
	code_bind(c, none);
}
