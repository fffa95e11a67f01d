/* From text to a loaded program: parse, start the command, resolve, compile, build. */
#include "session/session.h"

#include <errno.h>

#include "find/process.h"

void session_script_options(struct nopal_trace *t, struct script_options *out)
{
	const struct nopal_trace_options *o = &t->options;
	struct str *params = arena_array(&t->arena, struct str, o->param_count + 1);

	for (size_t i = 0; params && i < o->param_count; i++)
		params[i] = arena_str(&t->arena, str_from(o->params[i]));
	*out = (struct script_options){
		.path = o->name ? arena_str(&t->arena, str_from(o->name)) : STR("script"),
		.params = params,
		.param_count = params ? (unsigned)o->param_count : 0,
		.pid = t->pid,
		.unsafe = o->unsafe,
	};
}

/* Ask for the images of each of `pids`. Only the first must exist: others may have come
 * and gone. */
static int each_process(struct nopal_trace *t, const struct family *pids,
			const struct find_query *q, found_fn *fn, void *arg, struct diag *d)
{
	int total = 0;

	for (size_t i = 0; i < pids->count; i++) {
		struct find_query one = *q;
		int found;

		one.pid = process_visible_task(pids->pids[i]);
		found = t->machine.sites(t->machine.self, &one, fn, arg, i || !t->pid ? NULL : d);
		if (found < 0 && ((i == 0 && t->pid) || found == -ENOMEM))
			return found;
		total += found > 0 ? found : 0;
	}
	return total;
}

/* A query for the images of the traced process is one for its whole family; a later one for those
 * of every process needs to look only at processes that have mapped something new. */
static int session_sites(void *self, const struct find_query *q, found_fn *fn, void *arg,
			 struct diag *d)
{
	struct nopal_trace *t = self;
	struct find_query one = *q;
	bool all_images = !q->path.len || str_eq(q->path, STR("*"));

	if (t->pid && all_images && t->family.count)
		return each_process(t, &t->family, q, fn, arg, d);
	if (!t->pid && all_images && t->changed.count)
		return each_process(t, &t->changed, q, fn, arg, d);
	one.pid = q->pid ? process_visible_task(q->pid) : 0;
	return t->machine.sites(t->machine.self, &one, fn, arg, d);
}

static int machine_functions(void *self, const struct find_query *q, function_fn *fn, void *arg,
			     struct diag *d)
{
	struct nopal_trace *t = self;
	struct find_query one = *q;

	one.pid = q->pid ? process_visible_task(q->pid) : 0;
	return t->machine.functions(t->machine.self, &one, fn, arg, d);
}

static struct str machine_function_at(void *self, const struct found_image *image, uint64_t offset)
{
	struct nopal_trace *t = self;

	return t->machine.function_at(t->machine.self, image, offset);
}

static int machine_events(void *self, struct str category, struct str name, trace_event_fn *fn,
			  void *arg, struct diag *d)
{
	struct nopal_trace *t = self;

	return t->machine.events(t->machine.self, category, name, fn, arg, d);
}

static int machine_know(void *self, const struct found_image *image, const struct site *site,
			struct arena *a, struct known_site *out, struct diag *d)
{
	struct nopal_trace *t = self;

	return t->machine.know(t->machine.self, image, site, a, out, d);
}

static int machine_event(void *self, struct arena *a, struct str category, struct str name,
			 struct trace_event *out, struct diag *d)
{
	struct nopal_trace *t = self;

	return t->machine.event(t->machine.self, a, category, name, out, d);
}

#define WARNED_IMAGES 20

static int start_command(struct nopal_trace *t, struct diag *d)
{
	int err = child_start(t->options.command, &t->child, d);

	if (err)
		return err;
	t->pid = t->child.pid;
	if (!t->facts.needs_images)
		return 0;
	err = child_exec(&t->child, t->options.command, d);
	return err ? err : child_run_to_entry(&t->child, d);
}

/* Later images matter when a probe may be in any of them; all mappings matter when stacks will be
 * named. */
static int open_watch(struct nopal_trace *t, struct diag *d)
{
	bool wanted = t->facts.uses_stacks || t->facts.needs_images;
	int err;

	if (!wanted)
		return 0;
	err = image_watch_open(t->facts.needs_images, &t->watch, NULL);
	if (err && t->facts.needs_images)
		diag_warn(d, "watch-failed", "cannot watch for images that are mapped later: %s",
			  strerror(-err));
	return 0;
}

int session_compile(struct nopal_trace *t, const char *text, struct diag *d)
{
	struct script_options options;
	struct str copy = arena_str(&t->arena, str_from(text));
	int err;

	if (!copy.ptr)
		return -ENOMEM;
	session_script_options(t, &options);
	/* The command has no pid yet; any will do to say that there is a process. */
	if (t->options.command)
		options.pid = 1;
	err = script_parse(copy, &options, &t->script, d);
	if (err)
		return err;
	script_facts(t->script, &t->facts);
	err = t->options.command ? start_command(t, d) : 0;
	if (!err && t->options.command)
		script_set_pid(t->script, t->pid);
	if (!err && t->pid)
		err = family_add(&t->family, t->pid);
	if (!err)
		err = open_watch(t, d);
	if (!err)
		err = finder_new(&t->finder);
	if (err)
		return err;
	t->machine = script_source_machine(t->finder);
	t->source = (struct script_source){.self = t,
					   .sites = session_sites,
					   .know = machine_know,
					   .functions = machine_functions,
					   .function_at = machine_function_at,
					   .events = machine_events,
					   .event = machine_event};
	err = script_resolve(t->script, &t->source, d);
	return err ? err : script_compile(t->script, &t->program, d);
}

/* Attach the places of one new image; *more tells whether there may be another. */
static int extend(struct nopal_trace *t, const struct script_source *source, bool *more,
		  struct diag *d)
{
	struct program *program = NULL;
	int err = script_extend(t->script, source, &program, d), report;

	*more = err || program;
	if (err || !program)
		return err;
	err = t->ops->extend(t->engine, program, d);
	report = report_extend(t->report, program);
	return report ? report : err;
}

static bool says(const struct diag *d, const char *tag)
{
	const struct message *m = d->first;

	while (m && strcmp(m->tag, tag) != 0)
		m = m->next;
	return m;
}

static void warn_later(const struct diag *later, struct diag *d)
{
	for (const struct message *m = later->first; m; m = m->next) {
		if (m->level != DIAG_ERROR)
			continue;
		diag_warn(d, m->tag, "in an image that was mapped later: %.*s", STR_FMT(m->text));
		if (m->hint.len)
			diag_hint(d, "%.*s", STR_FMT(m->hint));
	}
}

/* An image that cannot be traced does not end the run, and does not keep others from being traced:
 * it is a warning. A process that is gone by now is none. That there is room for no more images is
 * told once; and there are only so many warnings, since anybody may map what he likes. */
static void judge_image(struct nopal_trace *t, int err, const struct diag *said, struct diag *d)
{
	bool full = says(said, "too-many-probes");

	if (err == -ESRCH || (full && t->told_full))
		return;
	t->told_full |= full;
	if (++t->warned_images <= WARNED_IMAGES)
		warn_later(said, d);
	if (t->warned_images == WARNED_IMAGES)
		diag_warn(d, "more-images", "further images that cannot be traced are not named");
}

int session_extend(struct nopal_trace *t, struct diag *d)
{
	const struct script_source *source = &t->source;
	bool more = true;
	int err = 0;

	while (more && err != -ENOMEM) {
		struct diag later = DIAG_INIT;

		err = extend(t, source, &more, &later);
		if (err)
			judge_image(t, err, &later, d);
		diag_free(&later);
		source = NULL; /* the images are found: now one after the other */
	}
	finder_trim(t->finder);
	t->images_changed = false;
	t->changed.count = 0;
	return err == -ENOMEM ? err : 0;
}

static void note_mapping(struct nopal_trace *t, const struct image_event *event)
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

	if (event->kind == IMAGE_MAPPED)
		symbols_map(t->symbols, event->pid, &mapping);
	else if (event->kind == IMAGE_FORK)
		symbols_fork(t->symbols, event->parent, event->pid);
}

static void note_event(void *arg, const struct image_event *event)
{
	struct nopal_trace *t = arg;
	bool ours = !t->pid || family_has(&t->family, event->pid);

	switch (event->kind) {
	case IMAGE_FORK:
		if (t->options.follow && family_has(&t->family, event->parent))
			family_add(&t->family, event->pid);
		break;
	case IMAGE_EXIT:
		if (event->pid != t->pid)
			family_remove(&t->family, event->pid);
		break;
	case IMAGE_MAPPED:
		if (ours && t->facts.needs_images && event->inode && seen_add(&t->seen, event)) {
			t->images_changed = true;
			family_add(&t->changed, event->pid);
		}
		break;
	}
	if (t->facts.uses_stacks)
		note_mapping(t, event);
}

void session_read_watch(struct nopal_trace *t)
{
	if (!t->watch || !image_watch_read(t->watch, note_event, t))
		return;
	t->changed.count = 0; /* events were lost: everybody may have */
	t->images_changed = t->facts.needs_images;
}
