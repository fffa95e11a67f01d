/* Looking at programs; see programs.h. */
#include "watch/programs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/proc.h"

struct look {
	struct watch *w;
	uint64_t now, patience;
	program_fn *fn;
	void *arg;
};

/* It runs this program, as the look found. */
static void note_program(const struct look *l, struct watch_process *p, uint64_t program)
{
	if (p->state != STATE_FOLLOWED && p->state != STATE_LEFT) { /* it was calling exec */
		p->state = STATE_FOLLOWED;
		p->program = 0;
	}
	p->look = l->w->look;
	if (p->program == program)
		return;
	p->program = program;
	p->since = l->now;
	p->program_state =
		l->patience && agent_is_expected(p->pid) ? PROGRAM_EXPECTED : PROGRAM_NEW;
}

static int look_at(void *arg, pid_t pid)
{
	struct look *l = arg;
	struct watch_process *p = watch_find(l->w, pid);
	uint64_t program;

	if (p && p->look == l->w->look)
		return 0;
	program = process_stat_number(pid, STAT_PROGRAM);
	if (!program)
		return 0;
	if (!p && watch_add(l->w, pid))
		return -ENOMEM;
	p = watch_find(l->w, pid);
	note_program(l, p, program);
	if (!l->fn || p->state == STATE_LEFT || p->program_state == PROGRAM_TAKEN ||
	    (p->program_state == PROGRAM_EXPECTED && l->now - p->since < l->patience))
		return 0;
	p->program_state = PROGRAM_TAKEN;
	l->fn(l->arg, pid);
	return 0;
}

int programs_begin(struct watch *w)
{
	struct look l = {w, clock_now(), 0, NULL, NULL};
	int err;

	w->is_looked_at = true;
	w->look++;
	err = look_at(&l, w->pid);
	w->all[0].program_state = PROGRAM_TAKEN;
	if (!err && w->has_children)
		err = processes_each_child(w->pid, look_at, &l);
	for (size_t i = 1; i < w->count; i++)
		w->all[i].state = STATE_LEFT;
	return err;
}

/* What it did before may still be reported. */
static void remove_ended(struct watch *w)
{
	for (size_t i = w->count; i-- > 1;) {
		struct watch_process *p = &w->all[i];

		w->had_others |= p->state != STATE_LEFT;
		if (p->look == w->look)
			continue;
		if (w->reports && p->state == STATE_FOLLOWED)
			p->state = STATE_UNSEEN;
		else if (p->state != STATE_UNSEEN)
			watch_remove(w, p);
	}
}

int programs_look(struct watch *w, uint64_t patience, program_fn *fn, void *arg)
{
	struct look l = {w, clock_now(), patience, fn, arg};
	int err;

	w->look++;
	err = look_at(&l, w->pid);
	/* Processes whose parents have ended are looked at, too; new ones come to the end. */
	for (size_t i = 0; w->has_children && i < w->count && !err; i++) {
		pid_t pid = w->all[i].pid;

		if (w->all[i].state == STATE_UNSEEN)
			continue;
		err = look_at(&l, pid);
		if (!err && w->all[i].state != STATE_LEFT)
			err = processes_each_child(pid, look_at, &l);
	}
	remove_ended(w);
	return err;
}

void programs_renew(struct watch *w, pid_t pid, uint64_t time)
{
	struct watch_process *p = watch_find(w, pid);

	if (p && p->since < time)
		p->program = 0;
}

int programs_meet(struct watch *w, pid_t pid, program_fn *fn, void *arg)
{
	struct look l = {w, clock_now(), fn ? 0 : UINT64_MAX, fn, arg};

	return look_at(&l, pid);
}

/* Is it the very process that was looked at, which is followed? Its number may be another's by now.
 */
static bool is_followed(const struct watch_process *p)
{
	return p && p->state != STATE_LEFT && p->program &&
	       process_stat_number(p->pid, STAT_PROGRAM) == p->program;
}

int programs_came(struct watch *w, pid_t pid)
{
	struct look l = {w, clock_now(), 0, NULL, NULL};
	pid_t parent = (pid_t)process_stat_number(pid, STAT_PARENT);
	struct watch_process *p = watch_find(w, pid);

	if (!is_followed(watch_find(w, parent)) || (p && p->state == STATE_LEFT))
		return -ESRCH;
	if (p)
		p->look = 0; /* to be looked at again */
	w->had_others = true;
	return look_at(&l, pid);
}

int programs_take(struct watch *w, pid_t pid, program_fn *fn, void *arg)
{
	struct watch_process *p = watch_find(w, pid);

	if (!p)
		return -ESRCH;
	p->program_state = PROGRAM_TAKEN;
	fn(arg, pid);
	return 0;
}

bool programs_refuse(struct watch *w, pid_t pid)
{
	struct watch_process *p = watch_find(w, pid);
	bool was_refused = p && p->is_refused;

	if (p)
		p->is_refused = true;
	return !was_refused;
}

struct walk {
	const struct watch *w;
	pid_t *pids;
	size_t count, cap;
};

static int add_once(void *arg, pid_t pid)
{
	struct walk *walk = arg;
	const struct watch_process *p = watch_find(walk->w, pid);

	for (size_t i = 0; i < walk->count; i++)
		if (walk->pids[i] == pid)
			return 0;
	if (p && p->state == STATE_LEFT)
		return 0;
	if (array_grow(walk->pids, walk->count, walk->cap))
		return -ENOMEM;
	walk->pids[walk->count++] = pid;
	return 0;
}

int programs_each(const struct watch *w, int (*fn)(void *arg, pid_t pid), void *arg)
{
	struct walk walk = {.w = w};
	int err = add_once(&walk, w->pid);

	for (size_t i = 0; i < w->count && !err; i++)
		if (w->all[i].state != STATE_UNSEEN)
			err = add_once(&walk, w->all[i].pid);
	for (size_t i = 0; i < walk.count && !err; i++) {
		err = processes_each_child(walk.pids[i], add_once, &walk);
		if (!err)
			err = fn(arg, walk.pids[i]);
	}
	free(walk.pids);
	return err;
}
