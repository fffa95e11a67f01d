/* Looking at them; see programs.h. The kernel lists the children of each thread, so
 * a look costs as much as there are processes. */
#include "watch/programs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/proc.h"
#include "watch/agent_socket.h"

void children_free(struct native_children *f)
{
	free(f->all);
	*f = (struct native_children){0};
}

struct look {
	struct native_children *all;
	uint64_t now, patience;
	child_fn *fn;
	void *arg;
};

static struct native_child *find(const struct native_children *f, pid_t pid)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->all[i].pid == pid)
			return &f->all[i];
	return NULL;
}

static int note(void *arg, pid_t pid)
{
	struct look *l = arg;
	struct native_children *f = l->all;
	struct native_child *m = find(f, pid);
	uint64_t program;

	if (m && m->is_there)
		return 0;
	program = process_stat_number(pid, STAT_PROGRAM);
	if (!program)
		return 0;
	if (!m) {
		if (array_grow(f->all, f->count, f->cap))
			return -ENOMEM;
		m = &f->all[f->count++];
		*m = (struct native_child){.pid = pid};
	}
	if (m->program != program)
		*m = (struct native_child){.pid = pid,
					   .program = program,
					   .since = l->now,
					   .is_left = m->is_left,
					   .is_refused = m->is_refused,
					   .is_expected =
						   l->patience && native_agent_is_expected(pid)};
	m->is_there = true;
	if (!l->fn || m->is_left || m->is_known ||
	    (m->is_expected && l->now - m->since < l->patience))
		return 0;
	m->is_known = true;
	l->fn(l->arg, pid);
	return 0;
}

int children_leave(struct native_children *f, pid_t first)
{
	struct look l = {f, 0, UINT64_MAX, NULL, NULL};
	int err = processes_each_child(first, note, &l);

	for (size_t i = 0; i < f->count; i++)
		f->all[i].is_left = f->all[i].pid != first;
	return err;
}

int children_look(struct native_children *f, pid_t first, bool follow, uint64_t patience,
		  child_fn *fn, void *arg)
{
	struct look l = {f, clock_now(), patience, fn, arg};
	size_t kept = 0;
	int err;

	for (size_t i = 0; i < f->count; i++)
		f->all[i].is_there = false;
	err = note(&l, first);
	/* Members whose parents have ended are looked at, too; new ones come to the end. */
	for (size_t i = 0; follow && i < f->count && !err; i++) {
		pid_t pid = f->all[i].pid;

		err = note(&l, pid);
		if (!err && !f->all[i].is_left)
			err = processes_each_child(pid, note, &l);
	}
	for (size_t i = 0; i < f->count; i++) {
		f->has_others |= f->all[i].pid != first && !f->all[i].is_left;
		if (f->all[i].is_there)
			f->all[kept++] = f->all[i];
	}
	f->count = kept;
	return err;
}

void children_renew(struct native_children *f, pid_t pid, uint64_t time)
{
	struct native_child *m = find(f, pid);

	if (m && m->since < time)
		m->program = 0;
}

int children_meet(struct native_children *f, pid_t pid)
{
	struct look l = {f, clock_now(), UINT64_MAX, NULL, NULL};

	return note(&l, pid);
}

/* Is it the very process that was looked at, which is followed? Its number may be another's by now.
 */
static bool is_followed(const struct native_child *m)
{
	return m && !m->is_left && m->program &&
	       process_stat_number(m->pid, STAT_PROGRAM) == m->program;
}

int children_came(struct native_children *f, pid_t pid)
{
	struct look l = {f, clock_now(), 0, NULL, NULL};
	pid_t parent = (pid_t)process_stat_number(pid, STAT_PARENT);
	struct native_child *m = find(f, pid);

	if (!is_followed(find(f, parent)) || (m && m->is_left))
		return -ESRCH;
	if (m)
		m->is_there = false; /* to be looked at again */
	f->has_others = true;
	return note(&l, pid);
}

int children_join(struct native_children *f, pid_t pid, child_fn *fn, void *arg)
{
	struct look l = {f, clock_now(), 0, fn, arg};

	return note(&l, pid);
}

int children_take(struct native_children *f, pid_t pid, child_fn *fn, void *arg)
{
	struct native_child *m = find(f, pid);

	if (!m)
		return -ESRCH;
	m->is_known = true;
	fn(arg, pid);
	return 0;
}

bool children_refuse(struct native_children *f, pid_t pid)
{
	struct native_child *m = find(f, pid);
	bool was_refused = m && m->is_refused;

	if (m)
		m->is_refused = true;
	return !was_refused;
}

bool children_have(const struct native_children *f, pid_t pid)
{
	return find(f, pid);
}

struct walk {
	const struct native_children *all;
	pid_t *pids;
	size_t count, cap;
};

static int add_once(void *arg, pid_t pid)
{
	struct walk *w = arg;
	const struct native_child *m = find(w->all, pid);

	for (size_t i = 0; i < w->count; i++)
		if (w->pids[i] == pid)
			return 0;
	if (m && m->is_left)
		return 0;
	if (array_grow(w->pids, w->count, w->cap))
		return -ENOMEM;
	w->pids[w->count++] = pid;
	return 0;
}

int children_each(const struct native_children *f, pid_t first, int (*fn)(void *arg, pid_t pid),
		  void *arg)
{
	struct walk w = {.all = f};
	int err = add_once(&w, first);

	for (size_t i = 0; i < f->count && !err; i++)
		err = add_once(&w, f->all[i].pid);
	for (size_t i = 0; i < w.count && !err; i++) {
		err = processes_each_child(w.pids[i], add_once, &w);
		if (!err)
			err = fn(arg, w.pids[i]);
	}
	free(w.pids);
	return err;
}
