/* What a walk looks up: the mapping that an address is in, and the rule of the function there.
 * Searches halve a number of elements a fixed number of times, with masks instead of branches: a
 * branch would double what the verifier follows. */
#include "engine/bpf/walk/user_code.h"

#include <errno.h>

#define MAPPING_ROUNDS 12			/* UNWIND_RUN_MOST */
#define FEW_MAPPINGS   6			/* most processes have fewer than 2^6 */
#define ROW_ROUNDS     (UNWIND_CHUNK_SHIFT + 1) /* a chunk's rows and the one before */
#define FEW_ROWS       8			/* most have fewer than 2^7 */
#define CHUNK_MASK     (UNWIND_CHUNK - 1)
#define WORD_SHIFT     2 /* of union unwind_word */
#define FUNC_FIND_VMA  180
#define PAGE_SHIFT     12
#define VM_EXEC	       4

/* `reg` = the address of mapping number `reg` of the array R4. */
static void point_at(struct code *c, int reg, uint32_t mask)
{
	code_alu_imm(c, BPF_AND, reg, (int32_t)mask);
	code_alu_imm(c, BPF_MUL, reg, sizeof(struct unwind_mapping));
	code_alu(c, BPF_ADD, reg, R4);
}

/* R1 = the last of the R2 mappings from number R1 on that starts at TMP2 or before; if none does,
 * the first. R4 is the array. Ruins R0, R2, R3, R5. */
static void search_mappings(struct code *c, uint32_t mask)
{
	int few = code_label(c);

	code_mov(c, R0, TMP2);
	code_alu_imm(c, BPF_ADD, R0, 1);
	code_jump_imm(c, BPF_JLE, R2, 1 << FEW_MAPPINGS, few);
	for (unsigned i = MAPPING_ROUNDS; i > 0; i--) {
		if (i == FEW_MAPPINGS)
			code_bind(c, few);
		code_mov(c, R5, R2);
		code_alu_imm(c, BPF_RSH, R5, 1);
		code_mov(c, R3, R1);
		code_alu(c, BPF_ADD, R3, R5);
		point_at(c, R3, mask);
		code_load(c, 8, R3, R3, (int)offsetof(struct unwind_mapping, start));
		/* All ones when it is at most TMP2. */
		code_alu(c, BPF_SUB, R3, R0);
		code_alu_imm(c, BPF_ARSH, R3, 63);
		code_alu(c, BPF_AND, R3, R5);
		code_alu(c, BPF_ADD, R1, R3);
		code_alu(c, BPF_SUB, R2, R5);
	}
}

/* R4 = the last of the rows at R4, R2 bytes of them, whose pc is less than R0; of the first that is
 * not asked. With i rounds to go there are at most 2^(i-1) + 1 of them. The masks change nothing:
 * they say to the verifier how far R4 may get. Ruins R2, R3, R5. */
static void search_rows(struct code *c)
{
	int few = code_label(c);

	code_jump_imm(c, BPF_JLE, R2, 1 << (FEW_ROWS - 1) << WORD_SHIFT, few);
	for (unsigned i = ROW_ROUNDS; i > 0; i--) {
		if (i == FEW_ROWS)
			code_bind(c, few);
		code_mov(c, R5, R2);
		code_alu_imm(c, BPF_RSH, R5, 1);
		code_alu_imm(c, BPF_AND, R5, (i > 1 ? (1 << (i - 1)) - 1 : 1) << WORD_SHIFT);
		code_alu(c, BPF_SUB, R2, R5);
		code_mov(c, R3, R4);
		code_alu(c, BPF_ADD, R3, R5);
		code_load(c, 2, R3, R3, (int)offsetof(struct unwind_row, pc));
		code_alu(c, BPF_SUB, R3, R0);
		code_alu_imm(c, BPF_ARSH, R3, 63);
		code_alu(c, BPF_AND, R5, R3);
		code_alu(c, BPF_ADD, R4, R5);
	}
}

/* To `no` unless TMP2 is in the mapping at an offset of R1. */
static void test_mapping(struct code *c, int reg, int32_t at, int no)
{
	code_load(c, 8, R2, reg, at + (int32_t)offsetof(struct unwind_mapping, start));
	code_jump_if(c, BPF_JGT, R2, TMP2, no);
	code_load(c, 8, R2, reg, at + (int32_t)offsetof(struct unwind_mapping, end));
	code_jump_if(c, BPF_JLE, R2, TMP2, no);
}

/* Look for TMP2 in the run of the process. */
static void search_run(struct user_code *w, int no)
{
	const struct user_maps *m = w->walks->user;
	uint32_t mask = m->mapping_count - 1;
	struct code *c = w->walks->code;

	code_load(c, 4, R1, SCRATCH, w->at + WALK_RUN);
	code_load(c, 4, R2, SCRATCH, w->at + WALK_RUN + 4);
	code_alu_imm(c, BPF_AND, R2, (int32_t)~UNWIND_RUN_UNFRAMED);
	code_jump_imm(c, BPF_JEQ, R2, 0, no);
	code_map_value(c, R4, m->mappings_fd, 0);
	search_mappings(c, mask);
	point_at(c, R1, mask);
	test_mapping(c, R1, 0, no);
	for (unsigned at = 0; at < sizeof(struct unwind_mapping); at += 8) {
		code_load(c, 8, R2, R1, (int)at);
		walk_store(w, WALK_MAPPING + (int)at, R2);
	}
}

/* Run walk_mapping_body() on the mapping of TMP2. STACK_A has the address of the slot. */
static void call_find_vma(struct code *c, int body)
{
	code_call(c, FUNC_TASK_BTF);
	code_mov(c, R1, R0);
	code_mov(c, R2, TMP2);
	code_function(c, R3, body);
	code_address(c, R4, FRAME, STACK_A);
	code_const(c, R5, 0);
	code_call(c, FUNC_FIND_VMA);
}

/* The rest of WALK_MAPPING, of the file at R0 (struct unwind_file). */
static void place_file(struct user_code *w)
{
	struct code *c = w->walks->code;
	int whole = code_label(c);

	walk_load(w, R1, MAPPING(start));
	walk_load(w, R2, WALK_OFFSET);
	code_alu(c, BPF_SUB, R1, R2); /* where the file's first byte would be */
	code_load(c, 8, R2, R0, (int)offsetof(struct unwind_file, chunks));
	walk_store(w, MAPPING(first), R2);
	code_load(c, 8, R2, R0, (int)offsetof(struct unwind_file, frame));
	code_alu(c, BPF_SUB, R2, R1);
	walk_store(w, MAPPING(frame), R2);
	code_load(c, 8, R2, R0, (int)offsetof(struct unwind_file, base));
	code_alu(c, BPF_ADD, R2, R1);
	walk_store(w, MAPPING(base), R2);
	code_load(c, 8, R2, R0, (int)offsetof(struct unwind_file, proof));
	walk_store(w, MAPPING(proof), R2);
	code_load(c, 8, R2, R0, (int)offsetof(struct unwind_file, proof_at));
	code_alu(c, BPF_ADD, R1, R2);
	walk_store(w, MAPPING(proof_at), R1);
	code_load(c, 8, R2, R0, (int)offsetof(struct unwind_file, begin));
	walk_load(w, R1, WALK_OFFSET);
	code_jump_if(c, BPF_JEQ, R1, R2, whole);
	code_store_imm(c, 8, SCRATCH, w->at + MAPPING(proof), 0);
	code_bind(c, whole);
}

/* To `no` unless WALK_MAPPING is still what it was when its file was read: its proof is there. A
 * page that cannot be read now, where nothing may sleep, says nothing. */
static void test_proof(struct user_code *w, int no)
{
	struct spill read = in_scratch(w->at + WALK_READ);
	struct code *c = w->walks->code;
	int is_read = code_label(c), ok = code_label(c);

	walk_load(w, R3, MAPPING(proof));
	code_jump_imm(c, BPF_JEQ, R3, 0, ok);
	walk_load(w, R3, MAPPING(proof_at));
	code_helper(c, BPF_FUNC_probe_read_user, MEM(read, 0), IMM(8), REG(R3));
	code_jump_imm(c, BPF_JEQ, R0, 0, is_read);
	if (!w->may_sleep) {
		code_jump(c, ok);
	} else {
		walk_load(w, R3, MAPPING(proof_at));
		code_helper(c, BPF_FUNC_copy_from_user, MEM(read, 0), IMM(8), REG(R3));
		code_jump_imm(c, BPF_JNE, R0, 0, no);
	}
	code_bind(c, is_read);
	walk_load(w, R1, WALK_READ);
	walk_load(w, R2, MAPPING(proof));
	code_jump_if(c, BPF_JNE, R1, R2, no);
	code_bind(c, ok);
}

/* WALK_MAPPING is of a file that is not known, of the inode in WALK_KEY. */
static void place_later(struct user_code *w)
{
	struct code *c = w->walks->code;

	walk_load(w, R2, WALK_KEY);
	code_alu_imm(c, BPF_AND, R2, UNWIND_LATER_INODE);
	code_alu_imm(c, BPF_LSH, R2, UNWIND_LATER_SHIFT);
	code_const(c, R1, (int64_t)(UNWIND_FRAME_FILE | UNWIND_FRAME_LATER));
	code_alu(c, BPF_OR, R2, R1);
	walk_load(w, R1, WALK_OFFSET);
	code_alu(c, BPF_ADD, R2, R1);
	walk_load(w, R1, MAPPING(start));
	code_alu(c, BPF_SUB, R2, R1);
	walk_store(w, MAPPING(frame), R2);
	code_store_imm(c, 8, SCRATCH, w->at + MAPPING(first), UNWIND_FILE_LATER);
	walk_load(w, R3, WALK_PID); /* whose maps will have it */
	code_store(c, 4, SCRATCH, w->slot.offset + 4, R3);
}

/* Ask the kernel for the mapping of TMP2, of a process that is new, or has mapped something that
 * the reader of this run has not seen yet. Its file may be known all the same. */
static void ask_kernel(struct user_code *w, int found)
{
	const struct user_maps *m = w->walks->user;
	struct code *c = w->walks->code;
	int known = code_label(c), no_file = code_label(c), is_file = code_label(c),
	    later = code_label(c), other = code_label(c), answered = code_label(c);

	code_store_imm(c, 8, SCRATCH, w->at + MAPPING(end), 0);
	code_store_imm(c, 8, SCRATCH, w->at + WALK_WHY, UNWIND_NOT_CODE);
	if (!m->finds_mappings) {
		code_jump(c, w->ends[UNWIND_NOT_CODE]);
		return;
	}
	call_find_vma(c, walk_function(w, WALK_ASKED));
	code_jump_imm(c, BPF_JEQ, R0, 0, answered);
	/* Another thread maps something: the kernel's lock is taken, and a probe may not wait for
	 * it. */
	code_jump_imm(c, BPF_JNE, R0, -EBUSY, w->ends[UNWIND_NOT_CODE]);
	code_store_imm(c, 8, SCRATCH, w->at + WALK_WHY, UNWIND_BUSY);
	code_jump(c, w->ends[UNWIND_NOT_CODE]);
	code_bind(c, answered);
	walk_load(w, R1, MAPPING(end));
	code_jump_imm(c, BPF_JEQ, R1, 0, w->ends[UNWIND_NOT_CODE]);
	walk_load(w, R1, WALK_KEY);
	code_jump_imm(c, BPF_JNE, R1, 0, is_file);
	code_const(c, R2, UNWIND_NO_FILE);
	code_load(c, 4, R3, SCRATCH, w->at + WALK_RUN + 4);
	code_alu_imm(c, BPF_RSH, R3, 31); /* UNWIND_RUN_UNFRAMED */
	code_jump_imm(c, BPF_JEQ, R3, 0, no_file);
	code_const(c, R2, UNWIND_CODE_UNFRAMED);
	code_jump(c, no_file);
	code_bind(c, is_file); /* keys are on the stack: before 6.2 a function has no others */
	code_store(c, 8, FRAME, STACK_KEY, R1);
	walk_load(w, R1, WALK_KEY + 8);
	code_store(c, 8, FRAME, STACK_KEY + 8, R1);
	code_helper(c, BPF_FUNC_map_lookup_elem, MAP(m->files_fd), SUM(FRAME, STACK_KEY));
	code_jump_imm(c, BPF_JNE, R0, 0, known);
	code_bind(c, later);
	place_later(w);
	code_jump(c, found);
	code_bind(c, no_file);
	walk_store(w, MAPPING(first), R2);
	code_store_imm(c, 8, SCRATCH, w->at + MAPPING(frame), 0);
	code_jump(c, found);
	code_bind(c, other); /* a new file may have the inode of one that is gone */
	code_store_imm(c, 8, SCRATCH, w->at + WALK_KEY, 0);
	code_jump(c, later);
	code_bind(c, known);
	place_file(w);
	test_proof(w, other);
}

/* WALK_MAPPING = the mapping of TMP2. Mostly it is that of the frame before. */
void walk_find_mapping(struct user_code *w)
{
	struct code *c = w->walks->code;
	int other = code_label(c), unknown = code_label(c), found = code_label(c);

	test_mapping(c, SCRATCH, w->at + WALK_MAPPING, other);
	code_jump(c, found);
	code_bind(c, other);
	search_run(w, unknown);
	test_proof(w, unknown);
	code_jump(c, found);
	code_bind(c, unknown);
	ask_kernel(w, found);
	code_bind(c, found);
}

/* TMP = the word at an offset of what TMP points to, in the kernel. */
static void follow_pointer(struct user_code *w, uint32_t offset)
{
	walk_read_kernel(w, WALK_READ, TMP, offset);
	walk_load(w, TMP, WALK_READ);
}

/* In: R2 is the mapping, as the kernel keeps it, and R3 the address of the caller's STACK_A. Of
 * code, start, end, offset and file go to WALK_MAPPING, WALK_OFFSET and WALK_KEY. */
void walk_mapping_body(struct user_code *w)
{
	const struct user_maps *m = w->walks->user;
	struct code *c = w->walks->code;
	int no = code_label(c), done = code_label(c);

	code_mov(c, TMP, R2);
	code_load(c, 8, SCRATCH, R3, 0);
	walk_read_kernel(w, MAPPING(start), TMP, m->vm_start);
	walk_read_kernel(w, WALK_OFFSET, TMP, m->vm_offset);
	walk_read_kernel(w, WALK_KEY, TMP, m->vm_flags);
	walk_read_kernel(w, MAPPING(end), TMP, m->vm_end);
	walk_load(w, R1, WALK_KEY);
	code_alu_imm(c, BPF_AND, R1, VM_EXEC);
	code_jump_imm(c, BPF_JEQ, R1, 0, no);
	walk_load(w, R1, WALK_OFFSET);
	code_alu_imm(c, BPF_LSH, R1, PAGE_SHIFT);
	walk_store(w, WALK_OFFSET, R1);
	code_store_imm(c, 8, SCRATCH, w->at + WALK_KEY, 0);
	follow_pointer(w, m->vm_file);
	code_jump_imm(c, BPF_JEQ, TMP, 0, done);
	follow_pointer(w, m->file_inode);
	code_mov(c, TMP2, TMP);
	follow_pointer(w, m->inode_number);
	walk_store(w, WALK_KEY, TMP);
	code_mov(c, TMP, TMP2);
	follow_pointer(w, m->inode_super);
	follow_pointer(w, m->super_device);
	code_alu32(c, BPF_MOV, TMP, TMP);
	walk_store(w, WALK_KEY + 8, TMP);
	code_jump(c, done);
	code_bind(c, no);
	code_store_imm(c, 8, SCRATCH, w->at + MAPPING(end), 0);
	code_bind(c, done);
	code_const(c, R0, 0);
	code_exit(c);
}

/* R0 = the rule at TMP2, which counts from the start of the mapping's chunks: R1 is the first of
 * them, R2 how many there are. */
static void find_row(struct user_code *w)
{
	const uint32_t words = w->walks->user->word_count;
	const int fd = w->walks->user->words_fd;
	struct code *c = w->walks->code;

	code_mov(c, R3, TMP2);
	code_alu_imm(c, BPF_RSH, R3, UNWIND_CHUNK_SHIFT);
	code_jump_if(c, BPF_JGE, R3, R2, w->ends[UNWIND_NO_ROWS]);
	code_alu(c, BPF_ADD, R1, R3);
	code_jump_imm(c, BPF_JGT, R1, (int32_t)words - 2, w->ends[UNWIND_NO_ROWS]); /* never */
	code_alu_imm(c, BPF_LSH, R1, WORD_SHIFT);
	code_map_value(c, R4, fd, 0);
	code_alu(c, BPF_ADD, R4, R1);
	code_load(c, 4, R1, R4, 0);
	code_load(c, 4, R2, R4, sizeof(union unwind_word));
	/* Bytes of the rows from that before the chunk to that before the next. */
	code_alu(c, BPF_SUB, R2, R1);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_alu_imm(c, BPF_LSH, R2, WORD_SHIFT);
	code_jump_imm(c, BPF_JGE, R1, (int32_t)(words - WALK_WORDS_AFTER),
		      w->ends[UNWIND_NO_ROWS]); /* never */
	code_alu_imm(c, BPF_LSH, R1, WORD_SHIFT);
	code_map_value(c, R4, fd, 0);
	code_alu(c, BPF_ADD, R4, R1);
	code_mov(c, R0, TMP2);
	code_alu_imm(c, BPF_AND, R0, CHUNK_MASK);
	code_alu_imm(c, BPF_ADD, R0, 1);
	search_rows(c);
	code_load(c, 2, R0, R4, (int)offsetof(struct unwind_row, rule));
}

/* WALK_RULE and WALK_OFFSETS, and R1 = the first, for the address TMP2. */
void walk_find_rule(struct user_code *w)
{
	const struct user_maps *m = w->walks->user;
	struct code *c = w->walks->code;
	int has_chunks = code_label(c), found = code_label(c);

	walk_load(w, R2, MAPPING(base));
	code_alu(c, BPF_SUB, TMP2, R2);
	code_load(c, 4, R2, SCRATCH, w->at + MAPPING(count));
	code_load(c, 4, R1, SCRATCH, w->at + MAPPING(first));
	code_jump_imm(c, BPF_JNE, R2, 0, has_chunks);
	code_const(c, R3, UNWIND_NO_FILE);
	code_const(c, R0, UNWIND_RULE_CHAIN);
	code_jump_if(c, BPF_JEQ, R1, R3, found);
	code_jump_imm(c, BPF_JEQ, R1, UNWIND_FILE_LATER, w->ends[UNWIND_LATER]);
	code_jump_imm(c, BPF_JEQ, R1, UNWIND_CODE_UNFRAMED, w->ends[UNWIND_NO_FRAMES]);
	code_jump_imm(c, BPF_JEQ, R1, UNWIND_FILE_NO_ROOM, w->ends[UNWIND_NO_ROOM]);
	code_jump(c, w->ends[UNWIND_NO_ROWS]);
	code_bind(c, has_chunks);
	find_row(w);
	code_bind(c, found);
	code_alu_imm(c, BPF_AND, R0, UNWIND_RULES_MOST - 1);
	code_alu_imm(c, BPF_LSH, R0, __builtin_ctz(sizeof(struct unwind_rule)));
	code_map_value(c, R1, m->rules_fd, 0);
	code_alu(c, BPF_ADD, R1, R0);
	code_load(c, 8, R2, R1, 8);
	walk_store(w, WALK_OFFSETS, R2);
	code_load(c, 8, R1, R1, 0);
	walk_store(w, WALK_RULE, R1);
}
