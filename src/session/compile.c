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

static int session_functions(void *self, const struct find_query *q, function_fn *fn, void *arg,
			     struct diag *d)
{
	struct nopal_trace *t = self;
	struct find_query one = *q;

	one.pid = q->pid ? process_visible_task(q->pid) : 0;
	return finder_functions(t->finder, &one, fn, arg, d);
}

static const char *unreadable(void *self, const struct arch *arch, const struct operand *o)
{
	struct nopal_trace *t = self;

	return engines_unreadable(&t->engines, arch, o);
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

/* What is missing in later images is reported when they are mapped. */
static int resolve(struct nopal_trace *t, struct diag *d)
{
	struct diag said = DIAG_INIT;
	int err = script_resolve(t->script, &t->source, t->images_held ? &said : d);

	if (err && t->images_held)
		diag_add_all(d, &said);
	diag_free(&said);
	return err;
}

int session_parse(struct nopal_trace *t, const char *text, struct diag *d)
{
	struct script_options options;
	struct str copy = arena_str(&t->arena, str_from(text));

	if (!copy.ptr)
		return -ENOMEM;
	session_script_options(t, &options);
	/* The command has no pid yet; any will do to say that there is a process. */
	if (t->options.command)
		options.pid = 1;
	return script_parse(copy, &options, &t->script, d);
}

int session_compile(struct nopal_trace *t, const char *text, struct diag *d)
{
	int err = session_parse(t, text, d);

	if (err)
		return err;
	script_facts(t->script, &t->facts);
	err = t->options.command ? start_command(t, d) : 0;
	if (!err && t->options.command)
		script_set_pid(t->script, t->pid);
	if (!err && t->pid)
		err = pid_set_add(&t->followed, t->pid);
	if (!err && !t->images_held)
		err = session_open_watch(t, d);
	if (!err)
		err = finder_new(&t->finder);
	if (err)
		return err;
	finder_stop_on(t->finder, t->stop_fd);
	t->source = script_source_machine(t->finder);
	t->source.run = t;
	t->source.sites = session_sites;
	t->source.functions = session_functions;
	t->source.unreadable = unreadable;
	err = resolve(t, d);
	finder_problems(t->finder, d);
	return err ? err : script_compile(t->script, &t->program, d);
}
