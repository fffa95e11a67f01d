/* Images that come while the run goes on: hearing of them, looking for probes in them, attaching.
 */
#include "session/session.h"

#include <errno.h>
#include <poll.h>

#include "find/process.h"

#define WARNED_IMAGES 20
#define WAIT_NS	      100000000u /* from mapping a file until a process says that it waits */

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
		later_found(&a->t->watch.later, a->pid, image->file->inode, image->sites);
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
	const struct mapped_list *l = &t->watch.later.waiting;
	int total = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct mapped_image *m = &l->items[i];
		struct find_query one = *q;
		int found;

		if (is_repeated(l, i))
			continue;
		if (!is_any(q->path) && !finder_wants(q->path, str_from(m->path)))
			continue;
		one.pid = m->by_path ? 0 : m->pid;
		one.path = m->by_path ? str_from(m->path) : STR("");
		found = one.pid || m->by_path ? ask_finder(t, one, m->inode, fn, arg) : 0;
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

	for (size_t i = 0; i < t->watch.count; i++) {
		struct find_query one = *q;
		int found;

		if (!watch_is_followed(&t->watch.all[i]))
			continue;
		one.pid = process_visible_task(t->watch.all[i].pid);
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
	if (in_later && t->watch.images == IMAGES_WAITING)
		return ask_for_waiting(t, q, fn, arg);
	if (in_later && t->pid && t->watch.count)
		return ask_followed(t, q, fn, arg, d);
	one.pid = q->pid ? process_visible_task(q->pid) : 0;
	return finder_sites(t->finder, &one, fn, arg, d);
}

/* ---- attaching */

/* Without -p and -c, the processes that map the new image matter for stacks from now on. */
static void see_stacks(struct nopal_trace *t, const struct program *p)
{
	session_stack_files(t, p);
	for (size_t i = 0; t->unwind && i < t->watch.later.waiting.count; i++)
		session_see_stacks(t, t->watch.later.waiting.items[i].pid);
}

/* Compile the sites of one new image and attach them, unless the run is over: then they are only
 * counted. *more: there may be another image; `warned`: messages of the engine. */
static int extend_source(struct nopal_trace *t, const struct script_source *source, bool *more,
			 struct diag *d, struct diag *warned)
{
	struct program *program = NULL;
	const void *image = NULL;
	int err = script_extend(t->script, source, &program, &image, d), report;

	engine_note_kind(t->engine, TRACER_WORKS, NULL);
	*more = err || program;
	if (err || !program)
		return err;
	if (t->state < SESSION_OVER) { /* ORDER */
		see_stacks(t, program);
		err = engine_extend(t->engine, program, warned);
	}
	engine_note_kind(t->engine, TRACER_WORKS, NULL);
	session_give_log(t);
	report = report_extend(t->report, program) ?: session_note_program(t, program);
	if (!err && !report) {
		later_armed(&t->watch.later, image, clock_now());
		later_armed_unheard(&t->watch.later, clock_now());
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

/* Report what a pattern of everything leaves out, once. */
static void hand_on_left_out(const struct diag *said, struct diag *d)
{
	for (const struct message *m = said->first; m; m = m->next) {
		if (strcmp(m->tag, "hot-probes"))
			continue;
		diag_warn(d, m->tag, "%.*s", STR_FMT(m->text));
		diag_hint(d, "%.*s", STR_FMT(m->hint));
	}
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
		err = engine_note_kind(t->engine, PROCESS_ENTERED, d);
	t->images_held = false;
	while (t->facts.needs_images && more && !err) {
		err = extend_source(t, source, &more, d, d);
		source = NULL; /* the images are found: now one after the other */
	}
	finder_trim(t->finder);
	return err;
}

int session_extend(struct nopal_trace *t, struct diag *d)
{
	const struct script_source *source = &t->source;
	struct pollfd stop = {.fd = t->stop_fd, .events = POLLIN};
	bool more = true;
	int err = 0;

	later_choose_ways(&t->watch.later);
	/* Each image takes some 20 ms to attach, and there may be many: so ask for a stop between.
	 */
	while (more && err != -ENOMEM && err != -EINTR && poll(&stop, 1, 0) <= 0) {
		struct diag said = DIAG_INIT, warned = DIAG_INIT;

		err = extend_source(t, source, &more, &said, &warned);
		hand_on_left_out(&said, d);
		if (!err)
			hand_on_warnings(t, &warned, d);
		diag_add_all(&said, &warned);
		if (err && err != -EINTR)
			judge_image(t, err, &said, d);
		diag_free(&warned);
		diag_free(&said);
		source = NULL; /* the images are found: now one after the other */
	}
	later_settle(&t->watch.later);
	t->watch.later.unheard_since = 0;
	watch_take_waiting(&t->watch);
	finder_problems(t->finder, d);
	finder_trim(t->finder);
	t->watch.images = IMAGES_AT_START;
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

void session_renew(struct nopal_trace *t, pid_t pid)
{
	engine_note(t->engine, &(struct watch_event){.kind = PROCESS_UNREPORTED, .pid = pid}, NULL);
}

static void take_event(void *arg, const struct watch_event *event)
{
	struct nopal_trace *t = arg;

	if (t->pid ? watch_follows(&t->watch, event->pid) : event->kind != PROCESS_FORKED)
		engine_note(t->engine, event, NULL);
	if (event->kind == PROCESS_UNREPORTED)
		return;
	if (t->facts.uses_stacks)
		note_mapping(t, event);
	session_note_stacks(t, event);
	session_note_lang(t, event);
}

void session_hear(struct nopal_trace *t)
{
	t->watch.waiting_count = 0;
	if (t->state < SESSION_OVER) /* ORDER */
		engine_note_kind(t->engine, TRACER_ASKS, NULL);
	watch_take_waiting(&t->watch);
}

void session_read_watch(struct nopal_trace *t)
{
	uint64_t lost;

	if (t->watch.polls && t->state < SESSION_OVER) /* ORDER */
		watch_poll(&t->watch);
	lost = watch_read(&t->watch, take_event, t);
	later_judge(&t->watch.later, clock_now() - (t->engine->makes_wait ? WAIT_NS : 0));
	if (t->watch.reports)
		session_renew_stacks(t, lost);
}
