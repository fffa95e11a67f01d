/* Walking the stack of a program in the kernel, by the tables of unwind/tables.h: no frame pointers
 * are needed. A walk is a function, which the verifier follows once for all that call it. It gets
 * the address of a slot, and what it knows between two frames is in the memory after the slot's
 * frames, so that the verifier, which does not look there, finds each round the same:
 *
 *	slot		u32 count | u32 pid and end | frames ...
 *	after them	WALK_PC, WALK_SP, ...
 *
 * A round finds the mapping of pc, keeps the frame, finds the row of pc, and goes to the caller as
 * its rule says: user_find.c looks up, user_step.c goes.
 *
 * Rounds are a loop of may_goto where the kernel has it. Else each is a call of another function,
 * which the verifier follows once, too: some 8 ns a frame. */
#include "engine/bpf/walk/user_code.h"

#include <elf.h>

#include "engine/bpf/kernel/registers.h"
#include "program/program.h"

#define FUNC_TASK_REGS 175

static const struct walk_cpu cpus[] = {
	{EM_X86_64, "rbp", NULL, 1, 8, 136, 3, 3},     /* cs */
	{EM_AARCH64, "x29", "x30", 4, 0, 264, 0xf, 0}, /* pstate */
};

_Static_assert(WALK_SIZE == USER_WALK_SIZE, "frame.c reserves it");
_Static_assert(sizeof(struct unwind_mapping) == 56 && sizeof(union unwind_word) == 4 &&
		       sizeof(struct unwind_rule) == 16,
	       "the code has these sizes");

static const struct walk_cpu *find_cpu(void)
{
	for (size_t i = 0; arch_host() && i < COUNT(cpus); i++)
		if (cpus[i].machine == arch_host()->machine && arch_host()->word == 8)
			return &cpus[i];
	return NULL;
}

bool user_walk_knows_cpu(void)
{
	return find_cpu();
}

/* Add the frame of pc, in TMP. An address that means something only in this
 * process makes the stack one of this process. */
static void keep_frame(struct user_code *w)
{
	struct code *c = w->walks->code;
	int of_file = code_label(c);

	if (w->is_raw)
		code_const(c, R2, 0);
	else
		walk_load(w, R2, MAPPING(frame));
	if (!w->is_raw)
		code_jump_imm(c, BPF_JNE, R2, 0, of_file);
	walk_load(w, R3, WALK_PID);
	code_store(c, 4, SCRATCH, w->slot.offset + 4, R3);
	code_bind(c, of_file);
	code_alu(c, BPF_ADD, R2, TMP);
	walk_load(w, R3, WALK_EXACT);
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

/* Nothing is known but where the thread stands; WALK_WHY says why. */
static void keep_first(struct user_code *w)
{
	struct code *c = w->walks->code;

	walk_load(w, R1, WALK_PC);
	code_store(c, 8, SCRATCH, w->slot.offset + HEAD_SIZE, R1);
	walk_load(w, R1, WALK_PID);
	walk_load(w, R2, WALK_WHY);
	code_alu_imm(c, BPF_LSH, R2, STACK_PID_BITS);
	code_alu(c, BPF_OR, R1, R2);
	code_alu_imm(c, BPF_LSH, R1, 32);
	code_alu_imm(c, BPF_OR, R1, 1); /* count */
	code_store(c, 8, SCRATCH, w->slot.offset, R1);
}

/* The head of the slot says why the stack ends: R1. */
static void write_end(struct user_code *w)
{
	struct code *c = w->walks->code;

	code_alu_imm(c, BPF_LSH, R1, STACK_PID_BITS);
	code_load(c, 4, R2, SCRATCH, w->slot.offset + 4);
	code_alu(c, BPF_OR, R1, R2);
	code_store(c, 4, SCRATCH, w->slot.offset + 4, R1);
}

static void write_ends(struct user_code *w)
{
	struct code *c = w->walks->code;
	int write = code_label(c), caller = code_label(c);

	for (int i = UNWIND_ROOT; i < UNWIND_ENDS_COUNT_; i++) {
		if (i == UNWIND_NO_PROCESS || i == UNWIND_BUSY)
			continue; /* the first never in a round; the other is WALK_WHY */
		code_bind(c, w->ends[i]);
		if (i == UNWIND_NOT_CODE) {
			code_load(c, 4, R1, SCRATCH, w->slot.offset);
			code_jump_imm(c, BPF_JNE, R1, 0, caller);
			keep_first(w);
			code_jump(c, w->done);
			code_bind(c, caller);
			walk_find_caught(w);
			walk_load(w, R1, WALK_WHY);
		} else {
			code_const(c, R1, i);
		}
		code_jump(c, write);
	}
	code_bind(c, write);
	write_end(w);
	code_jump(c, w->done);
}

/* To `again` or `done`. */
static void walk_round(struct user_code *w)
{
	struct code *c = w->walks->code;

	for (int i = 0; i < UNWIND_ENDS_COUNT_; i++)
		w->ends[i] = code_label(c);
	walk_load(w, TMP, WALK_PC);
	walk_load(w, TMP2, WALK_EXACT);
	code_alu_imm(c, BPF_MUL, TMP2, w->cpu->call);
	code_alu(c, BPF_ADD, TMP2, TMP);
	code_alu_imm(c, BPF_SUB, TMP2, w->cpu->call);
	walk_find_mapping(w);
	keep_frame(w);
	walk_find_rule(w);
	walk_step(w);
	write_ends(w);
}

static int64_t register_id(const char *name)
{
	const struct arch_reg *reg = name ? arch_find_reg(arch_host(), str_from(name)) : NULL;

	return reg ? reg->id : -1;
}

/* R2 = the registers of the thread's user mode. To `none` when it has none, a thread of the kernel.
 */
static void find_registers(struct user_code *w, int none)
{
	struct code *c = w->walks->code;

	code_mov(c, R2, CTX);
	if (w->walks->registers == REGISTERS_IN_CONTEXT)
		return;
	code_call(c, FUNC_TASK_BTF);
	code_mov(c, R1, R0);
	code_call(c, FUNC_TASK_REGS);
	code_mov(c, R2, R0);
	code_load(c, 8, R1, R2, w->cpu->mode_at);
	code_alu_imm(c, BPF_AND, R1, w->cpu->mode_bits);
	code_jump_imm(c, BPF_JNE, R1, w->cpu->mode_user, none);
}

/* The registers of the thread go to the walk. To `none` when it has none. */
static void keep_registers(struct user_code *w, int none)
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
	struct code *c = w->walks->code;

	find_registers(w, none);
	for (size_t i = 0; i < COUNT(from); i++) {
		if (from[i].reg < 0)
			code_const(c, R1, UNWIND_NO_LR);
		else
			code_load(c, 8, R1, R2, saved_at(arch, from[i].reg));
		walk_store(w, from[i].what, R1);
	}
}

/* What else a walk begins with. To `done` with the first frame when nothing is known of the
 * process. */
static void begin_walk(struct user_code *w)
{
	const struct user_maps *m = w->walks->user;
	struct code *c = w->walks->code;
	int none = code_label(c), known = code_label(c);

	code_pid(c, w->walks->pids, false);
	walk_store(w, WALK_PID, R0);
	code_store(c, 8, FRAME, STACK_KEY, R0);
	code_store_imm(c, 8, SCRATCH, w->at + MAPPING(end), 0);
	code_store_imm(c, 8, SCRATCH, w->at + WALK_EXACT, 1);
	code_store_imm(c, 8, SCRATCH, w->at + WALK_RETURNS, 0);
	code_helper(c, BPF_FUNC_map_lookup_elem, MAP(m->processes_fd), SUM(FRAME, STACK_KEY));
	code_const(c, R1, 0);
	code_jump_imm(c, BPF_JEQ, R0, 0, none);
	code_load(c, 8, R1, R0, 0);
	code_bind(c, none);
	walk_store(w, WALK_RUN, R1);
	if (m->finds_mappings)
		return;
	code_jump_imm(c, BPF_JNE, R1, 0, known);
	code_store_imm(c, 8, SCRATCH, w->at + WALK_WHY, UNWIND_NO_PROCESS);
	keep_first(w);
	code_jump(c, w->done);
	code_bind(c, known);
}

/* Rounds without a call of each: to `done`, or on when they are used up. */
static void rounds_in_place(struct user_code *w)
{
	struct code *c = w->walks->code;
	int used_up = code_label(c);

	/* Rounds find the stack as they leave it: then the next is the same to the verifier. */
	code_store_imm(c, 8, FRAME, STACK_KEY + 8, 0);
	code_store(c, 8, FRAME, STACK_A, SCRATCH);
	w->again = code_here(c);
	code_may_goto(c, used_up);
	walk_round(w);
	code_bind(c, used_up);
}

/* The same of rounds that are calls. */
static void rounds_by_calls(struct user_code *w)
{
	/* The address by which a uretprobe catches a return takes a round, too. */
	const uint32_t most = 2 * w->depth + 1;
	struct code *c = w->walks->code;
	int again;

	code_const(c, TMP, most);
	again = code_here(c);
	code_mov(c, R1, SCRATCH);
	walk_call(w, WALK_ROUND);
	code_jump_imm(c, BPF_JNE, R0, 0, w->done);
	code_alu_imm(c, BPF_SUB, TMP, 1);
	code_jump_imm(c, BPF_JNE, TMP, 0, again);
}

static void return_number(struct code *c, int label, int32_t number)
{
	code_bind(c, label);
	code_const(c, R0, number);
	code_exit(c);
}

/* In: the slot has its first word, the words of the walk the registers. */
static void walk_body(struct user_code *w)
{
	struct code *c = w->walks->code;

	begin_walk(w);
	if (w->walks->user->has_may_goto)
		rounds_in_place(w);
	else
		rounds_by_calls(w);
	code_const(c, R1, UNWIND_LIMIT);
	write_end(w);
	return_number(c, w->done, 0);
}

/* Returns 1 when the stack is complete. */
static void round_body(struct user_code *w)
{
	struct code *c = w->walks->code;

	w->again = code_label(c);
	code_store(c, 8, FRAME, STACK_A, SCRATCH);
	walk_round(w);
	return_number(c, w->again, 0);
	return_number(c, w->done, 1);
}

void user_walk_body(struct walks *walks, const struct walk_body *b)
{
	struct code *c = walks->code;
	struct user_code w = {.walks = walks,
			      .cpu = find_cpu(),
			      .slot = in_scratch(0),
			      .at = HEAD_SIZE + 8 * (int32_t)b->depth,
			      .depth = b->depth,
			      .may_sleep = b->may_sleep,
			      .is_raw = b->is_raw,
			      .done = code_label(c)};

	code_bind(c, b->label);
	if (b->kind == WALK_ASKED) {
		walk_mapping_body(&w);
		return;
	}
	code_jump_imm(c, BPF_JEQ, R1, 0, w.done); /* never */
	code_mov(c, SCRATCH, R1);
	if (b->kind == WALK_ROUND)
		round_body(&w);
	else
		walk_body(&w);
}

/* Perf events and tracepoints may happen where the kernel holds a lock that the look at a mapping
 * wants; it does not wait for it. */
bool walks_user(const struct walks *w)
{
	const struct user_maps *u = w->user;

	return u->words_fd >= 0 && !u->is_left_out &&
	       (w->registers == REGISTERS_IN_CONTEXT ||
		(u->finds_mappings && w->registers == REGISTERS_OF_TASK));
}

void walk_user(struct walks *walks, const struct walk_slot *slot)
{
	struct code *c = walks->code;
	struct user_code w = {.walks = walks,
			      .cpu = find_cpu(),
			      .slot = slot->at,
			      .at = slot->at.offset + HEAD_SIZE + (int32_t)slot->size,
			      .depth = slot->size / 8,
			      .may_sleep = slot->may_sleep,
			      .is_raw = slot->is_raw};
	int end = code_label(c);

	code_store_imm(c, 8, SCRATCH, w.slot.offset, 0);
	keep_registers(&w, end);
	code_address(c, R1, SCRATCH, w.slot.offset);
	walk_call(&w, WALK_USER);
	code_bind(c, end);
}
