/* Children of fork that load libraries. They have their parent's sites, and its jump in the loader;
 * only when a thread of theirs waits there they become processes of their own here. */
#include "user/run/forked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "user/inside/blob.h"
#include "user/patch/inject.h"
#include "user/patch/site.h"
#include "user/ptrace/tracee.h"
#include "user/run/library_wait.h"

#define ENDED_NS   1000000000u /* between two looks for children of processes that have ended */
#define LOOKS_MOST 1000	       /* at the processes that are known */
#define SCANS_MOST 5	       /* ... and at all their children */

/* ---- what it has */

static bool has_blob(struct native_process *p, const struct native_area *a)
{
	char *bytes = malloc(native_blob_size);
	bool has = bytes && !inject_read(p->x, a->start, bytes, native_blob_size) &&
		   !memcmp(bytes, native_blob, native_blob_size);

	free(bytes);
	return has;
}

static int inherit_areas(struct native_process *p, const struct native_process *from)
{
	int err = array_reserve(p->areas.all, p->areas.cap, from->areas.count);

	for (size_t i = 0; i < from->areas.count && !err; i++) {
		struct native_area a = from->areas.all[i];

		if (!a.has_inside || !inject_has_code(p->x, a.start, a.end))
			continue;
		a.has_inside = has_blob(p, &a);
		p->areas.all[p->areas.count++] = a;
	}
	return err;
}

static int inherit_steps(struct native_steps *s, const struct native_steps *from)
{
	*s = (struct native_steps){.turn = {.inode = from->turn.inode}};
	if (array_reserve(s->all, s->cap, from->count))
		return -ENOMEM;
	if (from->count)
		memcpy(s->all, from->all, from->count * sizeof(*s->all));
	s->count = s->done = from->count;
	return 0;
}

/* Places of the loader and the C library belong to no file of a probe. */
static void count_own(struct native_process *p, const struct inject_site *s,
		      const struct native_steps *steps)
{
	if (steps->turn.inode)
		return;
	p->own++;
	p->calls.is_libc_done |= s->form != INJECT_RETURN;
}

static int inherit_sites(struct native_process *p, const struct native_process *from)
{
	int err = 0;

	for (size_t i = 0; i < from->count && !err; i++) {
		struct inject_site s = from->sites[i];

		if (from->steps[i].turn.rests || !inject_inherit_site(p->x, &s))
			continue;
		err = native_process_add_site(p, &s);
		if (!err)
			err = inherit_steps(&p->steps[p->count - 1], &from->steps[i]);
		if (!err)
			count_own(p, &s, &from->steps[i]);
	}
	return err;
}

static int inherit(const struct native_process *from, pid_t pid, struct native_process **out,
		   struct diag *d)
{
	struct native_process *p = calloc(1, sizeof(*p));
	int err = p ? inject_inherit(from->x, pid, &p->x, d) : -ENOMEM;

	if (!err)
		err = inherit_areas(p, from);
	if (!err)
		err = inherit_sites(p, from);
	if (err) {
		native_process_close(p);
		return err;
	}
	p->forks.is_child = p->is_ready = true;
	p->files.may_come = from->files.may_come;
	p->lang.number = from->lang.number;
	p->lang.is_given = from->lang.is_given;
	p->calls.are_forbidden = from->calls.are_forbidden;
	p->calls.may_be_filtered = from->calls.may_be_filtered;
	p->calls.makes_pages = from->calls.makes_pages;
	p->loader.waits = from->loader.waits;
	p->loader.state = from->loader.state;
	library_wait_judge(p);
	*out = p;
	return 0;
}

/* ---- who waits */

/* The process whose sites it has inherited, and how often its threads have waited; NULL. */
static struct native_process *find_parent(const struct native *e, pid_t pid, uint64_t *waits)
{
	struct native_process *found = NULL;
	int memory = native_find_process(e, pid) ? -1 : process_memory(pid, O_RDONLY);

	for (size_t i = 0; i < e->process_count && memory >= 0 && !found; i++) {
		struct native_process *p = e->processes[i];

		if (p->loader.waits &&
		    inject_is_forked(p->x, memory, library_wait_place(p), waits, sizeof(*waits)))
			found = p;
	}
	if (memory >= 0)
		close(memory);
	return found;
}

static int note_forked(void *arg, pid_t pid)
{
	struct native *e = arg;
	struct native_waiting *w = &e->waiting;
	uint64_t waits;
	struct native_process *parent = find_parent(e, pid, &waits);
	size_t i = 0;

	if (!parent || !waits)
		return 0;
	while (i < w->forked_count && w->forked[i].pid != pid)
		i++;
	if (i == w->forked_count) {
		if (array_grow(w->forked, w->forked_count, w->forked_cap))
			return -ENOMEM;
		w->forked[w->forked_count++] = (struct forked_child){parent, pid, 0};
	}
	w->missing -= (int64_t)(waits - w->forked[i].waits);
	w->forked[i].waits = waits;
	return 0;
}

/* A thread asks first, and then its process counts that: what is counted here was asked before. */
static void count_known(struct native *e)
{
	for (size_t i = 0; i < e->process_count; i++) {
		struct native_process *p = e->processes[i];
		uint64_t now = p->loader.waits ? library_wait_count(p) : 0;

		if (now <= p->loader.heard)
			continue;
		e->waiting.missing -= (int64_t)(now - p->loader.heard);
		p->loader.heard = now;
		p->loader.is_unanswered = true;
	}
}

/* More was asked since the last look. */
static bool is_asked(struct native *e)
{
	struct native_waiting *w = &e->waiting;
	uint64_t before = w->asked_heard;

	library_wait_is_asked(e->store, &w->asked);
	w->missing += (int64_t)(w->asked - before);
	w->asked_heard = w->asked;
	return w->asked != before;
}

/* The sums are right only if no thread asks meanwhile. One that has asked and not counted yet does
 * so in a moment. */
void forked_hear(struct native *e)
{
	struct native_waiting *w = &e->waiting;
	unsigned scans = 0;

	w->forked_count = 0;
	w->are_known = false;
	is_asked(e);
	for (unsigned i = 0; i < LOOKS_MOST && scans <= SCANS_MOST; i++) {
		count_known(e);
		if (is_asked(e))
			continue;
		w->are_known = w->missing <= 0;
		if (w->are_known || !e->options.follow_forks)
			return;
		if (scans++)
			native_process_pause();
		programs_each(e->options.watch, note_forked, e);
	}
	/* The process that has waited has ended; or it may not be asked, which was said. */
	e->given_up += e->unreached || w->missing < 0 ? 0 : (uint64_t)w->missing;
	w->missing = 0;
}

int forked_take(struct native *e, struct diag *d)
{
	struct native_waiting *w = &e->waiting;
	int err = 0;

	for (size_t i = 0; i < w->forked_count && err != -ENOMEM; i++) {
		const struct forked_child *h = &w->forked[i];
		struct diag said = DIAG_INIT;
		struct native_process *p;

		err = array_grow(e->processes, e->process_count, e->process_cap);
		if (!err)
			err = inherit(h->parent, h->pid, &p, &said);
		if (!err) {
			p->loader.heard = h->waits;
			p->loader.is_unanswered = true;
			e->processes[e->process_count++] = p;
		} else {
			native_say_untraced(e, h->pid, err, &said, d);
		}
		diag_free(&said);
	}
	w->forked_count = 0;
	return err == -ENOMEM ? err : 0;
}

/* ---- processes that have ended, with children that may still load libraries */

static int note_parent(void *arg, pid_t pid)
{
	uint64_t waits;
	struct native_process *parent = find_parent(arg, pid, &waits);

	if (parent)
		parent->forks.has_children = true;
	return 0;
}

/* A process may have made a child just before it ended. */
void forked_look(struct native *e)
{
	uint64_t now = clock_now();
	bool any = false;

	if (now - e->forked_looked_at < ENDED_NS)
		return;
	e->forked_looked_at = now;
	for (size_t i = 1; i < e->process_count; i++) {
		struct native_process *p = e->processes[i];

		p->forks.has_children = !inject_has_ended(p->x);
		p->forks.is_over = !p->forks.has_children;
		any |= p->forks.is_over && p->loader.waits;
	}
	if (any && e->options.follow_forks)
		programs_each(e->options.watch, note_parent, e);
}

bool forked_remain(const struct native *e, const struct native_process *p)
{
	return p->loader.waits && e->options.follow_forks &&
	       (!p->forks.is_over || p->forks.has_children);
}
