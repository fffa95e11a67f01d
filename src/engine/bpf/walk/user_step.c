/* From a frame to its caller, as a rule of unwind/tables.h says it; unwind/step.c does the same in
 * C. */
#include "engine/bpf/walk/user_code.h"

#define RETURNS_MOST 8 /* return instances that are looked at for one frame */

/* WALK_READ = `size` bytes of user memory at R3; to `no` when they cannot be read. */
static void read_user(struct user_code *w, int size, int no)
{
	struct code *c = w->walks->code;
	struct spill to = in_scratch(w->at + WALK_READ);
	int ok = code_label(c);

	if (w->may_sleep)
		walk_store(w, WALK_ADDRESS, R3);
	code_helper(c, BPF_FUNC_probe_read_user, MEM(to, 0), IMM(size), REG(R3));
	code_jump_imm(c, BPF_JEQ, R0, 0, ok);
	if (w->may_sleep) {
		walk_load(w, R3, WALK_ADDRESS);
		code_helper(c, BPF_FUNC_copy_from_user, MEM(to, 0), IMM(size), REG(R3));
		code_jump_imm(c, BPF_JEQ, R0, 0, ok);
	}
	code_jump(c, no);
	code_bind(c, ok);
}

/* The outermost frame has no caller: its rule, in R1, says so. */
static void end_at_root(struct user_code *w)
{
	struct code *c = w->walks->code;

	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_RSH, R2, 16);
	code_alu_imm(c, BPF_AND, R2, 0xff & ~UNWIND_SIGNAL);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_LOST, w->ends[UNWIND_ROOT]);
}

/* TMP2 = the CFA by the rule in R1; TMP is pc. */
static void find_cfa(struct user_code *w)
{
	struct code *c = w->walks->code;
	int sp = code_label(c), fp = code_label(c), plt = code_label(c), sp_load = code_label(c),
	    read = code_label(c), done = code_label(c);

	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_AND, R2, 0xff);
	code_alu_imm(c, BPF_ARSH, R1, 32); /* cfa_off */
	walk_load(w, TMP2, WALK_SP);
	walk_load(w, R3, WALK_FP);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_SP, sp);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_FP, fp);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_PLT, plt);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_SP_LOAD, sp_load);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_NONE, w->ends[UNWIND_NO_ROWS]);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_REFUSED, w->ends[UNWIND_NO_ROOM]);
	code_jump_imm(c, BPF_JNE, R2, UNWIND_FP_LOAD, w->ends[UNWIND_NOT_RULE]);
	code_jump(c, read);
	code_bind(c, sp_load);
	code_mov(c, R3, TMP2);
	code_bind(c, read);
	code_alu(c, BPF_ADD, R3, R1);
	read_user(w, 8, w->ends[UNWIND_UNREADABLE]);
	walk_load(w, TMP2, WALK_READ);
	walk_load(w, R1, WALK_RULE);
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
static void read_place(struct user_code *w, int other)
{
	struct code *c = w->walks->code;
	int by_cfa = code_label(c), by_sp = code_label(c), by_fp = code_label(c),
	    ready = code_label(c);

	code_jump_imm(c, BPF_JEQ, R2, UNWIND_AT_CFA, by_cfa);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_AT_SP, by_sp);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_AT_FP, by_fp);
	code_jump(c, other);
	code_bind(c, by_sp);
	walk_load(w, R1, WALK_SP);
	code_jump(c, ready);
	code_bind(c, by_fp);
	walk_load(w, R1, WALK_FP);
	code_jump(c, ready);
	code_bind(c, by_cfa);
	code_mov(c, R1, TMP2);
	code_bind(c, ready);
	code_alu(c, BPF_ADD, R3, R1);
	read_user(w, 8, w->ends[UNWIND_UNREADABLE]);
}

/* WALK_NEW = the return address. */
static void find_return(struct user_code *w)
{
	struct code *c = w->walks->code;
	int in_register = code_label(c), done = code_label(c);

	walk_load(w, R2, WALK_RULE);
	code_alu_imm(c, BPF_RSH, R2, 16);
	code_alu_imm(c, BPF_AND, R2, 0xff & ~UNWIND_SIGNAL);
	walk_load(w, R3, WALK_OFFSETS);
	code_alu_imm(c, BPF_ARSH, R3, 32);
	read_place(w, in_register);
	walk_load(w, R1, WALK_READ);
	walk_store(w, WALK_NEW, R1);
	code_jump(c, done);
	code_bind(c, in_register);
	walk_load(w, R1, WALK_LINK);
	code_jump_imm(c, BPF_JNE, R2, UNWIND_SAME, w->ends[UNWIND_NOT_RULE]);
	code_jump_imm(c, BPF_JEQ, R1, UNWIND_NO_LR, w->ends[UNWIND_NOT_RULE]);
	walk_store(w, WALK_NEW, R1);
	code_bind(c, done);
}

static void find_frame_pointer(struct user_code *w)
{
	struct code *c = w->walks->code;
	int other = code_label(c), set = code_label(c), done = code_label(c);

	walk_load(w, R2, WALK_RULE);
	code_alu_imm(c, BPF_RSH, R2, 8);
	code_alu_imm(c, BPF_AND, R2, 0xff);
	walk_load(w, R3, WALK_OFFSETS);
	code_alu_imm(c, BPF_LSH, R3, 32);
	code_alu_imm(c, BPF_ARSH, R3, 32);
	read_place(w, other);
	walk_load(w, R1, WALK_READ);
	code_jump(c, set);
	code_bind(c, other);
	code_jump_imm(c, BPF_JEQ, R2, UNWIND_SAME, done);
	code_const(c, R1, 0); /* no frame is found by it */
	code_bind(c, set);
	walk_store(w, WALK_FP, R1);
	code_bind(c, done);
}

/* The frame pointer and the return address with one read, when they are stored side by side below
 * the CFA, as most functions have them. To `done` when they were. */
static void find_pair(struct user_code *w, int done)
{
	const struct unwind_rule pair = {.fp_off = -16, .ra_off = -8};
	struct code *c = w->walks->code;
	int no = code_label(c);
	uint64_t offsets;

	memcpy(&offsets, &pair.fp_off, sizeof(offsets));
	walk_load(w, R1, WALK_OFFSETS);
	code_const(c, R2, (int64_t)offsets);
	code_jump_if(c, BPF_JNE, R1, R2, no);
	walk_load(w, R1, WALK_RULE);
	code_alu_imm(c, BPF_RSH, R1, 8);
	code_alu_imm(c, BPF_AND, R1, 0xffff);
	code_jump_imm(c, BPF_JNE, R1, UNWIND_AT_CFA | UNWIND_AT_CFA << 8, no);
	code_mov(c, R3, TMP2);
	code_alu_imm(c, BPF_SUB, R3, 16);
	read_user(w, 16, w->ends[UNWIND_UNREADABLE]);
	walk_load(w, R1, WALK_READ);
	walk_store(w, WALK_FP, R1);
	code_load(c, 8, R1, SCRATCH, w->at + WALK_READ + 8);
	walk_store(w, WALK_NEW, R1);
	code_jump(c, done);
	code_bind(c, no);
}

/* What a signal handler returns to is the first instruction of its function: the frame that was
 * kept last is not that of a call. */
static void mark_exact(struct user_code *w)
{
	struct code *c = w->walks->code;
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

/* WALK_LINK, which the kernel stores before the stack pointer and pc of what was interrupted. */
static void find_link(struct user_code *w)
{
	struct code *c = w->walks->code;
	int none = code_label(c);

	if (!w->cpu->link)
		return;
	walk_load(w, R1, WALK_RULE);
	code_alu_imm(c, BPF_RSH, R1, 16);
	code_alu_imm(c, BPF_AND, R1, 0xff & ~UNWIND_SIGNAL);
	code_jump_imm(c, BPF_JNE, R1, UNWIND_AT_SP, none);
	walk_load(w, R3, WALK_OFFSETS);
	code_alu_imm(c, BPF_ARSH, R3, 32);
	walk_load(w, R1, WALK_SP);
	code_alu(c, BPF_ADD, R3, R1);
	code_alu_imm(c, BPF_SUB, R3, 16);
	read_user(w, 8, none);
	walk_load(w, R1, WALK_READ);
	walk_store(w, WALK_LINK, R1);
	code_bind(c, none);
}

/* The round is over: the caller is the frame to look at. */
static void go_up(struct user_code *w)
{
	struct code *c = w->walks->code;
	int ordered = code_label(c), is_signal = code_label(c);

	code_store_imm(c, 8, SCRATCH, w->at + WALK_LINK, UNWIND_NO_LR);
	walk_load(w, R2, WALK_RULE);
	code_alu_imm(c, BPF_RSH, R2, 23); /* UNWIND_SIGNAL */
	code_alu_imm(c, BPF_AND, R2, 1);
	walk_store(w, WALK_EXACT, R2);
	code_jump_imm(c, BPF_JNE, R2, 0, is_signal);
	walk_load(w, R3, WALK_SP);
	code_jump_if(c, BPF_JLT, TMP2, R3, w->ends[UNWIND_UNREADABLE]);
	code_jump(c, ordered);
	code_bind(c, is_signal); /* its stack may be anywhere */
	mark_exact(w);
	find_link(w);
	code_bind(c, ordered);
	walk_load(w, R1, WALK_NEW);
	if (w->cpu->link) { /* bits above the address may authenticate it */
		code_alu_imm(c, BPF_LSH, R1, 16);
		code_alu_imm(c, BPF_RSH, R1, 16);
	}
	code_jump_imm(c, BPF_JEQ, R1, 0, w->ends[UNWIND_ROOT]);
	walk_store(w, WALK_SP, TMP2);
	walk_store(w, WALK_PC, R1);
	code_jump(c, w->again);
}

void walk_step(struct user_code *w)
{
	int stepped = code_label(w->walks->code);

	end_at_root(w);
	find_cfa(w);
	find_pair(w, stepped);
	find_return(w);
	find_frame_pointer(w);
	code_bind(w->walks->code, stepped);
	go_up(w);
}

/* pc is in no code: it may be the address by which the kernel catches a return that a uretprobe
 * waits for. The thread has a list of those, innermost first; the stack pointer says which. */
void walk_find_caught(struct user_code *w)
{
	const struct user_maps *m = w->walks->user;
	struct code *c = w->walks->code;
	int none = code_label(c), known = code_label(c), taken = code_label(c),
	    more = code_label(c);

	if (!m->utask)
		return;
	walk_load(w, TMP, WALK_RETURNS);
	code_jump_imm(c, BPF_JEQ, TMP, 1, none);
	code_jump_imm(c, BPF_JNE, TMP, 0, known);
	code_call(c, BPF_FUNC_get_current_task);
	walk_read_kernel(w, WALK_READ, R0, m->utask);
	walk_load(w, R3, WALK_READ);
	walk_read_kernel(w, WALK_READ, R3, m->returns);
	code_jump_imm(c, BPF_JNE, R0, 0, none);
	walk_load(w, TMP, WALK_READ);
	code_bind(c, known);
	walk_load(w, TMP2, WALK_SP);
	code_alu_imm(c, BPF_SUB, TMP2, w->cpu->entry);
	for (unsigned i = 0; i < RETURNS_MOST; i++) {
		code_jump_imm(c, BPF_JEQ, TMP, 0, none);
		walk_read_kernel(w, WALK_READ, TMP, m->return_stack);
		walk_read_kernel(w, WALK_READ + 8, TMP, m->return_to);
		walk_read_kernel(w, WALK_ADDRESS, TMP, m->return_next);
		code_jump_imm(c, BPF_JNE, R0, 0, none);
		walk_load(w, TMP, WALK_ADDRESS);
		walk_load(w, R1, WALK_READ);
		code_jump_if(c, BPF_JEQ, R1, TMP2, taken);
	}
	code_jump(c, none);
	code_bind(c, taken);
	code_jump_imm(c, BPF_JNE, TMP, 0, more);
	code_const(c, TMP, 1);
	code_bind(c, more);
	walk_store(w, WALK_RETURNS, TMP);
	code_load(c, 8, R1, SCRATCH, w->at + WALK_READ + 8);
	walk_store(w, WALK_PC, R1);
	code_jump(c, w->again);
	code_bind(c, none);
}
