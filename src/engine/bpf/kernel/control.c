/* Code that counts in the words of control.h. */
#include "engine/bpf/kernel/control.h"

void control_count(struct code *c, int control_fd, uint32_t word)
{
	code_map_value(c, R1, control_fd, word * 8);
	code_const(c, R2, 1);
	code_atomic(c, BPF_ADD, R1, 0, R2);
}

/* The end of a run, as programs see it. All of them test one word, which stops them at once,
 * however long the kernel takes to detach them. Where that is long, they also count themselves in
 * and out: so the reader knows when the last program that had not seen the word has ended, and that
 * what it drains then is complete.
 *
 * Add to the word of this CPU. A program stays on its CPU, so it counts itself out where it came
 * in. With BPF_FETCH the atomic operation is a full barrier on every CPU. */
void control_count_running(struct code *c, int control_fd, unsigned word, int64_t by)
{
	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_alu_imm(c, BPF_AND, R0, SENT_STRIPES - 1);
	code_alu_imm(c, BPF_MUL, R0, SENT_STRIDE);
	code_map_value(c, R1, control_fd, word * 8);
	code_alu(c, BPF_ADD, R1, R0);
	code_const(c, R2, by);
	code_atomic(c, BPF_ADD | BPF_FETCH, R1, 0, R2);
}
