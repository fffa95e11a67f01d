/* The words of a walk over a script's stack, and its rounds; see script_code.h. */
#include "engine/bpf/walk/script_code.h"

void lang_get(const struct lang_code *w, int dst, enum cell cell)
{
	code_load(w->c, 8, dst, SCRATCH, w->work + AT_CELLS + 8 * (int)cell);
}

void lang_set(const struct lang_code *w, enum cell cell, int src)
{
	code_store(w->c, 8, SCRATCH, w->work + AT_CELLS + 8 * (int)cell, src);
}

void lang_zero(const struct lang_code *w, enum cell cell)
{
	code_store_imm(w->c, 8, SCRATCH, w->work + AT_CELLS + 8 * (int)cell, 0);
}

void lang_field(const struct lang_code *w, int dst, int offset, int size)
{
	code_load(w->c, size, dst, TMP, offset);
}

void lang_read(const struct lang_code *w, int size, int fail)
{
	int ok = code_label(w->c);

	for (int sleeping = 0; sleeping <= w->may_sleep; sleeping++) {
		code_helper(w->c, sleeping ? BPF_FUNC_copy_from_user : BPF_FUNC_probe_read_user,
			    SUM(FRAME, STACK_A), IMM(size), REG(TMP2));
		code_jump_imm(w->c, BPF_JEQ, R0, 0, ok);
	}
	code_jump(w->c, fail);
	code_bind(w->c, ok);
	code_load(w->c, size, R1, FRAME, STACK_A);
}

void lang_follow(const struct lang_code *w, enum cell from, int offset, int size)
{
	lang_get(w, TMP2, from);
	lang_field(w, R1, offset, size);
	code_alu(w->c, BPF_ADD, TMP2, R1);
	lang_read(w, 8, w->unreadable);
}

void lang_again(const struct lang_code *w, enum stage stage, int end)
{
	if (!w->is_called) {
		code_may_goto(w->c, end);
		code_jump(w->c, w->stages[stage]);
		return;
	}
	code_store_imm(w->c, 8, SCRATCH, w->work + AT_CELLS + 8 * CELL_STAGE, (int32_t)stage);
	code_const(w->c, R0, 0);
	code_exit(w->c);
}

void lang_round(const struct lang_code *w, int32_t most, int end, enum stage stage)
{
	lang_get(w, R1, CELL_ROUNDS);
	code_jump_imm(w->c, BPF_JGE, R1, most, end);
	code_alu_imm(w->c, BPF_ADD, R1, 1);
	lang_set(w, CELL_ROUNDS, R1);
	lang_again(w, stage, end);
}

void lang_kernel(const struct lang_code *w, int fail)
{
	code_helper(w->c, BPF_FUNC_probe_read_kernel, SUM(FRAME, STACK_A), IMM(8), REG(R3));
	code_jump_imm(w->c, BPF_JNE, R0, 0, fail);
	code_load(w->c, 8, R1, FRAME, STACK_A);
}

void lang_put_note(const struct lang_code *w)
{
	struct code *c = w->c;

	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_LSH, R2, 4);
	code_alu(c, BPF_ADD, R2, SCRATCH);
	code_store_imm(c, 8, R2, w->frames, 0);
	code_store(c, 8, R2, w->frames + 8, R4);
	code_alu_imm(c, BPF_ADD, R1, 1);
}
