/* Code that asks the kernel for the current process, and refuses those that are not traced. */
#include "engine/bpf/kernel/pids.h"

#include "engine/bpf/kernel/spill.h"

#define FUNC_GET_NS_PID 120

/* A tracer in a container numbers processes otherwise than the kernel. The helper for that writes
 * u32 tid, u32 pid; for a process outside of the tracer's namespace it writes nothing, so zeros are
 * there first. */
void code_pid(struct code *c, const struct pid_filter *f, bool thread)
{
	if (f->ns_ino) {
		code_store_imm(c, 8, FRAME, STACK_A, 0);
		code_helper(c, FUNC_GET_NS_PID, IMM((int64_t)f->ns_dev), IMM((int64_t)f->ns_ino),
			    SUM(FRAME, STACK_A), IMM(8));
		code_load(c, 4, R0, FRAME, STACK_A + (thread ? 0 : 4));
		return;
	}
	code_call(c, BPF_FUNC_get_current_pid_tgid);
	if (thread)
		code_alu32(c, BPF_MOV, R0, R0);
	else
		code_alu_imm(c, BPF_RSH, R0, 32);
}

void code_pid_filter(struct code *c, const struct pid_filter *f, int refuse)
{
	unsigned last = f->count - 1;
	int mine = code_label(c);

	if (!f->count)
		return;
	code_pid(c, f, false);
	for (unsigned i = 0; i < last; i++)
		code_jump_imm(c, BPF_JEQ, R0, f->pids[i], mine);
	if (f->followed_fd < 0) {
		code_jump_imm(c, BPF_JNE, R0, f->pids[last], refuse);
		code_bind(c, mine);
		return;
	}
	/* The set has the kernel's numbers, not those of the tracer's pid namespace: it is filled
	 * from scheduler events, which have no others. */
	code_jump_imm(c, BPF_JEQ, R0, f->pids[last], mine);
	code_call(c, BPF_FUNC_get_current_pid_tgid);
	code_alu_imm(c, BPF_RSH, R0, 32);
	code_store(c, 8, FRAME, STACK_KEY, R0);
	code_helper(c, BPF_FUNC_map_lookup_elem, MAP(f->followed_fd), SUM(FRAME, STACK_KEY));
	code_jump_imm(c, BPF_JEQ, R0, 0, refuse);
	code_bind(c, mine);
}
