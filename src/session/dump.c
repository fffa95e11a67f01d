/* Looking at a script without running it: its tree, its program, its BPF code; and the probes a
 * pattern names. */
#include "session/session.h"

#include <errno.h>

#include "base/export.h"

struct lister {
	nopal_list_fn *fn;
	void *arg;
	struct buf text; /* the probe with a NUL behind it */
	int count;
};

static void give(const struct nopal_trace_options *options, struct buf *text)
{
	if (options->output && text->len)
		options->output(options->output_arg, text->ptr, text->len);
	buf_free(text);
}

/* Only the parser runs for a tree: it needs no machine and no privilege. */
static int dump_tree(const char *script, const struct nopal_trace_options *options, struct diag *d)
{
	struct nopal_trace t = {.options = *options, .pid = options->pid};
	struct script_options script_options;
	struct buf text = BUF_INIT;
	int err;

	session_script_options(&t, &script_options);
	if (options->command)
		script_options.pid = 1;
	err = script_parse(str_from(script), &script_options, &t.script, d);
	if (!err)
		script_print_tree(t.script, &text);
	give(options, &text);
	script_free(t.script);
	arena_free(&t.arena);
	return err;
}

static int dump_program(const char *script, const struct nopal_trace_options *options,
			struct diag *d)
{
	struct nopal_trace t = {
		.options = *options, .pid = options->pid, .process_fd = -1, .stop_fd = -1};
	struct buf text = BUF_INIT;
	int err = session_compile(&t, script, d);

	if (!err)
		program_print(t.program, &text);
	give(options, &text);
	child_end(&t.child);
	script_free(t.script);
	finder_free(t.finder);
	image_watch_close(t.watch);
	family_free(&t.family);
	later_free(&t.later);
	arena_free(&t.arena);
	return err;
}

static int dump_bpf(const char *script, const struct nopal_trace_options *options,
		    struct nopal_diag *d)
{
	struct buf text = BUF_INIT;
	struct nopal_trace *t;
	int err = nopal_trace_open(script, options, &t, d);

	if (err)
		return err;
	engine_dump(t->engine, &text);
	give(options, &text);
	nopal_trace_close(t);
	return 0;
}

NOPAL_EXPORT int nopal_trace_dump(const char *script, const struct nopal_trace_options *options,
				  enum nopal_dump what, struct nopal_diag *d)
{
	struct nopal_trace_options own;
	int err = session_take_options(options, &own, diag_inner(d));

	if (err)
		return err;
	switch (what) {
	case NOPAL_DUMP_TREE: err = dump_tree(script, &own, diag_inner(d)); break;
	case NOPAL_DUMP_PROGRAM: err = dump_program(script, &own, diag_inner(d)); break;
	case NOPAL_DUMP_BPF: err = dump_bpf(script, &own, d); break;
	default: err = -EINVAL;
	}
	return diag_ensure(diag_inner(d), err, "show the script");
}

static int list_one(void *arg, struct str probe)
{
	struct lister *l = arg;

	buf_clear(&l->text);
	buf_str(&l->text, probe);
	l->count++;
	return l->text.failed ? -ENOMEM : l->fn(l->arg, l->text.ptr);
}

NOPAL_EXPORT int nopal_trace_list(const char *pattern, const struct nopal_trace_options *options,
				  nopal_list_fn *fn, void *arg, struct nopal_diag *diag)
{
	struct nopal_trace t = {.process_fd = -1, .stop_fd = -1};
	struct lister lister = {.fn = fn, .arg = arg};
	struct diag *d = diag_inner(diag);
	struct script_options script_options;
	int err = session_take_options(options, &t.options, d);

	if (!err)
		err = finder_new(&t.finder);
	if (err)
		return err;
	t.pid = t.options.pid;
	session_script_options(&t, &script_options);
	t.source = script_source_machine(t.finder);
	err = script_list(str_from(pattern), &script_options, &t.source, list_one, &lister, d);
	finder_free(t.finder);
	arena_free(&t.arena);
	buf_free(&lister.text);
	return err < 0 ? diag_ensure(d, err, "list probes") : lister.count;
}

NOPAL_EXPORT int nopal_trace_builtins(nopal_output_fn *fn, void *arg)
{
	struct buf text = BUF_INIT;
	int err;

	script_print_builtins(&text);
	err = text.failed ? -ENOMEM : 0;
	if (!err)
		fn(arg, text.ptr, text.len);
	buf_free(&text);
	return err;
}
