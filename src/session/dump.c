/* Looking at a script without running it: its tree, its program, its BPF code; and the probes a
 * pattern names. */
#include "session/session.h"

#include <errno.h>

#include "base/export.h"

struct lister {
	nopal_list_fn *fn;
	void *arg;
	struct buf text; /* the probe with a NUL after it */
	int count;
};

static int print_stage(struct nopal_trace *t, const char *script, enum nopal_dump what,
		       struct buf *out, struct diag *d)
{
	int err = -EINVAL;

	switch (what) {
	case NOPAL_DUMP_TREE:
		err = session_parse(t, script, d);
		if (!err)
			script_print_tree(t->script, out);
		break;
	case NOPAL_DUMP_PROGRAM:
		err = session_compile(t, script, d);
		if (!err)
			program_print(t->program, out);
		break;
	case NOPAL_DUMP_BPF:
		err = session_open(t, script, d);
		if (!err)
			engine_dump(t->engine, out);
		break;
	}
	return err;
}

NOPAL_EXPORT int nopal_trace_dump(const char *script, const struct nopal_trace_options *options,
				  enum nopal_dump what, struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);
	struct nopal_trace *t = NULL;
	int err = session_new(options, &t, d);

	if (!err) {
		err = print_stage(t, script, what, &t->out, d);
		session_flush(t);
	}
	nopal_trace_close(t);
	return diag_ensure(d, err, "show the script");
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
	struct lister lister = {.fn = fn, .arg = arg};
	struct diag *d = diag_inner(diag);
	struct script_options script_options;
	struct nopal_trace *t = NULL;
	int err = session_new(options, &t, d);

	if (!err)
		err = finder_new(&t->finder);
	if (!err) {
		session_script_options(t, &script_options);
		t->source = script_source_machine(t->finder);
		err = script_list(str_from(pattern), &script_options, &t->source, list_one, &lister,
				  d);
	}
	nopal_trace_close(t);
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
