/* The set of followed processes; see follow.h. Keys are numbers of the initial pid namespace, which
 * is what the scheduler's tracepoints speak of. By tracefs a new thread is entered like a process,
 * which does no harm as long as it lives: no process has its number. It leaves the set when it
 * ends; a process leaves with its last thread. */
#include "engine/bpf/follow.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "engine/bpf/btf.h"
#include "engine/bpf/kernel.h"
#include "find/tracefs.h"

#define PROCESSES   65536u
#define NO_PREALLOC 1u

int follow_open(struct gen_world *w, struct diag *d)
{
	struct kernel_map m = {.type = BPF_MAP_TYPE_HASH,
			       .key_size = 8,
			       .value_size = 8,
			       .max_entries = PROCESSES,
			       .flags = NO_PREALLOC,
			       .name = "processes"};

	w->pids_fd = kernel_map_create(&m);
	if (w->pids_fd >= 0)
		return 0;
	return diag_error(d, w->pids_fd, "map", "cannot create a BPF map: %s",
			  strerror(-w->pids_fd));
}

static const struct trace_field *field_of(const struct trace_event *e, const char *name)
{
	for (unsigned i = 0; i < e->field_count; i++)
		if (str_eq_text(e->fields[i].name, name))
			return &e->fields[i];
	return NULL;
}

/* Call a map helper with the key at STACK_KEY. */
static void on_set(struct code *c, const struct gen_world *w, int helper)
{
	code_map(c, R1, w->pids_fd);
	code_mov(c, R2, FRAME);
	code_alu_imm(c, BPF_ADD, R2, STACK_KEY);
	code_call(c, helper);
}

/* How our programs see forks and ends: by the records that tracefs describes, or by the kernel's
 * own arguments, which need the place of `pid` in its struct task_struct. */
struct source {
	bool raw;
	int pid;  /* record: offset of child_pid; raw: of pid in the child's task_struct */
	int last; /* offset of "this was the last thread" in what a program gets; -1: unknown */
	int last_bytes;
	uint32_t fork, exit; /* record: numbers of the events */
};

/* R1 = number of the child; raw: task_newtask(task, clone_flags), where threads do not count. */
static void load_child(struct code *c, const struct source *s, int out)
{
	if (!s->raw) {
		code_load(c, 4, R1, CTX, s->pid);
		return;
	}
	code_load(c, 8, TMP, CTX, 8);
	code_alu_imm(c, BPF_AND, TMP, CLONE_THREAD);
	code_jump_imm(c, BPF_JNE, TMP, 0, out);
	code_mov(c, R1, FRAME);
	code_alu_imm(c, BPF_ADD, R1, STACK_A);
	code_const(c, R2, 4);
	code_load(c, 8, R3, CTX, 0);
	code_alu_imm(c, BPF_ADD, R3, s->pid);
	code_call(c, BPF_FUNC_probe_read_kernel);
	code_jump_imm(c, BPF_JNE, R0, 0, out);
	code_load(c, 4, R1, FRAME, STACK_A);
}

/* A fork of somebody in the set, or of the traced process: its child comes in. */
static void make_fork(struct code *c, const struct gen_world *w, const struct source *s)
{
	struct gen g = {.code = c, .world = w};
	int out = code_label(c);

	code_mov(c, CTX, R1);
	gen_pid_filter(&g, out);
	load_child(c, s, out);
	code_store(c, 8, FRAME, STACK_KEY, R1);
	code_store_imm(c, 8, FRAME, STACK_A, 1);
	code_mov(c, R3, FRAME);
	code_alu_imm(c, BPF_ADD, R3, STACK_A);
	code_const(c, R4, BPF_ANY);
	on_set(c, w, BPF_FUNC_map_update_elem);
	code_bind(c, out);
	code_const(c, R0, 0);
	code_exit(c);
}

/* A thread ends: its number goes; with the last thread that of the process. Kernels that do not say
 * which is the last one keep the process's number until its main thread ends. */
static void make_exit(struct code *c, const struct gen_world *w, const struct source *s)
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
	on_set(c, w, BPF_FUNC_map_delete_elem);
	code_bind(c, whole);
	if (s->last >= 0) {
		code_load(c, s->last_bytes, R1, CTX, s->last);
		code_jump_imm(c, BPF_JEQ, R1, 0, out);
	} else {
		code_jump_if(c, BPF_JNE, TMP, TMP2, out);
	}
	code_store(c, 8, FRAME, STACK_KEY, TMP);
	on_set(c, w, BPF_FUNC_map_delete_elem);
	code_bind(c, out);
	code_const(c, R0, 0);
	code_exit(c);
}

typedef void make_fn(struct code *c, const struct gen_world *w, const struct source *s);

static int load(const struct gen_world *w, const struct source *s, make_fn *make)
{
	struct kernel_program k = {.type = s->raw ? BPF_PROG_TYPE_RAW_TRACEPOINT
						  : BPF_PROG_TYPE_TRACEPOINT,
				   .name = "nopal_follow"};
	struct code c;

	code_init(&c);
	make(&c, w, s);
	return kernel_program_load_code(&c, k);
}

/* To one event: `name` of the kernel's, number `id` of tracefs. */
static int attach_one(const struct gen_world *w, struct links *l, const struct source *s,
		      make_fn *make, const char *name, uint32_t id)
{
	int fd = load(w, s, make), link;

	if (fd < 0)
		return fd;
	if (s->raw) {
		link = kernel_link_raw(fd, name);
		link = link < 0 ? link : links_keep(l, link);
	} else {
		link = attach_tracepoint(l, fd, id);
	}
	close(fd); /* the link holds the program */
	return link;
}

static int attach_both(const struct gen_world *w, struct links *l, struct source *s, struct diag *d)
{
	const char *fork = s->raw ? "task_newtask" : "sched_process_fork";
	int err = attach_one(w, l, s, make_exit, "sched_process_exit", s->exit);

	/* The kernel's second argument is newer; one that does not know it refuses to attach. */
	if (err == -EINVAL && s->raw) {
		s->last = -1;
		err = attach_one(w, l, s, make_exit, "sched_process_exit", s->exit);
	}
	if (!err)
		err = attach_one(w, l, s, make_fork, fork, s->fork);
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
	int err = trace_event_read(&a, STR("sched"), STR("sched_process_exit"), &end, d);

	if (!err)
		err = trace_event_read(&a, STR("sched"), STR("sched_process_fork"), &fork, d);
	if (!err) {
		child = field_of(&fork, "child_pid");
		last = field_of(&end, "group_dead");
		if (!child || child->size != 4)
			err = -ENOTSUP;
		else
			*out = (struct source){.pid = (int)child->offset,
					       .last = last ? (int)last->offset : -1,
					       .last_bytes = 1,
					       .fork = fork.id,
					       .exit = end.id};
	}
	arena_free(&a);
	return err;
}

static int read_types(struct source *out)
{
	uint32_t pid;
	int err = btf_kernel_field("task_struct", "pid", &pid);

	if (!err)
		*out = (struct source){.raw = true, .pid = (int)pid, .last = 8, .last_bytes = 8};
	return err;
}

/* The kernel's types first: raw tracepoints need no tracefs, which is closed to all but root and
 * not mounted in every container, and the perf events of the others take the kernel a second to
 * close. */
int follow_attach(const struct gen_world *w, struct features *f, struct links *l, struct diag *d)
{
	struct source s;
	int err = feature_has(f, FEATURE_BTF) ? read_types(&s) : -ENOTSUP;

	if (!err && !attach_both(w, l, &s, NULL))
		return 0;
	err = read_tracefs(&s, d);
	if (!err)
		return attach_both(w, l, &s, d);
	diag_hint(d, "--follow needs the kernel's types (/sys/kernel/btf/vmlinux), or tracefs "
		     "(root, or CAP_DAC_READ_SEARCH); -p alone needs neither");
	return diag_ensure(d, err, "follow children");
}
