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

static const char *unreadable(void *self, const struct arch *arch, const struct operand *o)
{
	(void)self;
	return engine_unreadable(&engine_bpf, arch, o);
}

static int start_command(struct nopal_trace *t, struct diag *d)
{
	int err = child_start(t->options.command, &t->child, d);

	if (err)
		return err;
	t->pid = t->child.pid;
	t->images_held = t->facts.needs_images && t->facts.uses_tracepoints;
	if (!t->facts.needs_images || t->images_held)
		return 0;
	err = child_exec(&t->child, t->options.command, d);
	return err ? err : child_run_to_entry(&t->child, d);
}

int session_open_watch(struct nopal_trace *t, struct diag *d)
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

/* What is missing in images that are not there yet is said when they are. */
static int resolve(struct nopal_trace *t, struct diag *d)
{
	struct diag said = DIAG_INIT;
	int err = script_resolve(t->script, &t->source, t->images_held ? &said : d);

	if (err && t->images_held)
		diag_add_all(d, &said);
	diag_free(&said);
	return err;
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
	if (!err && !t->images_held)
		err = session_open_watch(t, d);
	if (!err)
		err = finder_new(&t->finder);
	if (err)
		return err;
	finder_stop_on(t->finder, t->stop_fd);
	t->machine = script_source_machine(t->finder);
	t->source = (struct script_source){.self = t,
					   .sites = session_sites,
					   .know = machine_know,
					   .unreadable = unreadable,
					   .functions = machine_functions,
					   .function_at = machine_function_at,
					   .events = machine_events,
					   .event = machine_event};
	err = resolve(t, d);
	finder_problems(t->finder, d);
	return err ? err : script_compile(t->script, &t->program, d);
}
