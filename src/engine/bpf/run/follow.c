/* Small programs of ours that watch processes: the set of followed ones, and what the kernel's own
 * filter for one process misses; see follow.h.
 *
 * The set's keys are pids of the initial pid namespace, which is what the scheduler's tracepoints
 * have. With tracefs a new thread is added like a process, which does no harm while it lives, since
 * no process has its number. It is removed when it ends; a process is removed with its last thread.
 */
#include "engine/bpf/run/follow.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "base/array.h"
#include "engine/bpf/kernel/bpf_syscall.h"
#include "engine/bpf/kernel/control.h"
#include "engine/bpf/kernel/features.h"
#include "engine/bpf/kernel/kernel_btf.h"
#include "engine/bpf/kernel/make_map.h"
#include "engine/bpf/run/attach.h"
#include "find/tracefs.h"

#define PROCESSES 65536u

int follow_open(struct gen_world *w, struct diag *d)
{
	return map_make_hash("processes", 8, 8, PROCESSES, &w->filter.followed_fd, d);
}

static const struct trace_field *find_field(const struct trace_event *e, const char *name)
{
	for (unsigned i = 0; i < e->field_count; i++)
		if (str_eq_text(e->fields[i].name, name))
			return &e->fields[i];
	return NULL;
}

/* Where our programs read of forks and ends: in the records that tracefs describes, or in the
 * kernel's own arguments (raw), which needs the offset of `pid` in its struct task_struct. */
struct source {
	bool raw;
	int pid;  /* record: offset of child_pid; raw: of pid in the child's task_struct */
	int last; /* offset of "this was the last thread" in the context; -1: unknown */
	int last_bytes;
	uint32_t fork, exit; /* record: numbers of the events */
};

/* task_newtask(task, clone_flags), in the parent: a process, unless it is a thread. */
static void skip_thread(struct code *c, int out)
{
	code_load(c, 8, TMP, CTX, 8);
	code_alu_imm(c, BPF_AND, TMP, CLONE_THREAD);
	code_jump_imm(c, BPF_JNE, TMP, 0, out);
}

/* A process in the set, or the traced one, has forked: add its child. The arguments of the raw
 * event are task_newtask(task, clone_flags), which new threads have, too. */
static void emit_fork(struct code *c, const struct gen_world *w, const struct source *s)
{
	int out = code_label(c);

	code_mov(c, CTX, R1);
	code_pid_filter(c, &w->filter, out);
	if (s->raw) {
		skip_thread(c, out);
		code_load(c, 8, TMP, CTX, 0);
		code_helper(c, BPF_FUNC_probe_read_kernel, SUM(FRAME, STACK_A), IMM(4),
			    SUM(TMP, s->pid));
		code_jump_imm(c, BPF_JNE, R0, 0, out);
	}
	code_load(c, 4, R1, s->raw ? FRAME : CTX, s->raw ? STACK_A : s->pid);
	code_store(c, 8, FRAME, STACK_KEY, R1);
	code_store_imm(c, 8, FRAME, STACK_A, 1);
	code_helper(c, BPF_FUNC_map_update_elem, MAP(w->filter.followed_fd), SUM(FRAME, STACK_KEY),
		    SUM(FRAME, STACK_A), IMM(BPF_ANY));
	code_bind(c, out);
	code_const(c, R0, 0);
	code_exit(c);
}

/* A thread ends: remove its pid, and with the last thread that of the process. Where the kernel
 * does not say which is the last one, the process stays in the set until its main thread ends. */
static void emit_exit(struct code *c, const struct gen_world *w, const struct source *s)
{
	int out = code_label(c), whole = code_label(c);

	code_mov(c, CTX, R1);
	code_call(c, BPF_FUNC_get_current_pid_tgid);
	code_mov(c, TMP, R0);
	code_mov(c, TMP2, R0);
	code_alu_imm(c, BPF_RSH, TMP, 32);
	code_alu32(c, BPF_MOV, TMP2, TMP2);
	code_jump_if(c, BPF_JEQ, TMP, TMP2, whole);
	code_store(c, 8, FRAME, STACK_KEY, TMP2);
	code_helper(c, BPF_FUNC_map_delete_elem, MAP(w->filter.followed_fd), SUM(FRAME, STACK_KEY));
	code_bind(c, whole);
	if (s->last >= 0) {
		code_load(c, s->last_bytes, R1, CTX, s->last);
		code_jump_imm(c, BPF_JEQ, R1, 0, out);
	} else {
		code_jump_if(c, BPF_JNE, TMP, TMP2, out);
	}
	code_store(c, 8, FRAME, STACK_KEY, TMP);
	code_helper(c, BPF_FUNC_map_delete_elem, MAP(w->filter.followed_fd), SUM(FRAME, STACK_KEY));
	code_bind(c, out);
	code_const(c, R0, 0);
	code_exit(c);
}

typedef void emit_fn(struct code *c, const struct gen_world *w, const struct source *s);

/* To one event: `name` of the kernel's, number `id` of tracefs. The link keeps the program. */
static int attach_one(const struct gen_world *w, struct links *l, const struct source *s,
		      emit_fn *emit, const char *name, uint32_t id)
{
	struct kernel_program k = {.type = BPF_PROG_TYPE_TRACEPOINT, .name = "nopal_follow"};
	struct code c;
	int fd, err;

	code_init(&c);
	emit(&c, w, s);
	if (s->raw)
		return links_raw(l, &c, "nopal_follow", name);
	fd = kernel_program_load_code(&c, k);
	if (fd < 0)
		return fd;
	err = attach_tracepoint(l, fd, id);
	close(fd);
	return err;
}

/* ORDER: ends before forks. A child that ended in between would stay in the set, and its number may
 * be given to another process. */
static int attach_both(const struct gen_world *w, struct links *l, struct source *s, struct diag *d)
{
	const char *fork = s->raw ? "task_newtask" : "sched_process_fork";
	int err = attach_one(w, l, s, emit_exit, "sched_process_exit", s->exit);

	/* The second argument is newer: kernels without it refuse to attach the program. */
	if (err == -EINVAL && s->raw) {
		s->last = -1;
		err = attach_one(w, l, s, emit_exit, "sched_process_exit", s->exit);
	}
	if (!err)
		err = attach_one(w, l, s, emit_fork, fork, s->fork);
	if (err)
		diag_error(d, err, "follow", "cannot follow forks by '%s': %s", fork,
			   strerror(-err));
	return err;
}

static int read_tracefs(struct source *out, struct diag *d)
{
	const struct trace_field *child, *last;
	struct trace_event fork, end;
	struct arena a = ARENA_INIT;
	int err =
		trace_event_read(&a, STR("sched"), STR("sched_process_exit"), &end, d)
			?: trace_event_read(&a, STR("sched"), STR("sched_process_fork"), &fork, d);

	child = err ? NULL : find_field(&fork, "child_pid");
	last = err ? NULL : find_field(&end, "group_dead");
	if (!err && (!child || child->size != 4))
		err = -ENOTSUP;
	if (!err)
		*out = (struct source){.pid = (int)child->offset,
				       .last = last ? (int)last->offset : -1,
				       .last_bytes = 1,
				       .fork = fork.id,
				       .exit = end.id};
	arena_free(&a);
	return err;
}

/* The kernel's types first: raw tracepoints need no tracefs, which only root can open and which is
 * not mounted in every container, and the perf events of the others take the kernel a second to
 * close. */
int follow_attach(const struct gen_world *w, struct features *f, struct links *l, struct diag *d)
{
	struct source s = {.raw = true, .last = 8, .last_bytes = 8};
	uint32_t pid;
	int err;

	if (feature_has(f, FEATURE_BTF) && !btf_kernel_field("task_struct", "pid", &pid)) {
		s.pid = (int)pid;
		if (!attach_both(w, l, &s, NULL))
			return 0;
	}
	err = read_tracefs(&s, d);
	if (!err)
		return attach_both(w, l, &s, d);
	diag_ensure(d, err, "follow children");
	diag_hint(d, "--follow needs the kernel's types (/sys/kernel/btf/vmlinux), or tracefs "
		     "(root, or CAP_DAC_READ_SEARCH); -p alone needs neither");
	return err;
}

/* ---- one process alone */

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

/* clang-format off */
static const struct watched {
	const char *tracepoint;
	void (*skip)(struct code *c, int out); /* leave by `out` when it does not count */
	uint32_t word;
} watched[] = {
	{ "task_newtask",       skip_thread,        CONTROL_CHILDREN  },
	{ "sched_process_exec", skip_main_thread,   CONTROL_TAKEOVERS },
	{ "sched_process_exit", skip_other_threads, CONTROL_MAIN_ENDS },
};
/* clang-format on */

/* if (the process is ours && it counts) control[word]++ */
static int attach_counter(const struct gen_world *w, struct links *l, const struct watched *row)
{
	struct code c;
	int out;

	code_init(&c);
	out = code_label(&c);
	code_mov(&c, CTX, R1);
	code_pid_filter(&c, &w->filter, out);
	row->skip(&c, out);
	control_count(&c, w->control_fd, row->word);
	code_bind(&c, out);
	code_const(&c, R0, 0);
	code_exit(&c);
	return links_raw(l, &c, "nopal_single", row->tracepoint);
}

int single_attach(const struct gen_world *w, struct links *l, struct diag *d)
{
	for (size_t i = 0; i < COUNT(watched); i++) {
		int err = attach_counter(w, l, &watched[i]);

		if (err)
			return diag_error(d, err, "attach",
					  "cannot attach to the kernel's '%s': %s",
					  watched[i].tracepoint, strerror(-err));
	}
	return 0;
}
