/* Images that come while the run goes on: hearing of them, looking for probes in them, attaching.
 */
#include "session/session.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/proc.h"
#include "find/process.h"

#define WARNED_IMAGES 20
#define REST_NS	      500000000u /* between two looks at everything */
#define WAIT_NS	      100000000u /* from mapping a file until a process says that it waits */

/* ---- the processes that are followed */

bool pid_set_has(const struct pid_set *f, pid_t pid)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->pids[i] == pid)
			return true;
	return false;
}

int pid_set_add(struct pid_set *f, pid_t pid)
{
	if (pid_set_has(f, pid))
		return 0;
	if (array_grow(f->pids, f->count, f->cap))
		return -ENOMEM;
	f->pids[f->count++] = pid;
	return 0;
}

void pid_set_remove(struct pid_set *f, pid_t pid)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->pids[i] == pid) {
			f->pids[i] = f->pids[--f->count];
			return;
		}
}

void pid_set_free(struct pid_set *f)
{
	free(f->pids);
	*f = (struct pid_set){0};
}

/* ---- where to look */

/* A query's answers on their way to the script; they are noted for what waits to be looked at. */
struct answers {
	struct nopal_trace *t;
	found_fn *fn;
	void *arg;
	pid_t pid;   /* that was asked; 0: a path */
	ino_t inode; /* of the file at the path */
};

static int take_answer(void *arg, const struct found_image *image, const size_t *matches,
		       size_t count)
{
	struct answers *a = arg;

	if (!a->pid && image->file && image->file->inode != a->inode)
		return 0; /* there is another file now */
	if (image->file)
		later_found(&a->t->later, a->pid, image->file->inode, image->sites);
	return a->fn(a->arg, image, matches, count);
}

/* Number found; only being out of memory is an error: processes and files come and go. */
static int ask_finder(struct nopal_trace *t, struct find_query q, ino_t inode, found_fn *fn,
		      void *arg)
{
	struct answers a = {t, fn, arg, q.pid, inode};
	int found;

	q.pid = q.pid ? process_visible_task(q.pid) : 0;
	found = finder_sites(t->finder, &q, take_answer, &a, NULL);
	return found < 0 && found != -ENOMEM ? 0 : found;
}

static bool is_any(struct str path)
{
	return !path.len || str_eq(path, STR("*"));
}

/* Was this image, or this process, asked for before in the list? */
static bool is_repeated(const struct mapped_list *l, size_t at)
{
	const struct mapped_image *m = &l->items[at];

	for (size_t i = 0; i < at; i++)
		if (m->by_path ? l->items[i].by_path && !strcmp(l->items[i].path, m->path)
			       : !l->items[i].by_path && l->items[i].pid == m->pid)
			return true;
	return false;
}

static int ask_for_waiting(struct nopal_trace *t, const struct find_query *q, found_fn *fn,
			   void *arg)
{
	const struct mapped_list *l = &t->later.waiting;
	int total = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct mapped_image *m = &l->items[i];
		struct find_query one = *q;
		int found;

		if (is_repeated(l, i))
			continue;
		if (m->path && !is_any(q->path) && !finder_wants(q->path, str_from(m->path)))
			continue;
		one.pid = m->by_path ? 0 : m->pid;
		one.path = m->by_path ? str_from(m->path) : m->path ? STR("") : q->path;
		found = one.pid || one.path.len ? ask_finder(t, one, m->inode, fn, arg) : 0;
		if (found < 0)
			return found;
		total += found;
	}
	return total;
}

/* All images of the traced processes. Only the first must exist, when it begins. */
static int ask_followed(struct nopal_trace *t, const struct find_query *q, found_fn *fn, void *arg,
			struct diag *d)
{
	int total = 0;

	for (size_t i = 0; i < t->followed.count; i++) {
		struct find_query one = *q;
		int found;

		one.pid = process_visible_task(t->followed.pids[i]);
		found = finder_sites(t->finder, &one, fn, arg, i ? NULL : d);
		if (found < 0 &&
		    ((i == 0 && !t->was_attached) || found == -ENOMEM || found == -EINTR))
			return found;
		total += found > 0 ? found : 0;
	}
	return total;
}

int session_sites(void *self, const struct find_query *q, found_fn *fn, void *arg, struct diag *d)
{
	struct nopal_trace *t = self;
	struct find_query one = *q;
	bool in_later = is_any(q->path) || (t->pid && str_has_wildcard(q->path));

	if (in_later && t->images_held)
		return 0;
	if (in_later && t->images == IMAGES_WAITING)
		return ask_for_waiting(t, q, fn, arg);
	if (in_later && t->pid && t->followed.count)
		return ask_followed(t, q, fn, arg, d);
	one.pid = q->pid ? process_visible_task(q->pid) : 0;
	return finder_sites(t->finder, &one, fn, arg, d);
}

/* ---- attaching */

/* Without -p and -c, the processes that map the new image matter for stacks from now on. */
static void see_stacks(struct nopal_trace *t, const struct program *p)
{
	session_stack_files(t, p);
	for (size_t i = 0; t->unwind && i < t->later.waiting.count; i++)
		session_see_stacks(t, t->later.waiting.items[i].pid);
}

/* Compile the sites of one new image and attach them, unless the run is over: then they are only
 * counted. *more: there may be another image; `warned`: messages of the engine. */
static int extend_source(struct nopal_trace *t, const struct script_source *source, bool *more,
			 struct diag *d, struct diag *warned)
{
	struct program *program = NULL;
	const void *image = NULL;
	int err = script_extend(t->script, source, &program, &image, d), report;

	engine_beat(t->engine);
	*more = err || program;
	if (err || !program)
		return err;
	if (t->state < SESSION_OVER) { /* ORDER */
		see_stacks(t, program);
		err = engine_extend(t->engine, program, warned);
	}
	engine_beat(t->engine);
	session_give_log(t);
	report = report_extend(t->report, program) ?: session_note_program(t, program);
	if (!err && !report) {
		later_armed(&t->later, image, clock_now());
		later_armed_unheard(&t->later, clock_now());
	}
	return report ? report : err;
}

static void say_more_images(const struct nopal_trace *t, struct diag *d)
{
	if (t->warned_images == WARNED_IMAGES)
		diag_warn(d, "more-images",
			  "further images that cannot be traced are not reported");
}

/* An image that cannot be traced does not end the run, and does not keep others from being traced:
 * it is a warning. A process that has ended causes none. The warning that the limit is reached is
 * given once; and the number of warnings is limited, because any user can map any file. */
static void judge_image(struct nopal_trace *t, int err, const struct diag *said, struct diag *d)
{
	bool full = false;

	for (const struct message *m = said->first; m; m = m->next)
		full |= !strcmp(m->tag, "too-many-probes");
	if (err == -ESRCH || (full && t->warned_full))
		return;
	t->warned_full |= full;
	t->warned_images++;
	for (const struct message *m = said->first; m; m = m->next) {
		if (m->level != DIAG_ERROR || t->warned_images > WARNED_IMAGES ||
		    !strcmp(m->tag, "no-process"))
			continue;
		diag_warn(d, m->tag, "in an image that was mapped later: %.*s", STR_FMT(m->text));
		if (m->hint.len)
			diag_hint(d, "%.*s", STR_FMT(m->hint));
	}
	say_more_images(t, d);
}

/* Sites of an image that are left out, while others are traced. */
static void hand_on_warnings(struct nopal_trace *t, const struct diag *warned, struct diag *d)
{
	if (!warned->warnings)
		return;
	t->warned_images++;
	if (t->warned_images <= WARNED_IMAGES)
		diag_add_all(d, warned);
	say_more_images(t, d);
}

int session_attach_command(struct nopal_trace *t, struct diag *d)
{
	const struct script_source *source = &t->source;
	bool more = true;
	int err;

	if (!t->images_held)
		return 0;
	err = child_run_to_entry(&t->child, d);
	if (!err)
		session_open_watch(t, d);
	if (!err)
		err = engine_enter(t->engine, d);
	t->images_held = false;
	while (t->facts.needs_images && more && !err) {
		err = extend_source(t, source, &more, d, d);
		source = NULL; /* the images are found: now one after the other */
	}
	finder_trim(t->finder);
	return err;
}

/* What they have mapped is not armed too late. */
static void forgive_waiters(struct nopal_trace *t)
{
	for (size_t i = 0; i < t->waiters.count; i++)
		later_waited(&t->later, t->waiters.pids[i]);
}

int session_extend(struct nopal_trace *t, struct diag *d)
{
	const struct script_source *source = &t->source;
	struct pollfd stop = {.fd = t->stop_fd, .events = POLLIN};
	bool more = true;
	int err = 0;

	later_choose_ways(&t->later);
	/* Each image takes some 20 ms to attach, and there may be many: so ask for a stop between.
	 */
	while (more && err != -ENOMEM && err != -EINTR && poll(&stop, 1, 0) <= 0) {
		struct diag said = DIAG_INIT, warned = DIAG_INIT;

		err = extend_source(t, source, &more, &said, &warned);
		if (!err)
			hand_on_warnings(t, &warned, d);
		diag_add_all(&said, &warned);
		if (err && err != -EINTR)
			judge_image(t, err, &said, d);
		diag_free(&warned);
		diag_free(&said);
		source = NULL; /* the images are found: now one after the other */
	}
	later_settle(&t->later);
	t->later.unheard_since = 0;
	forgive_waiters(t);
	finder_problems(t->finder, d);
	finder_trim(t->finder);
	t->images = IMAGES_AT_START;
	return err == -ENOMEM ? err : 0;
}

/* ---- hearing of them */

static void note_mapping(struct nopal_trace *t, const struct watch_event *event)
{
	const struct symbols_mapping mapping = {
		.start = event->start,
		.length = event->len,
		.offset = event->offset,
		.major = event->major,
		.minor = event->minor,
		.inode = event->inode,
		.path = event->path,
	};

	if (event->kind == PROCESS_MAPPED)
		symbols_map(t->symbols, event->pid, &mapping);
	else if (event->kind == PROCESS_FORKED)
		symbols_fork(t->symbols, event->parent, event->pid);
}

/* A child of a process we follow, and what it has done before we heard of it. */
static void join_child(struct nopal_trace *t, pid_t pid, uint64_t time)
{
	pid_t child;

	if (pid_set_add(&t->followed, pid))
		return;
	engine_note(t->engine,
		    &(struct watch_event){.kind = PROCESS_FORKED, .pid = pid, .time = time});
	if (later_has_mapped(&t->later, pid, time))
		later_joined(&t->later, pid, time);
	while ((child = later_find_child(&t->later, pid, time)))
		join_child(t, child, time);
}

static void tell_engine(struct nopal_trace *t, const struct watch_event *event)
{
	if (event->kind != PROCESS_FORKED && (!t->pid || pid_set_has(&t->followed, event->pid)))
		engine_note(t->engine, event);
}

void session_renew(struct nopal_trace *t, pid_t pid)
{
	const struct watch_event news = {.kind = PROCESS_UNREPORTED, .pid = pid};

	engine_note(t->engine, &news);
}

static void note_event(void *arg, const struct watch_event *event)
{
	struct nopal_trace *t = arg;

	tell_engine(t, event);
	switch (event->kind) {
	case PROCESS_FORKED:
		if (!t->pid || !t->options.follow)
			break;
		if (pid_set_has(&t->followed, event->parent))
			join_child(t, event->pid, event->time);
		else
			later_untraced(&t->later, event->pid, event->parent, event->time);
		break;
	case PROCESS_MAPPED:
		if (!t->facts.needs_images || !event->inode)
			break;
		if (!t->pid || pid_set_has(&t->followed, event->pid))
			later_mapped(&t->later, event);
		else if (t->options.follow)
			later_untraced(&t->later, event->pid, 0, event->time);
		break;
	case PROCESS_EXEC:
	case PROCESS_UNREPORTED: break;
	case PROCESS_ENDED:
		later_ended(&t->later, event);
		if (event->pid != t->pid)
			pid_set_remove(&t->followed, event->pid);
		break;
	}
	if (t->facts.uses_stacks)
		note_mapping(t, event);
	session_note_stacks(t, event);
	session_note_lang(t, event);
}

/* Follow the children of followed processes that were not heard of. */
struct child_search {
	struct nopal_trace *t;
	bool found; /* one more, which may have children of its own */
};

static int join_if_child(void *arg, pid_t pid)
{
	struct child_search *search = arg;
	struct nopal_trace *t = search->t;
	struct process_state state;

	if (!pid_set_has(&t->followed, pid) && !process_state_read(pid, &state) &&
	    pid_set_has(&t->followed, state.parent)) {
		pid_set_add(&t->followed, pid);
		search->found = true;
	}
	return 0;
}

static void note_waiter(void *arg, pid_t pid)
{
	struct nopal_trace *t = arg;

	pid_set_add(&t->waiters, pid);
}

void session_hear(struct nopal_trace *t)
{
	t->waiters.count = 0;
	if (t->state < SESSION_OVER) /* ORDER */
		engine_hear(t->engine, note_waiter, t);
	if (t->polls_maps)
		session_poll_waiters(t);
	forgive_waiters(t);
}

void session_read_watch(struct nopal_trace *t)
{
	struct child_search search = {.t = t};
	uint64_t lost, now;

	if (t->polls_maps && t->state < SESSION_OVER) /* ORDER */
		session_poll_maps(t);
	lost = t->watch ? reports_read(t->watch, note_event, t) : 0;
	later_judge(&t->later, clock_now() - (t->engine->ops->hear ? WAIT_NS : 0));
	if (!t->watch)
		return;
	session_renew_stacks(t, lost);
	for (size_t i = 0; lost && i < t->followed.count; i++)
		session_renew(t, t->followed.pids[i]);
	if (lost && !t->pid)
		session_renew(t, 0);
	t->later.lost += t->facts.needs_images || session_may_use_native(t) ? lost : 0;
	t->later.is_searching = t->facts.needs_images;
	t->later.everything |= lost && t->facts.needs_images;
	if (t->images != IMAGES_ALL)
		t->images = t->later.waiting.count ? IMAGES_WAITING : IMAGES_AT_START;
	/* Records were lost: scan every process, but not all the time, because a process that maps
	 * a lot can cause such losses. */
	now = t->later.everything ? clock_now() : 0;
	if (!t->later.everything || now - t->later.looked_at_all < REST_NS)
		return;
	t->later.looked_at_all = now;
	t->later.everything = false;
	t->images = IMAGES_ALL;
	do {
		search.found = false;
		if (t->pid && t->options.follow)
			processes_each(join_if_child, &search);
	} while (search.found);
}
