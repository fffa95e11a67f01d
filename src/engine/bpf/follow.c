/* The set of followed processes; see follow.h. Keys are numbers of the initial pid namespace, which
 * is what the scheduler's tracepoints speak of. A new thread is entered like a process, which does
 * no harm as long as it lives: no process has its number. It leaves the set when it ends; a process
 * leaves with its last thread. */
#include "engine/bpf/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

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

/* A fork of somebody in the set, or of the traced process: its child comes in. */
static int make_fork(struct code *c, const struct gen_world *w, const struct trace_event *e)
{
	const struct trace_field *child = field_of(e, "child_pid");
	struct gen g = {.code = c, .world = w};
	int out = code_label(c);

	if (!child || child->size != 4)
		return -ENOTSUP;
	code_mov(c, CTX, R1);
	gen_pid_filter(&g, out);
	code_load(c, 4, R1, CTX, (int)child->offset);
	code_store(c, 8, FRAME, STACK_KEY, R1);
	code_store_imm(c, 8, FRAME, STACK_A, 1);
	code_mov(c, R3, FRAME);
	code_alu_imm(c, BPF_ADD, R3, STACK_A);
	code_const(c, R4, BPF_ANY);
	on_set(c, w, BPF_FUNC_map_update_elem);
	code_bind(c, out);
	code_const(c, R0, 0);
	code_exit(c);
	return 0;
}

/* A thread ends: its number goes; with the last thread that of the process. Kernels that do not say
 * which is the last one keep the process's number until its main thread ends. */
static int make_exit(struct code *c, const struct gen_world *w, const struct trace_event *e)
{
	const struct trace_field *last = field_of(e, "group_dead");
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
	if (last) {
		code_load(c, 1, R1, CTX, (int)last->offset);
		code_jump_imm(c, BPF_JEQ, R1, 0, out);
	} else {
		code_jump_if(c, BPF_JNE, TMP, TMP2, out);
	}
	code_store(c, 8, FRAME, STACK_KEY, TMP);
	on_set(c, w, BPF_FUNC_map_delete_elem);
	code_bind(c, out);
	code_const(c, R0, 0);
	code_exit(c);
	return 0;
}

typedef int make_fn(struct code *c, const struct gen_world *w, const struct trace_event *e);

static int attach_one(const struct gen_world *w, struct links *l, struct str name, make_fn *make,
		      struct diag *d)
{
	struct kernel_program k = {.type = BPF_PROG_TYPE_TRACEPOINT, .name = "nopal_follow"};
	struct bpf_insn *insns = NULL;
	struct arena a = ARENA_INIT;
	struct trace_event event;
	struct code c;
	int fd, err;

	code_init(&c);
	err = trace_event_read(&a, STR("sched"), name, &event, d);
	if (err)
		goto out;
	err = make(&c, w, &event);
	if (!err)
		err = code_finish(&c, &insns, &k.count);
	k.insns = insns;
	fd = err ? err : kernel_program_load(&k);
	err = fd < 0 ? fd : attach_tracepoint(l, fd, event.id);
	if (fd >= 0)
		close(fd); /* the link holds the program */
	if (err)
		diag_error(d, err, "follow", "cannot follow forks by 'sched:%.*s': %s",
			   STR_FMT(name), strerror(-err));
out:
	free(insns);
	code_free(&c);
	arena_free(&a);
	return err;
}

int follow_attach(const struct gen_world *w, struct links *l, struct diag *d)
{
	int err = attach_one(w, l, STR("sched_process_exit"), make_exit, d);

	return err ? err : attach_one(w, l, STR("sched_process_fork"), make_fork, d);
}
