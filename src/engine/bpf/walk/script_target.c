/* What is known of the runtime of the process: the entry that the tracer has made for it. A process
 * that is newer than the last look of the tracer has none yet: then it is that of its program's
 * file, or that of the process that it is a child of. */
#include "engine/bpf/walk/script_code.h"

/* TMP = the entry of the number in R0; to `none` when there is none. */
static void look_up(const struct lang_code *w, int64_t kind, int none)
{
	struct code *c = w->c;

	code_const(c, R1, kind << 32);
	code_alu(c, BPF_OR, R0, R1);
	code_store(c, 8, FRAME, STACK_KEY, R0);
	code_helper(c, BPF_FUNC_map_lookup_elem, MAP(w->walks->script->targets_fd),
		    SUM(FRAME, STACK_KEY));
	code_jump_imm(c, BPF_JEQ, R0, 0, none);
	code_mov(c, TMP, R0);
}

/* R1 = a word of the task in a cell */
static void read_task(const struct lang_code *w, enum cell task, uint32_t at)
{
	lang_get(w, R3, task);
	code_alu_imm(w->c, BPF_ADD, R3, (int32_t)at);
	lang_kernel(w, w->no_runtime);
}

/* A child of fork is what its parent is until one of them calls exec. The kernel counts each task's
 * calls of exec, and a child knows that count of its parent's at the fork, which was its own then,
 * too. The tracer hears of the fork later than the child runs. */
static void adopt_from_parent(const struct lang_code *w, int64_t kind)
{
	const struct lang_places *p = &w->walks->script->places;
	struct code *c = w->c;

	if (!p->knows_forks || w->walks->pids->ns_ino) {
		code_jump(c, w->no_runtime);
		return;
	}
	code_call(c, BPF_FUNC_get_current_task);
	lang_set(w, CELL_TASK, R0);
	read_task(w, CELL_TASK, p->parent_exec);
	lang_set(w, CELL_EXEC, R1);
	read_task(w, CELL_TASK, p->own_exec);
	lang_get(w, R2, CELL_EXEC);
	code_jump_if(c, BPF_JNE, R1, R2, w->no_runtime);
	read_task(w, CELL_TASK, p->parent);
	lang_set(w, CELL_TASK, R1);
	read_task(w, CELL_TASK, p->own_exec);
	lang_get(w, R2, CELL_EXEC);
	code_jump_if(c, BPF_JNE, R1, R2, w->no_runtime);
	read_task(w, CELL_TASK, p->tgid);
	code_alu32(c, BPF_MOV, R0, R1);
	look_up(w, kind, w->no_runtime);
	code_call(c, BPF_FUNC_get_current_pid_tgid);
	code_alu_imm(c, BPF_RSH, R0, 32);
	code_const(c, R1, kind << 32);
	code_alu(c, BPF_OR, R0, R1);
	code_store(c, 8, FRAME, STACK_KEY, R0);
	code_helper(c, BPF_FUNC_map_update_elem, MAP(w->walks->script->targets_fd),
		    SUM(FRAME, STACK_KEY), REG(TMP), IMM(BPF_ANY));
}

/* R1 = the kernel's word at R1 + `at` */
static void lang_step(const struct lang_code *w, uint32_t at, int fail)
{
	code_mov(w->c, R3, R1);
	code_alu_imm(w->c, BPF_ADD, R3, (int32_t)at);
	lang_kernel(w, fail);
}

/* CELL_KEY: device and inode of the file that the process runs; CELL_STATE: where its code is. */
static void find_file(const struct lang_code *w, int fail)
{
	const struct lang_places *p = &w->walks->script->places;

	code_call(w->c, BPF_FUNC_get_current_task);
	code_mov(w->c, R1, R0);
	lang_step(w, p->mm, fail);
	lang_set(w, CELL_TASK, R1);
	lang_step(w, p->code, fail);
	lang_set(w, CELL_STATE, R1);
	lang_get(w, R1, CELL_TASK);
	lang_step(w, p->exe, fail);
	lang_step(w, p->inode, fail);
	lang_set(w, CELL_TASK, R1);
	lang_step(w, p->number, fail);
	lang_set(w, CELL_KEY + 1, R1);
	lang_get(w, R1, CELL_TASK);
	lang_step(w, p->super, fail);
	lang_step(w, p->device, fail);
	code_alu32(w->c, BPF_MOV, R1, R1);
	lang_set(w, CELL_KEY, R1);
}

/* A process of which the tracer has not heard yet, and which runs a program that is a runtime: its
 * target is that of the file, moved to where the process has it. To `none` when it runs another. */
static void adopt_from_file(const struct lang_code *w, int64_t kind, int none)
{
	struct code *c = w->c;
	const int32_t copy = w->work + AT_BYTES;
	int is_kind = code_label(c), fixed = code_label(c);

	if (!w->walks->script->places.knows_files)
		return;
	find_file(w, none);
	code_helper(c, BPF_FUNC_map_lookup_elem, MAP(w->walks->script->files_fd),
		    SUM(SCRATCH, w->work + AT_CELLS + 8 * CELL_KEY));
	code_jump_imm(c, BPF_JEQ, R0, 0, none);
	code_mov(c, TMP, R0);
	if (kind) {
		lang_field(w, R1, TARGET(kind));
		code_jump_imm(c, BPF_JEQ, R1, (int32_t)kind, is_kind);
		code_jump(c, none);
		code_bind(c, is_kind);
	}
	code_copy(w->c, SCRATCH, copy, TMP, 0, sizeof(struct lang_target));
	lang_field(w, R1, TARGET(root));
	code_jump_imm(c, BPF_JEQ, R1, 0, fixed);
	lang_get(w, R2, CELL_STATE);
	code_alu(c, BPF_ADD, R1, R2);
	lang_field(w, R2, TARGET(text));
	code_alu(c, BPF_SUB, R1, R2);
	code_store(c, 8, SCRATCH, copy + (int)offsetof(struct lang_target, root), R1);
	code_bind(c, fixed);
	lang_get(w, R0, CELL_NUMBER);
	code_const(c, R1, kind << 32);
	code_alu(c, BPF_OR, R0, R1);
	code_store(c, 8, FRAME, STACK_KEY, R0);
	code_helper(c, BPF_FUNC_map_update_elem, MAP(w->walks->script->targets_fd),
		    SUM(FRAME, STACK_KEY), SUM(SCRATCH, copy), IMM(BPF_ANY));
	code_helper(c, BPF_FUNC_map_lookup_elem, MAP(w->walks->script->targets_fd),
		    SUM(FRAME, STACK_KEY));
	code_jump_imm(c, BPF_JEQ, R0, 0, none);
	code_mov(c, TMP, R0);
}

void lang_find_target(const struct lang_code *w, int64_t kind)
{
	struct code *c = w->c;
	int has = code_label(c), none = code_label(c), other = code_label(c);

	code_store_imm(c, 4, SCRATCH, w->frames - HEAD_SIZE, 0);
	lang_zero(w, CELL_COUNT);
	lang_zero(w, CELL_ROUNDS);
	code_pid(w->c, w->walks->pids, false);
	code_store(c, 4, SCRATCH, w->frames - HEAD_SIZE + 4, R0);
	lang_set(w, CELL_NUMBER, R0);
	look_up(w, kind, none);
	code_jump(c, has);
	code_bind(c, none);
	if (w->walks->script->places.knows_files) {
		adopt_from_file(w, kind, other);
		code_jump(c, has);
	}
	code_bind(c, other);
	adopt_from_parent(w, kind);
	code_bind(c, has);
	lang_get(w, R0, CELL_NUMBER);
	lang_set(w, CELL_PID, R0);
}
