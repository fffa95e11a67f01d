/* The table, and what its sources say; see watch.h. */
#include "watch/watch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/proc.h"
#include "watch/missed.h"

#define REST_NS 500000000u /* between two looks at everything */

/* ---- the table */

struct watch_process *watch_find(const struct watch *w, pid_t pid)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->all[i].pid == pid)
			return &w->all[i];
	return NULL;
}

bool watch_is_followed(const struct watch_process *p)
{
	return p->state == STATE_FOLLOWED || p->state == STATE_UNSEEN;
}

bool watch_follows(const struct watch *w, pid_t pid)
{
	const struct watch_process *p = watch_find(w, pid);

	return p && watch_is_followed(p);
}

int watch_add(struct watch *w, pid_t pid)
{
	struct watch_process *p = watch_find(w, pid);

	if (p && (p->state == STATE_FOLLOWED || p->state == STATE_LEFT))
		return 0;
	if (!p && array_grow(w->all, w->count, w->cap))
		return -ENOMEM;
	if (p)
		missed_ended(w, p);
	else
		p = &w->all[w->count++];
	*p = (struct watch_process){.pid = pid};
	return 0;
}

void watch_remove(struct watch *w, struct watch_process *p)
{
	missed_ended(w, p);
	*p = w->all[--w->count];
}

int watch_choose(struct watch *w, pid_t pid, bool has_children)
{
	w->pid = pid;
	w->has_children = has_children;
	if (watch_add(w, pid))
		return -ENOMEM;
	w->all->files = FILES_NEW;
	return 0;
}

void watch_free(struct watch *w)
{
	reports_close(w->reports);
	agent_close(&w->agent);
	later_free(&w->later);
	free(w->all);
	free(w->waiting);
	*w = (struct watch){0};
}

bool watch_has_agent(const struct watch *w)
{
	return w->agent.fd > 0;
}

/* ---- who waits */

bool watch_waits(const struct watch *w, pid_t pid)
{
	for (size_t i = 0; i < w->waiting_count; i++)
		if (w->waiting[i] == pid)
			return true;
	return false;
}

void watch_wait(struct watch *w, pid_t pid)
{
	if (!watch_waits(w, pid) && !array_grow(w->waiting, w->waiting_count, w->waiting_cap))
		w->waiting[w->waiting_count++] = pid;
}

/* Where nothing is reported, the files of a child are searched from when its agent waits. */
static void search_files(struct watch *w, pid_t pid)
{
	struct watch_process *p = watch_add(w, pid) ? NULL : watch_find(w, pid);

	if (!p || p->files)
		return;
	p->files = FILES_NEW;
	w->images = IMAGES_ALL;
}

void watch_take_waiting(struct watch *w)
{
	for (size_t i = 0; i < w->waiting_count; i++) {
		if (w->polls && w->has_children)
			search_files(w, w->waiting[i]);
		later_waited(&w->later, w->waiting[i]);
	}
}

/* ---- what the kernel reports */

struct watch_reading {
	struct watch *w;
	watch_event_fn *fn;
	void *arg;
};

/* Where looks are made, too, one of them decides: the end may be that of the main thread alone. */
static void end_process(struct watch *w, pid_t pid)
{
	struct watch_process *p = watch_find(w, pid);

	missed_ended(w, p);
	if (!p || pid == w->pid)
		return;
	if (w->is_looked_at && p->state == STATE_FOLLOWED)
		p->state = STATE_REPORTED;
	else
		watch_remove(w, p);
}

/* Did a look find the process before its fork was read? It may have ended by now. */
static bool was_found(const struct watch *w, const struct watch_event *fork)
{
	const struct watch_process *p = watch_find(w, fork->pid);

	return p && p->since >= fork->time;
}

static void take_event(void *arg, const struct watch_event *event)
{
	const struct watch_reading *r = arg;
	struct watch *w = r->w;

	if (event->kind == PROCESS_FORKED && w->has_children && watch_follows(w, event->parent) &&
	    !was_found(w, event))
		watch_add(w, event->pid);
	if (event->kind == PROCESS_MAPPED && w->wants_images && event->inode &&
	    (!w->pid || watch_follows(w, event->pid)))
		later_mapped(&w->later, event);
	if (event->kind == PROCESS_ENDED)
		later_ended(&w->later, event);
	r->fn(r->arg, event);
	if (event->kind == PROCESS_ENDED)
		end_process(w, event->pid);
}

/* ---- reports that were lost */

struct child_search {
	struct watch *w;
	bool found; /* one more, which may have children of its own */
};

static int add_if_child(void *arg, pid_t pid)
{
	struct child_search *search = arg;
	struct watch *w = search->w;

	if (watch_find(w, pid) || !watch_follows(w, (pid_t)process_stat_number(pid, STAT_PARENT)))
		return 0;
	search->found |= !watch_add(w, pid);
	return 0;
}

/* Follow the children of followed processes that were not reported. */
static void search_children(struct watch *w)
{
	struct child_search search = {.w = w};

	do {
		search.found = false;
		if (w->has_children)
			processes_each(add_if_child, &search);
	} while (search.found);
}

/* The report of its end may be among those that were lost. */
static void remove_unseen(struct watch *w)
{
	for (size_t i = w->count; i--;)
		if (w->all[i].state == STATE_UNSEEN)
			watch_remove(w, &w->all[i]);
}

static void tell_lost(const struct watch_reading *r)
{
	const struct watch *w = r->w;
	struct watch_event event = {.kind = PROCESS_UNREPORTED};

	for (size_t i = 0; i < w->count; i++) {
		event.pid = w->all[i].pid;
		if (w->all[i].state == STATE_FOLLOWED)
			r->fn(r->arg, &event);
	}
	event.pid = 0;
	if (!w->pid)
		r->fn(r->arg, &event);
}

uint64_t watch_read(struct watch *w, watch_event_fn *fn, void *arg)
{
	struct watch_reading r = {w, fn, arg};
	struct later *l = &w->later;
	uint64_t lost, now;

	if (!w->reports)
		return 0;
	lost = reports_read(w->reports, take_event, &r);
	if (lost) {
		remove_unseen(w);
		tell_lost(&r);
	}
	l->lost += w->counts_lost ? lost : 0;
	l->is_searching = w->wants_images;
	l->everything |= lost && w->wants_images;
	if (w->images != IMAGES_ALL)
		w->images = l->waiting.count ? IMAGES_WAITING : IMAGES_AT_START;
	/* Records were lost: scan every process, but not all the time, because a process that maps
	 * a lot can cause such losses. */
	now = l->everything ? clock_now() : 0;
	if (!l->everything || now - l->looked_at_all < REST_NS)
		return lost;
	l->looked_at_all = now;
	l->everything = false;
	w->images = IMAGES_ALL;
	search_children(w);
	return lost;
}
