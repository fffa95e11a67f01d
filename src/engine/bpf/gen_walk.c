/* Walking the stack of a program in the kernel, by the tables of unwind/tables.h: no frame pointers
 * are needed. What a walk knows between two frames is in scratch memory after the slot's frames, so
 * that the verifier, which does not look there, finds each round the same:
 *
 *	slot		u32 count | u32 pid and end | frames ...
 *	after them	WALK_PC, WALK_SP, ...
 *
 * A round finds the mapping of pc, keeps the frame, finds the row of pc, and goes to the caller as
 * its rule says (unwind/step.c does the same in C). Searches halve a number of elements a fixed
 * number of times, with masks instead of branches: a branch would double what the verifier follows.
 *
 * Rounds are a loop of may_goto where the kernel has it, else calls by bpf_loop, else code for
 * FEW_FRAMES of them. */
#include "engine/bpf/gen.h"

#include <elf.h>

#include "unwind/tables.h"

/* What a walk needs of a CPU. */
static const struct walk_cpu {
	uint16_t machine;
	const char *fp, *link;
	uint8_t call;  /* bytes: a return address less this is in the call */
	uint8_t entry; /* bytes from the stack pointer at a function's entry to its CFA */
	/* Registers are those of user mode when these bits of this word of struct pt_regs are so.
	 */
	uint16_t mode_at;
	uint8_t mode_bits, mode_user;
} cpus[] = {
	{EM_X86_64, "rbp", NULL, 1, 8, 136, 3, 3},     /* cs */
	{EM_AARCH64, "x29", "x30", 4, 0, 264, 0xf, 0}, /* pstate */
};

#define ROW_ROUNDS     22 /* 2^22 rows of one file: UNWIND_ROWS_MOST */
#define MAPPING_ROUNDS 12 /* UNWIND_RUN_MOST */
#define FEW_ROUNDS     16
#define FEW_FRAMES     32
#define RETURNS_MOST   8 /* return instances that are looked at for one frame */
#define FUNC_TASK_BTF  158
#define FUNC_FIND_VMA  180
#define FUNC_TASK_REGS 175
#define PAGE_SHIFT     12
#define VM_EXEC	       4

/* What a round finds and leaves, from the end of the slot's frames. */
/* clang-format off */
enum {
	WALK_PC      = 0,
	WALK_SP      = 8,
	WALK_FP      = 16,
	WALK_LINK    = 24, /* the link register; 0: not known */
	WALK_EXACT   = 32, /* 1: pc is where it stands, not a return address */
	WALK_RUN     = 40, /* struct unwind_run of the process */
	WALK_PID     = 48,
	WALK_RULE    = 56, /* the first 8 bytes of the rule */
	WALK_OFFSETS = 64, /* ... fp_off and ra_off */
	WALK_NEW     = 72, /* pc of the caller */
	WALK_READ    = 80, /* 16 bytes of user memory */
	WALK_ADDRESS = 96,
	WALK_RETURNS = 104, /* the next return instance of the thread; 0: not looked at; 1: none */
	WALK_MAPPING = 112, /* struct unwind_mapping of the last frame; `end` 0: none */
	WALK_KEY     = 152, /* struct unwind_file_key of a mapping that is in no run */
	WALK_OFFSET  = 168, /* ... and where in the file it begins */
	WALK_SIZE    = 176,
};
/* clang-format on */

_Static_assert(WALK_SIZE == GEN_WALK_SIZE, "frame.c reserves it");
_Static_assert(sizeof(struct unwind_mapping) == 40 && sizeof(struct unwind_row) == 8 &&
		       sizeof(struct unwind_rule) == 16,
	       "the code has these sizes");

/* One ustack. */
struct walk {
	struct gen *g;
	const struct walk_cpu *cpu;
	struct spill slot;
	int32_t at; /* of WALK_PC in scratch memory */
	uint32_t depth;
	bool may_sleep;
	int again, done;	      /* labels: the next round; the stack is complete */
	int ends[UNWIND_ENDS_COUNT_]; /* labels by reason; 0: none */
};

static const struct walk_cpu *find_cpu(void)
{
	for (size_t i = 0; arch_host() && i < COUNT(cpus); i++)
		if (cpus[i].machine == arch_host()->machine && arch_host()->word == 8)
			return &cpus[i];
	return NULL;
}

bool gen_walk_knows_cpu(void)
{
	return find_cpu();
}

static void load(struct walk *w, int reg, int what)
{
	code_load(w->g->code, 8, reg, SCRATCH, w->at + what);
}

static void store(struct walk *w, int what, int reg)
{
	code_store(w->g->code, 8, SCRATCH, w->at + what, reg);
}

/* `what` = the word of the kernel at an offset of what `reg` points to. */
static void read_kernel(struct walk *w, int what, int reg, uint32_t offset)
{
	code_helper(w->g->code, BPF_FUNC_probe_read_kernel, MEM(in_scratch(w->at + what), 0),
		    IMM(8), SUM(reg, (int32_t)offset));
}

/* WALK_READ = `size` bytes of user memory at R3; else the stack ends there. */
static void read_user(struct walk *w, int size)
{
	struct code *c = w->g->code;
	struct spill to = in_scratch(w->at + WALK_READ);
	int ok = code_label(c);

	if (w->may_sleep)
		store(w, WALK_ADDRESS, R3);
	code_helper(c, BPF_FUNC_probe_read_user, MEM(to, 0), IMM(size), REG(R3));
	code_jump_imm(c, BPF_JEQ, R0, 0, ok);
	if (w->may_sleep) {
		load(w, R3, WALK_ADDRESS);
		code_helper(c, BPF_FUNC_copy_from_user, MEM(to, 0), IMM(size), REG(R3));
		code_jump_imm(c, BPF_JEQ, R0, 0, ok);
	}
	code_jump(c, w->ends[UNWIND_UNREADABLE]);
	code_bind(c, ok);
}

/* `reg` = the address of element `reg` of the array R4. */
static void point_at(struct code *c, int reg, unsigned element, uint32_t mask)
{
	code_alu_imm(c, BPF_AND, reg, (int32_t)mask);
	if (element & (element - 1))
		code_alu_imm(c, BPF_MUL, reg, (int32_t)element);
	else
		code_alu_imm(c, BPF_LSH, reg, __builtin_ctz(element));
	code_alu(c, BPF_ADD, reg, R4);
}

/* R1 = the last of the R2 elements from number R1 on whose first `bytes` bytes are at most TMP2; if
 * none is, the first. R4 is the array. Most files have fewer than 2^16 rows, and the first rounds
 * are for more. Ruins R0, R2, R3, R5. */
static void search(struct code *c, unsigned rounds, unsigned element, unsigned bytes, uint32_t mask)
{
	int few = code_label(c);

	code_mov(c, R0, TMP2);
	code_alu_imm(c, BPF_ADD, R0, 1);
	if (rounds > FEW_ROUNDS)
		code_jump_imm(c, BPF_JLE, R2, 1 << FEW_ROUNDS, few);
	for (unsigned i = 0; i < rounds; i++) {
		if (i + FEW_ROUNDS == rounds)
			code_bind(c, few);
		code_mov(c, R5, R2);
		code_alu_imm(c, BPF_RSH, R5, 1);
		code_mov(c, R3, R1);
		code_alu(c, BPF_ADD, R3, R5);
		point_at(c, R3, element, mask);
		code_load(c, (int)bytes, R3, R3, 0);
		/* All ones when it is at most TMP2. */
		code_alu(c, BPF_SUB, R3, R0);
		code_alu_imm(c, BPF_ARSH, R3, 63);
		code_alu(c, BPF_AND, R3, R5);
		code_alu(c, BPF_ADD, R1, R3);
		code_alu(c, BPF_SUB, R2, R5);
	}
}

#define MAPPING(field) (WALK_MAPPING + (int)offsetof(struct unwind_mapping, field))

/* To `no` unless TMP2 is in the mapping at an offset of R1. */
static void test_mapping(struct code *c, int reg, int32_t at, int no)
{
	code_load(c, 8, R2, reg, at + (int32_t)offsetof(struct unwind_mapping, start));
	code_jump_if(c, BPF_JGT, R2, TMP2, no);
	code_load(c, 8, R2, reg, at + (int32_t)offsetof(struct unwind_mapping, end));
	code_jump_if(c, BPF_JLE, R2, TMP2, no);
}

static void add_body(struct walk *w, int label, bool of_mapping)
{
	struct gen *g = w->g;

	if (array_grow(g->walks, g->walk_count, g->walk_cap))
		g->code->failed = true;
	else
		g->walks[g->walk_count++] = (struct walk_body){of_mapping, w->slot,	 w->at,
							       w->depth,   w->may_sleep, label};
}

/* Look for TMP2 in the run of the process. */
static void search_run(struct walk *w, int no)
{
	const struct gen_walk_maps *m = &w->g->world->walk;
	uint32_t mask = m->mapping_count - 1;
	struct code *c = w->g->code;

	code_load(c, 4, R1, SCRATCH, w->at + WALK_RUN);
	code_load(c, 4, R2, SCRATCH, w->at + WALK_RUN + 4);
	code_jump_imm(c, BPF_JEQ, R2, 0, no);
	code_map_value(c, R4, m->mappings_fd, 0);
	search(c, MAPPING_ROUNDS, sizeof(struct unwind_mapping), 8, mask);
	point_at(c, R1, sizeof(struct unwind_mapping), mask);
	test_mapping(c, R1, 0, no);
	for (unsigned at = 0; at < sizeof(struct unwind_mapping); at += 8) {
		code_load(c, 8, R2, R1, (int)at);
		store(w, WALK_MAPPING + (int)at, R2);
	}
}

/* Ask the kernel for the mapping of TMP2, of a process that is new, or has mapped something that
 * the reader of this run has not seen yet. Its file may be known all the same. */
static void ask_kernel(struct walk *w, int found)
{
	const struct gen_walk_maps *m = &w->g->world->walk;
	struct code *c = w->g->code;
	int known = code_label(c), body = code_label(c), of_file = code_label(c);

	code_store_imm(c, 8, SCRATCH, w->at + MAPPING(end), 0);
	if (!m->finds_mappings) {
		code_jump(c, w->ends[UNWIND_NOT_CODE]);
		return;
	}
	add_body(w, body, true);
	code_store(c, 8, FRAME, STACK_A, SCRATCH);
	code_call(c, FUNC_TASK_BTF);
	code_mov(c, R1, R0);
	code_mov(c, R2, TMP2);
	code_function(c, R3, body);
	code_address(c, R4, FRAME, STACK_A);
	code_const(c, R5, 0);
	code_call(c, FUNC_FIND_VMA);
	code_jump_imm(c, BPF_JNE, R0, 0, w->ends[UNWIND_NOT_CODE]);
	load(w, R1, MAPPING(end));
	code_jump_imm(c, BPF_JEQ, R1, 0, w->ends[UNWIND_NOT_CODE]);
	load(w, R1, WALK_KEY);
	code_const(c, R2, UNWIND_NO_FILE);
	code_jump_imm(c, BPF_JEQ, R1, 0, of_file);
	code_helper(c, BPF_FUNC_map_lookup_elem, MAP(m->files_fd),
		    MEM(in_scratch(w->at + WALK_KEY), 0));
	code_jump_imm(c, BPF_JNE, R0, 0, known);
	code_const(c, R2, UNWIND_FILE_LATER);
	code_bind(c, of_file);
	store(w, MAPPING(first), R2);
	code_store_imm(c, 8, SCRATCH, w->at + MAPPING(frame), 0);
	code_jump(c, found);
	code_bind(c, known);
	load(w, R1, MAPPING(start));
	load(w, R2, WALK_OFFSET);
	code_alu(c, BPF_SUB, R1, R2); /* where the file's first byte would be */
	code_load(c, 8, R2, R0, (int)offsetof(struct unwind_file, rows));
	store(w, MAPPING(first), R2);
	code_load(c, 8, R2, R0, (int)offsetof(struct unwind_file, frame));
	code_alu(c, BPF_SUB, R2, R1);
	store(w, MAPPING(frame), R2);
	code_load(c, 8, R2, R0, (int)offsetof(struct unwind_file, base));
	code_alu(c, BPF_ADD, R1, R2);
	store(w, MAPPING(base), R1);
}

/* WALK_MAPPING = the mapping of TMP2. Mostly it is that of the frame before. */
static void find_mapping(struct walk *w)
{
	struct code *c = w->g->code;
	int other = code_label(c), unknown = code_label(c), found = code_label(c);

	test_mapping(c, SCRATCH, w->at + WALK_MAPPING, other);
	code_jump(c, found);
	code_bind(c, other);
	search_run(w, unknown);
	code_jump(c, found);
	code_bind(c, unknown);
	ask_kernel(w, found);
	code_bind(c, found);
}

/* Add the frame of pc, in TMP. An address that means something only in this
 * process makes the stack one of this process. */
static void keep_frame(struct walk *w)
{
	struct code *c = w->g->code;
	int of_file = code_label(c);

	load(w, R2, MAPPING(frame));
	code_jump_imm(c, BPF_JNE, R2, 0, of_file);
	load(w, R3, WALK_PID);
	code_store(c, 4, SCRATCH, w->slot.offset + 4, R3);
	code_bind(c, of_file);
	code_alu(c, BPF_ADD, R2, TMP);
	load(w, R3, WALK_EXACT);
	code_alu_imm(c, BPF_LSH, R3, 62);
	code_alu(c, BPF_OR, R2, R3);
	code_load(c, 4, R4, SCRATCH, w->slot.offset);
	code_jump_imm(c, BPF_JGE, R4, (int32_t)w->depth, w->ends[UNWIND_LIMIT]); /* never */
	code_mov(c, R3, R4);
	code_alu_imm(c, BPF_LSH, R3, 3);
	code_alu(c, BPF_ADD, R3, SCRATCH);
	code_store(c, 8, R3, w->slot.offset + HEAD_SIZE, R2);
	code_alu_imm(c, BPF_ADD, R4, 1);
	code_store(c, 4, SCRATCH, w->slot.offset, R4);
	code_jump_imm(c, BPF_JGE, R4, (int32_t)w->depth, w->ends[UNWIND_LIMIT]);
}

/* WALK_RULE and WALK_OFFSETS, and R1 = the first, for the address TMP2. */
static void find_rule(struct walk *w)
{
	const struct gen_walk_maps *m = &w->g->world->walk;
	struct code *c = w->g->code;
	int has_rows = code_label(c), found = code_label(c);

	load(w, R2, MAPPING(base));
	code_alu(c, BPF_SUB, TMP2, R2);
	code_load(c, 4, R2, SCRATCH, w->at + MAPPING(count));
	code_load(c, 4, R1, SCRATCH, w->at + MAPPING(first));
	code_jump_imm(c, BPF_JNE, R2, 0, has_rows);
	code_const(c, R3, UNWIND_NO_FILE);
	code_const(c, R0, UNWIND_RULE_CHAIN);
	code_jump_if(c, BPF_JEQ, R1, R3, found);
	code_jump_imm(c, BPF_JEQ, R1, UNWIND_FILE_LATER, w->ends[UNWIND_LATER]);
	code_jump_imm(c, BPF_JEQ, R1, UNWIND_FILE_NO_ROOM, w->ends[UNWIND_NO_ROOM]);
	code_jump(c, w->ends[UNWIND_NO_ROWS]);
	code_bind(c, has_rows);
	code_mov(c, R3, TMP2);
	code_alu_imm(c, BPF_RSH, R3, 32);
	code_jump_imm(c, BPF_JNE, R3, 0, w->ends[UNWIND_NO_ROWS]);
	code_map_value(c, R4, m->rows_fd, 0);
	search(c, ROW_ROUNDS, sizeof(struct unwind_row), 4, m->row_count - 1);
	point_at(c, R1, sizeof(struct unwind_row), m->row_count - 1);
	code_load(c, 2, R0, R1, (int)offsetof(struct unwind_row, rule));
	code_bind(c, found);
	code_mov(c, R1, R0);
	code_map_value(c, R4, m->rules_fd, 0);
	point_at(c, R1, sizeof(struct unwind_rule), UNWIND_RULES_MOST - 1);
	code_load(c, 8, R2, R1, 8);
	store(w, WALK_OFFSETS, R2);
	code_load(c, 8, R1, R1, 0);
	store(w, WALK_RULE, R1);
}

/* TMP2 = the CFA by the rule in R1; TMP is pc. */
static void find_cfa(struct walk *w)
{
	struct code *c = w->g->code;
	int sp = code_label(c), fp = code_label(c), plt = code_label(c), sp_load = code_label(c),
	    read = code_label(c), done = code_label(c);

	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_AND, R2, 0xff);
	code_alu_imm(c, BPF_ARSH, R1, 32); /* cfa_off */
	load(w, TMP2, WALK_SP);
	load(w, R3, WALK_FP);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_SP, sp);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_FP, fp);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_PLT, plt);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_SP_LOAD, sp_load);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_NONE, w->ends[UNWIND_NO_ROWS]);
	code_jump_imm(c, BPF_JNE, R2, UNWIND_FP_LOAD, w->ends[UNWIND_NOT_RULE]);
	code_jump(c, read);
	code_bind(c, sp_load);
	code_mov(c, R3, TMP2);
	code_bind(c, read);
	code_alu(c, BPF_ADD, R3, R1);
	read_user(w, 8);
	load(w, TMP2, WALK_READ);
	load(w, R1, WALK_RULE);
	code_alu_imm(c, BPF_LSH, R1, 32);
	code_alu_imm(c, BPF_ARSH, R1, 56); /* more */
	code_alu(c, BPF_ADD, TMP2, R1);
	code_jump(c, done);
	code_bind(c, plt);
	code_alu_imm(c, BPF_ADD, TMP2, 8);
	code_mov(c, R3, TMP);
	code_alu_imm(c, BPF_AND, R3, 15);
	code_jump_if(c, BPF_JLT, R3, R1, done);
	code_alu_imm(c, BPF_ADD, TMP2, 8);
	code_jump(c, done);
	code_bind(c, fp);
	code_mov(c, TMP2, R3);
	code_bind(c, sp);
	code_alu(c, BPF_ADD, TMP2, R1);
	code_bind(c, done);
}

/* WALK_READ = the word where a register is stored: place R2, offset R3, CFA TMP2. To `other` when
 * the place is none of memory. */
static void read_place(struct walk *w, int other)
{
	struct code *c = w->g->code;
	int by_cfa = code_label(c), by_sp = code_label(c), by_fp = code_label(c),
	    ready = code_label(c);

	code_jump_imm(c, BPF_JEQ, R2, UNWIND_AT_CFA, by_cfa);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_AT_SP, by_sp);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_AT_FP, by_fp);
	code_jump(c, other);
	code_bind(c, by_sp);
	load(w, R1, WALK_SP);
	code_jump(c, ready);
	code_bind(c, by_fp);
	load(w, R1, WALK_FP);
	code_jump(c, ready);
	code_bind(c, by_cfa);
	code_mov(c, R1, TMP2);
	code_bind(c, ready);
	code_alu(c, BPF_ADD, R3, R1);
	read_user(w, 8);
}

/* WALK_NEW = the return address. */
static void find_return(struct walk *w)
{
	struct code *c = w->g->code;
	int in_register = code_label(c), done = code_label(c);

	load(w, R2, WALK_RULE);
	code_alu_imm(c, BPF_RSH, R2, 16);
	code_alu_imm(c, BPF_AND, R2, 0xff & ~UNWIND_SIGNAL);
	load(w, R3, WALK_OFFSETS);
	code_alu_imm(c, BPF_ARSH, R3, 32);
	read_place(w, in_register);
	load(w, R1, WALK_READ);
	store(w, WALK_NEW, R1);
	code_jump(c, done);
	code_bind(c, in_register);
	load(w, R1, WALK_LINK);
	code_jump_imm(c, BPF_JNE, R2, UNWIND_SAME, w->ends[UNWIND_NOT_RULE]);
	code_jump_imm(c, BPF_JEQ, R1, 0, w->ends[UNWIND_NOT_RULE]);
	store(w, WALK_NEW, R1);
	code_bind(c, done);
}

static void find_frame_pointer(struct walk *w)
{
	struct code *c = w->g->code;
	int other = code_label(c), set = code_label(c), done = code_label(c);

	load(w, R2, WALK_RULE);
	code_alu_imm(c, BPF_RSH, R2, 8);
	code_alu_imm(c, BPF_AND, R2, 0xff);
	load(w, R3, WALK_OFFSETS);
	code_alu_imm(c, BPF_LSH, R3, 32);
	code_alu_imm(c, BPF_ARSH, R3, 32);
	read_place(w, other);
	load(w, R1, WALK_READ);
	code_jump(c, set);
	code_bind(c, other);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_SAME, done);
	code_const(c, R1, 0); /* no frame is found by it */
	code_bind(c, set);
	store(w, WALK_FP, R1);
	code_bind(c, done);
}

/* Both registers when they are stored side by side below the CFA, as most functions have them: one
 * read. To `done` when that was so. */
static void find_pair(struct walk *w, int done)
{
	const struct unwind_rule pair = {.fp_off = -16, .ra_off = -8};
	struct code *c = w->g->code;
	int no = code_label(c);
	uint64_t offsets;

	memcpy(&offsets, &pair.fp_off, sizeof(offsets));
	load(w, R1, WALK_OFFSETS);
	code_const(c, R2, (int64_t)offsets);
	code_jump_if(c, BPF_JNE, R1, R2, no);
	load(w, R1, WALK_RULE);
	code_alu_imm(c, BPF_RSH, R1, 8);
	code_alu_imm(c, BPF_AND, R1, 0xffff);
	code_jump_imm(c, BPF_JNE, R1, UNWIND_AT_CFA | UNWIND_AT_CFA << 8, no);
	code_mov(c, R3, TMP2);
	code_alu_imm(c, BPF_SUB, R3, 16);
	read_user(w, 16);
	load(w, R1, WALK_READ);
	store(w, WALK_FP, R1);
	code_load(c, 8, R1, SCRATCH, w->at + WALK_READ + 8);
	store(w, WALK_NEW, R1);
	code_jump(c, done);
	code_bind(c, no);
}

/* What a signal handler returns to is the first instruction of its function: the frame that was
 * kept last is not that of a call. */
static void mark_exact(struct walk *w)
{
	struct code *c = w->g->code;
	int none = code_label(c);

	code_load(c, 4, R3, SCRATCH, w->slot.offset);
	code_alu_imm(c, BPF_SUB, R3, 1);
	code_jump_imm(c, BPF_JGE, R3, (int32_t)w->depth, none); /* never */
	code_alu_imm(c, BPF_LSH, R3, 3);
	code_alu(c, BPF_ADD, R3, SCRATCH);
	code_load(c, 8, R1, R3, w->slot.offset + HEAD_SIZE);
	code_const(c, R4, (int64_t)UNWIND_FRAME_EXACT);
	code_alu(c, BPF_OR, R1, R4);
	code_store(c, 8, R3, w->slot.offset + HEAD_SIZE, R1);
	code_bind(c, none);
}

/* The round is over: the caller is the frame to look at. */
static void go_up(struct walk *w)
{
	struct code *c = w->g->code;
	int ordered = code_label(c), is_signal = code_label(c);

	code_store_imm(c, 8, SCRATCH, w->at + WALK_LINK, 0);
	load(w, R2, WALK_RULE);
	code_alu_imm(c, BPF_RSH, R2, 23); /* UNWIND_SIGNAL */
	code_alu_imm(c, BPF_AND, R2, 1);
	store(w, WALK_EXACT, R2);
	code_jump_imm(c, BPF_JNE, R2, 0, is_signal);
	load(w, R3, WALK_SP);
	code_jump_if(c, BPF_JLT, TMP2, R3, w->ends[UNWIND_UNREADABLE]);
	code_jump(c, ordered);
	code_bind(c, is_signal); /* its stack may be anywhere */
	mark_exact(w);
	code_bind(c, ordered);
	load(w, R1, WALK_NEW);
	if (w->cpu->link) { /* bits above the address may authenticate it */
		code_alu_imm(c, BPF_LSH, R1, 16);
		code_alu_imm(c, BPF_RSH, R1, 16);
	}
	code_jump_imm(c, BPF_JEQ, R1, 0, w->ends[UNWIND_ROOT]);
	store(w, WALK_SP, TMP2);
	store(w, WALK_PC, R1);
	code_jump(c, w->again);
}

/* pc is in no code: it may be the address by which the kernel catches a return that a uretprobe
 * waits for. The thread has a list of those, innermost first; the stack pointer says which. */
static void find_caught(struct walk *w)
{
	const struct gen_walk_maps *m = &w->g->world->walk;
	struct code *c = w->g->code;
	int none = code_label(c), known = code_label(c), taken = code_label(c),
	    more = code_label(c);

	if (!m->utask)
		return;
	load(w, TMP, WALK_RETURNS);
	code_jump_imm(c, BPF_JEQ, TMP, 1, none);
	code_jump_imm(c, BPF_JNE, TMP, 0, known);
	code_call(c, BPF_FUNC_get_current_task);
	read_kernel(w, WALK_READ, R0, m->utask);
	load(w, R3, WALK_READ);
	read_kernel(w, WALK_READ, R3, m->returns);
	code_jump_imm(c, BPF_JNE, R0, 0, none);
	load(w, TMP, WALK_READ);
	code_bind(c, known);
	load(w, TMP2, WALK_SP);
	code_alu_imm(c, BPF_SUB, TMP2, w->cpu->entry);
	for (unsigned i = 0; i < RETURNS_MOST; i++) {
		code_jump_imm(c, BPF_JEQ, TMP, 0, none);
		read_kernel(w, WALK_READ, TMP, m->return_stack);
		read_kernel(w, WALK_READ + 8, TMP, m->return_to);
		read_kernel(w, WALK_ADDRESS, TMP, m->return_next);
		code_jump_imm(c, BPF_JNE, R0, 0, none);
		load(w, TMP, WALK_ADDRESS);
		load(w, R1, WALK_READ);
		code_jump_if(c, BPF_JEQ, R1, TMP2, taken);
	}
	code_jump(c, none);
	code_bind(c, taken);
	code_jump_imm(c, BPF_JNE, TMP, 0, more);
	code_const(c, TMP, 1);
	code_bind(c, more);
	store(w, WALK_RETURNS, TMP);
	code_load(c, 8, R1, SCRATCH, w->at + WALK_READ + 8);
	store(w, WALK_PC, R1);
	code_jump(c, w->again);
	code_bind(c, none);
}

/* Nothing is known but where the thread stands. */
static void keep_first(struct walk *w, enum unwind_end why)
{
	struct code *c = w->g->code;

	load(w, R1, WALK_PC);
	code_store(c, 8, SCRATCH, w->slot.offset + HEAD_SIZE, R1);
	load(w, R1, WALK_PID);
	code_const(c, R2, (int64_t)why << STACK_PID_BITS);
	code_alu(c, BPF_OR, R1, R2);
	code_alu_imm(c, BPF_LSH, R1, 32);
	code_alu_imm(c, BPF_OR, R1, 1); /* count */
	code_store(c, 8, SCRATCH, w->slot.offset, R1);
}

/* The head of the slot says why the stack ends: R1. */
static void write_ends(struct walk *w)
{
	struct code *c = w->g->code;
	int write = code_label(c), caller = code_label(c);

	for (int i = UNWIND_ROOT; i < UNWIND_ENDS_COUNT_; i++) {
		if (i == UNWIND_NO_PROCESS)
			continue; /* never in a round */
		code_bind(c, w->ends[i]);
		if (i == UNWIND_NOT_CODE) {
			code_load(c, 4, R1, SCRATCH, w->slot.offset);
			code_jump_imm(c, BPF_JNE, R1, 0, caller);
			keep_first(w, UNWIND_NOT_CODE);
			code_jump(c, w->done);
			code_bind(c, caller);
			find_caught(w);
		}
		code_const(c, R1, i);
		code_jump(c, write);
	}
	code_bind(c, write);
	code_alu_imm(c, BPF_LSH, R1, STACK_PID_BITS);
	code_load(c, 4, R2, SCRATCH, w->slot.offset + 4);
	code_alu(c, BPF_OR, R1, R2);
	code_store(c, 4, SCRATCH, w->slot.offset + 4, R1);
	code_jump(c, w->done);
}

/* To `again` or `done`. */
static void walk_round(struct walk *w)
{
	struct code *c = w->g->code;
	int stepped = code_label(c);

	for (int i = 0; i < UNWIND_ENDS_COUNT_; i++)
		w->ends[i] = code_label(c);
	load(w, TMP, WALK_PC);
	load(w, TMP2, WALK_EXACT);
	code_alu_imm(c, BPF_MUL, TMP2, w->cpu->call);
	code_alu(c, BPF_ADD, TMP2, TMP);
	code_alu_imm(c, BPF_SUB, TMP2, w->cpu->call);
	find_mapping(w);
	keep_frame(w);
	find_rule(w);
	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_RSH, R2, 16);
	code_alu_imm(c, BPF_AND, R2, 0xff);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_LOST, w->ends[UNWIND_ROOT]);
	find_cfa(w);
	find_pair(w, stepped);
	find_return(w);
	find_frame_pointer(w);
	code_bind(c, stepped);
	go_up(w);
	write_ends(w);
}

static int64_t register_id(const char *name)
{
	const struct arch_reg *reg = name ? arch_find_reg(arch_host(), str_from(name)) : NULL;

	return reg ? reg->id : -1;
}

/* R2 = the registers of the thread's user mode. To `none` when it has none, a thread of the kernel.
 */
static void find_registers(struct walk *w, int none)
{
	struct code *c = w->g->code;

	code_mov(c, R2, CTX);
	if (unit_is_uprobe(w->g->unit))
		return;
	code_call(c, FUNC_TASK_BTF);
	code_mov(c, R1, R0);
	code_call(c, FUNC_TASK_REGS);
	code_mov(c, R2, R0);
	code_load(c, 8, R1, R2, w->cpu->mode_at);
	code_alu_imm(c, BPF_AND, R1, w->cpu->mode_bits);
	code_jump_imm(c, BPF_JNE, R1, w->cpu->mode_user, none);
}

/* In: R0 is the run of the process, or 0. */
static void begin(struct walk *w, int no_registers)
{
	const struct arch *arch = arch_host();
	const struct {
		int what;
		int64_t reg; /* -1: this CPU has none */
	} from[] = {
		{WALK_PC, arch->pc},
		{WALK_SP, arch->sp},
		{WALK_FP, register_id(w->cpu->fp)},
		{WALK_LINK, register_id(w->cpu->link)},
	};
	struct code *c = w->g->code;
	int none = code_label(c);

	code_const(c, R1, 0);
	code_jump_imm(c, BPF_JEQ, R0, 0, none);
	code_load(c, 8, R1, R0, 0);
	code_bind(c, none);
	store(w, WALK_RUN, R1);
	code_store_imm(c, 8, SCRATCH, w->at + MAPPING(end), 0);
	code_store_imm(c, 8, SCRATCH, w->at + WALK_EXACT, 1);
	code_store_imm(c, 8, SCRATCH, w->at + WALK_RETURNS, 0);
	code_store_imm(c, 8, SCRATCH, w->slot.offset, 0);
	find_registers(w, no_registers);
	for (size_t i = 0; i < COUNT(from); i++) {
		if (from[i].reg < 0)
			code_const(c, R1, 0);
		else
			code_load(c, 8, R1, R2, saved_at(arch, from[i].reg));
		store(w, from[i].what, R1);
	}
}

static void all_rounds(struct walk *w)
{
	struct code *c = w->g->code;
	int body;

	switch (w->g->world->walk.loops) {
	case LOOPS_MAY_GOTO:
		w->again = code_here(c);
		code_may_goto(c, w->done);
		walk_round(w);
		break;
	case LOOPS_CALLED:
		body = code_label(c);
		add_body(w, body, false);
		code_store(c, 8, FRAME, STACK_A, SCRATCH);
		code_const(c, R1, w->depth + 1);
		code_function(c, R2, body);
		code_helper(c, FUNC_LOOP, REG(R1), REG(R2), SUM(FRAME, STACK_A), IMM(0));
		break;
	case LOOPS_WALKED:
		for (uint32_t i = 0; i < w->depth && i < FEW_FRAMES; i++) {
			w->again = code_label(c);
			walk_round(w);
			code_bind(c, w->again);
		}
	}
	code_bind(c, w->done);
}

/* In: R2 is the address of the caller's STACK_A. Returns 1 when the stack is complete. */
static void gen_rounds_body(struct walk *w)
{
	struct code *c = w->g->code;

	code_load(c, 8, SCRATCH, R2, 0);
	walk_round(w);
	code_bind(c, w->again);
	code_const(c, R0, 0);
	code_exit(c);
	code_bind(c, w->done);
	code_const(c, R0, 1);
	code_exit(c);
}

/* TMP = the word at an offset of what TMP points to, in the kernel. */
static void follow(struct walk *w, uint32_t offset)
{
	read_kernel(w, WALK_READ, TMP, offset);
	load(w, TMP, WALK_READ);
}

/* In: R2 is the mapping, as the kernel keeps it, and R3 the address of the caller's STACK_A. Of
 * code, start, end, offset and file go to WALK_MAPPING, WALK_OFFSET and WALK_KEY. */
static void gen_mapping_body(struct walk *w)
{
	const struct gen_walk_maps *m = &w->g->world->walk;
	struct code *c = w->g->code;
	int no = code_label(c), done = code_label(c);

	code_mov(c, TMP, R2);
	code_load(c, 8, SCRATCH, R3, 0);
	read_kernel(w, MAPPING(start), TMP, m->vm_start);
	read_kernel(w, WALK_OFFSET, TMP, m->vm_offset);
	read_kernel(w, WALK_KEY, TMP, m->vm_flags);
	read_kernel(w, MAPPING(end), TMP, m->vm_end);
	load(w, R1, WALK_KEY);
	code_alu_imm(c, BPF_AND, R1, VM_EXEC);
	code_jump_imm(c, BPF_JEQ, R1, 0, no);
	load(w, R1, WALK_OFFSET);
	code_alu_imm(c, BPF_LSH, R1, PAGE_SHIFT);
	store(w, WALK_OFFSET, R1);
	code_store_imm(c, 8, SCRATCH, w->at + WALK_KEY, 0);
	follow(w, m->vm_file);
	code_jump_imm(c, BPF_JEQ, TMP, 0, done);
	follow(w, m->file_inode);
	code_mov(c, TMP2, TMP);
	follow(w, m->inode_number);
	store(w, WALK_KEY, TMP);
	code_mov(c, TMP, TMP2);
	follow(w, m->inode_super);
	follow(w, m->super_device);
	code_alu32(c, BPF_MOV, TMP, TMP);
	store(w, WALK_KEY + 8, TMP);
	code_jump(c, done);
	code_bind(c, no);
	code_store_imm(c, 8, SCRATCH, w->at + MAPPING(end), 0);
	code_bind(c, done);
	code_const(c, R0, 0);
	code_exit(c);
}

void gen_walk_bodies(struct gen *g)
{
	/* The first kind asks for others of the second. */
	for (size_t i = 0; i < g->walk_count && !g->code->failed; i++) {
		const struct walk_body b = g->walks[i]; /* a copy: the array grows */
		struct walk w = {.g = g,
				 .cpu = find_cpu(),
				 .slot = b.slot,
				 .at = b.at,
				 .depth = b.depth,
				 .may_sleep = b.may_sleep,
				 .again = code_label(g->code),
				 .done = code_label(g->code)};

		code_bind(g->code, b.label);
		if (b.of_mapping)
			gen_mapping_body(&w);
		else
			gen_rounds_body(&w);
	}
}

/* Perf events and tracepoints may happen where the kernel holds a lock that the look at a mapping
 * wants; it does not wait for it. */
bool gen_can_walk(const struct gen *g)
{
	const struct gen_walk_maps *m = &g->world->walk;

	return m->rows_fd >= 0 &&
	       (unit_is_uprobe(g->unit) || (m->finds_registers && g->unit->kind != UNIT_RUN));
}

void gen_walk(struct gen *g, const struct insn *in)
{
	struct code *c = g->code;
	uint32_t size = gen_slot_type(g, in->s)->size;
	struct walk w = {.g = g,
			 .cpu = find_cpu(),
			 .slot = gen_slot(g, in->s),
			 .depth = size / 8,
			 .may_sleep = gen_may_sleep(g),
			 .done = code_label(c)};
	int known = code_label(c), end = code_label(c);

	w.at = w.slot.offset + HEAD_SIZE + (int32_t)size;
	if (g->frame->padded[in->s])
		gen_zero(g, w.slot, HEAD_SIZE, size);
	gen_pid(g, false);
	store(&w, WALK_PID, R0);
	code_helper(c, BPF_FUNC_map_lookup_elem, MAP(g->world->walk.processes_fd),
		    MEM(in_scratch(w.at + WALK_PID), 0));
	begin(&w, end);
	if (!g->world->walk.finds_mappings) {
		load(&w, R1, WALK_RUN);
		code_jump_imm(c, BPF_JNE, R1, 0, known);
		keep_first(&w, UNWIND_NO_PROCESS);
		code_jump(c, end);
	}
	code_bind(c, known);
	all_rounds(&w);
	code_bind(c, end);
}
