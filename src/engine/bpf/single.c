/* One process alone; see inside.h. */
#include "engine/bpf/inside.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "engine/bpf/kernel.h"

/* task_newtask(task, clone_flags), in the parent: a process, unless it is a thread. */
static void skip_thread(struct code *c, int out)
{
	code_load(c, 8, TMP, CTX, 8);
	code_alu_imm(c, BPF_AND, TMP, CLONE_THREAD);
	code_jump_imm(c, BPF_JNE, TMP, 0, out);
}

/* sched_process_exec(task, old_pid, bprm), when the thread has got the process's number: it had
 * another one before, unless it is the first thread. */
static void skip_main_thread(struct code *c, int out)
{
	code_load(c, 8, TMP, CTX, 8);
	code_alu32(c, BPF_MOV, TMP, TMP);
	code_call(c, BPF_FUNC_get_current_pid_tgid);
	code_alu32(c, BPF_MOV, R0, R0);
	code_jump_if(c, BPF_JEQ, R0, TMP, out);
}

/* sched_process_exit(task, ...) */
static void skip_other_threads(struct code *c, int out)
{
	code_call(c, BPF_FUNC_get_current_pid_tgid);
	code_mov(c, TMP, R0);
	code_alu_imm(c, BPF_RSH, TMP, 32);
	code_alu32(c, BPF_MOV, R0, R0);
	code_jump_if(c, BPF_JNE, R0, TMP, out);
}

static const struct watched {
	const char *tracepoint;
	void (*skip)(struct code *c, int out); /* leave by `out` when it does not count */
	uint32_t word;
} table[] = {
	{"task_newtask", skip_thread, CONTROL_CHILDREN},
	{"sched_process_exec", skip_main_thread, CONTROL_TAKEOVERS},
	{"sched_process_exit", skip_other_threads, CONTROL_MAIN_ENDS},
};

/* if (the process is ours && it counts) control[word]++ */
static int load_counter(const struct gen_world *w, const struct watched *row)
{
	struct kernel_program k = {.type = BPF_PROG_TYPE_RAW_TRACEPOINT, .name = "nopal_single"};
	struct code c;
	struct gen g = {.code = &c, .world = w};
	int out;

	code_init(&c);
	out = code_label(&c);
	code_mov(&c, CTX, R1);
	gen_pid_filter(&g, out);
	row->skip(&c, out);
	gen_count(&g, row->word);
	code_bind(&c, out);
	code_const(&c, R0, 0);
	code_exit(&c);
	return kernel_program_load_code(&c, k);
}

int single_attach(const struct gen_world *w, struct links *l, struct diag *d)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int fd = load_counter(w, &table[i]);
		int link = fd < 0 ? fd : kernel_link_raw(fd, table[i].tracepoint);

		if (fd >= 0)
			close(fd); /* the link holds the program */
		if (link >= 0)
			link = links_keep(l, link);
		if (link < 0)
			return diag_error(d, link, "attach",
					  "cannot attach to the kernel's '%s': %s",
					  table[i].tracepoint, strerror(-link));
	}
	return 0;
}
