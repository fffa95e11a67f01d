/* Programs that the traced processes begin: those that load the agent come to the tracer's socket
 * and wait there, others are found among the processes. */
#include "user/run/native_state.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "user/patch/inject.h"
#include "user/ptrace/tracee.h"
#include "user/run/library_wait.h"

#define PATIENCE 20000000u   /* ns until a program may be one without the agent */
#define LATE_NS	 2000000000u /* ... and until it is one, on a busy machine */

void native_say_late(struct native *e, struct native_process *p, struct diag *d)
{
	p->agent.late_at = 0;
	if (p->count && e->late++ == 0)
		diag_warn(d, "user-mode-late",
			  "process %d began to run another program: tracing it begins a "
			  "few milliseconds later",
			  (int)inject_pid(p->x));
}

void native_judge_late(struct native *e, struct native_process *p, struct diag *d)
{
	if (p->agent.late_at && !e->agents_wait && clock_now() - p->agent.late_at > LATE_NS)
		native_say_late(e, p, d);
}

struct new_programs {
	struct native *e;
	struct diag *d;
	bool are_early; /* nothing of their programs has run */
	bool have_left; /* they have waited, and gone on */
};

/* One without the agent, or whose agent has gone on, is late. Where the machine is busy, the agent
 * may still come. */
static void judge_new(const struct new_programs *n, struct native_process *p)
{
	if (n->are_early)
		return;
	p->agent.late_at = clock_now();
	if (p->count && (n->have_left || !watch_has_agent(n->e->options.watch) ||
			 !agent_is_expected(inject_pid(p->x))))
		native_say_late(n->e, p, n->d);
}

struct native_process *native_find_process(const struct native *e, pid_t pid)
{
	for (size_t i = 0; i < e->process_count; i++)
		if (inject_pid(e->processes[i]->x) == pid && !inject_has_ended(e->processes[i]->x))
			return e->processes[i];
	return NULL;
}

void native_say_untraced(struct native *e, pid_t pid, int err, const struct diag *said,
			 struct diag *d)
{
	if (err == -ESRCH || !programs_refuse(e->options.watch, pid) || e->unreached++)
		return;
	diag_warn(d, "user-mode-child", "process %d is not traced: %.*s", (int)pid,
		  said->last ? (int)said->last->text.len : 0,
		  said->last ? said->last->text.ptr : "");
}

/* A process has called exec, or is a child that did. Children of fork have inherited all; and of
 * one that may not be asked any more it is not known whether it has called exec. */
static void take_program(void *arg, pid_t pid)
{
	struct new_programs *n = arg;
	struct native *e = n->e;
	struct native_process *p;
	struct diag said = DIAG_INIT;
	bool is_known = native_find_process(e, pid) || inject_is_inherited(pid);
	uint64_t began = clock_now();
	int err = is_known ? -EEXIST : native_open_process(e, pid, &p, &said);

	if (!err)
		err = native_look_at_files(e, p, n->are_early, &said);
	if (err && err != -EEXIST) {
		native_say_untraced(e, pid, err, &said, n->d);
		if (err != -ESRCH)
			missed_looked(e->options.watch, pid, began);
	}
	if (!err) {
		judge_new(n, p);
		diag_add_all(n->d, &said);
	}
	diag_free(&said);
}

/* The program may have been found before it came, and before all its files were mapped. Its probes
 * were there by then, so it is not late even if it has gone on. */
static int take_known(struct native *e, struct native_process *p, bool has_left, struct diag *d)
{
	p->agent.late_at = 0;
	return native_look_at_files(e, p, !has_left, d);
}

/* A program that is not known yet may be a daemon, whose parents have ended before they were seen.
 */
static int take_new(struct native *e, pid_t pid, struct new_programs *new_programs)
{
	int err = programs_take(e->options.watch, pid, take_program, new_programs);

	if (err != -ESRCH || !agent_was_given(e->options.watch, pid))
		return err;
	return programs_meet(e->options.watch, pid, take_program, new_programs);
}

static int take_agent(struct native *e, int fd, pid_t pid, struct diag *d)
{
	bool has_left = agent_has_left(fd);
	struct new_programs new_programs = {e, d, !has_left, has_left};
	struct native_process *p = native_find_process(e, pid);
	int err = p ? take_known(e, p, has_left, d) : take_new(e, pid, &new_programs);

	/* If it has ended, what it was is not known any more. */
	if (!p && agent_has_left(fd))
		e->given_up += !err || !process_stat_number(pid, STAT_PROGRAM);
	return err == -ENOMEM ? err : 0;
}

/* ---- who comes */

/* At most AGENTS_AT_ONCE are looked at in one turn, and the others wait in the kernel. */
void native_accept_agents(struct native *e)
{
	struct native_waiting *w = &e->waiting;
	int fd = 0;

	while (watch_has_agent(e->options.watch) && fd >= 0 && w->agent_count < AGENTS_AT_ONCE) {
		fd = agent_accept(e->options.watch, &w->pids[w->agent_count]);
		if (fd >= 0)
			w->agents[w->agent_count++] = fd;
	}
	e->agents_wait = w->agent_count == AGENTS_AT_ONCE || fd == -EBUSY;
}

static void let_go(struct native *e, int fd)
{
	e->given_up += agent_has_left(fd);
	close(fd);
}

/* Every agent in the queue has its connection closed, as by a tracer that has looked at it. */
void native_stop_agents(struct native *e)
{
	struct native_waiting *w = &e->waiting;
	pid_t pid;
	int fd;

	while (w->agent_count)
		let_go(e, w->agents[--w->agent_count]);
	if (!watch_has_agent(e->options.watch))
		return;
	agent_refuse(e->options.watch);
	do {
		fd = agent_accept(e->options.watch, &pid);
		if (fd >= 0)
			let_go(e, fd);
	} while (fd != -EAGAIN);
}

/* Where all who wait are children of processes that are known, there is no need to look at all. */
static int look_at_descendants(struct native *e)
{
	const struct native_waiting *w = &e->waiting;
	int err = e->options.follow_forks ? 0 : -ESRCH;

	for (unsigned i = 0; i < w->agent_count && !err; i++)
		err = programs_came(e->options.watch, w->pids[i]);
	return err != -ESRCH ? err : programs_look(e->options.watch, UINT64_MAX, NULL, NULL);
}

int native_answer_agents(struct native *e, struct diag *d)
{
	struct native_waiting *w = &e->waiting;
	int err = 0;

	if (w->agent_count)
		err = look_at_descendants(e);
	for (unsigned i = 0; i < w->agent_count; i++) {
		if (!err)
			err = take_agent(e, w->agents[i], w->pids[i], d);
		heartbeat(e->store);
		close(w->agents[i]);
	}
	w->agent_count = 0;
	return err;
}

int native_look_for_programs(struct native *e, struct diag *d)
{
	struct new_programs new_programs = {e, d, false, false};

	return programs_look(e->options.watch, watch_has_agent(e->options.watch) ? PATIENCE : 0,
			     take_program, &new_programs);
}
