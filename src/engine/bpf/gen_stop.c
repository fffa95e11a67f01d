/* The end of a run, as programs see it. All of them test one word, which stops them at once,
 * however long the kernel takes to detach them. Where that is long, they also count themselves in
 * and out: so the reader knows when the last program that had not seen the word has ended, and that
 * what it drains then is complete. */
#include "engine/bpf/gen.h"

/* R1 = the word of this CPU. A program stays on its CPU, so it counts itself out where it came in.
 */
static void load_running_word(struct gen *g)
{
	struct code *c = g->code;

	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_alu_imm(c, BPF_AND, R0, SENT_STRIPES - 1);
	code_alu_imm(c, BPF_MUL, R0, SENT_STRIDE);
	code_map_value(c, R1, g->world->control_fd, CONTROL_RUNNING * 8);
	code_alu(c, BPF_ADD, R1, R0);
}

/* With BPF_FETCH the atomic operation is a full barrier on every CPU. */
static void count_running(struct gen *g, int64_t by)
{
	load_running_word(g);
	code_const(g->code, R2, (uint64_t)by);
	code_atomic(g->code, BPF_ADD | BPF_FETCH, R1, 0, R2);
}

void gen_enter(struct gen *g, int stopped)
{
	if (g->world->counts_running)
		count_running(g, 1);
	code_map_value(g->code, R1, g->world->control_fd, CONTROL_STOP * 8);
	code_load(g->code, 8, R1, R1, 0);
	code_jump_imm(g->code, BPF_JNE, R1, 0, stopped);
}

void gen_leave(struct gen *g)
{
	if (g->world->counts_running)
		count_running(g, -1);
}
