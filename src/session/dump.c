/* What can be looked at: a script's tree, program and BPF code without a run; the probes that a
 * pattern names; the maps of a run. */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/export.h"

struct list_report {
	nopal_list_fn *fn;
	void *arg;
	struct buf text; /* the probe with a NUL after it */
	int count;
};

NOPAL_EXPORT int nopal_trace_dump(const char *script, const struct nopal_trace_options *options,
				  enum nopal_dump what, struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);
	struct nopal_trace *t = NULL;
	int err = session_new(options, &t, d);

	if (!err)
		err = what == NOPAL_DUMP_TREE	   ? session_parse(t, script, d)
		      : what == NOPAL_DUMP_PROGRAM ? session_compile(t, script, d)
		      : what == NOPAL_DUMP_BPF	   ? session_open(t, script, d)
						   : -EINVAL;
	if (!err && what == NOPAL_DUMP_TREE)
		script_print_tree(t->script, &t->out);
	if (!err && what == NOPAL_DUMP_PROGRAM)
		program_print(t->program, &t->out);
	if (!err && what == NOPAL_DUMP_BPF)
		engine_dump(t->engine, &t->out);
	if (t)
		session_flush(t);
	nopal_trace_close(t);
	return diag_ensure(d, err, "show the script");
}

/* The tree of a text must not change by being formatted. */
static int check_same(const struct script *s, struct str formatted,
		      const struct script_options *options, struct diag *d)
{
	struct buf before = BUF_INIT, after = BUF_INIT;
	struct script *again = NULL;
	int err = script_parse(formatted, options, &again, NULL);

	script_print_tree(s, &before);
	if (!err)
		script_print_tree(again, &after);
	if (err || !str_eq(buf_as_str(&before), buf_as_str(&after)))
		err = diag_error(d, -EINVAL, "format",
				 "cannot format the script: the result would have another meaning");
	script_free(again);
	buf_free(&before);
	buf_free(&after);
	return err;
}

NOPAL_EXPORT int nopal_trace_format(const char *script, const struct nopal_trace_options *options,
				    struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);
	struct script_options script_options;
	struct nopal_trace *t = NULL;
	int err = session_new(options, &t, d);

	if (!err)
		t->options.trial = "*";
	if (!err)
		err = session_parse(t, script, d);
	if (!err)
		err = script_format(t->script, &t->out);
	if (!err) {
		session_script_options(t, &script_options);
		err = check_same(t->script, buf_as_str(&t->out), &script_options, d);
	}
	if (!err)
		session_flush(t);
	nopal_trace_close(t);
	return diag_ensure(d, err, "format the script");
}

struct check_report {
	nopal_check_fn *fn;
	void *arg;
	struct buf name; /* with a NUL after it */
};

static int give_probe(void *arg, struct str name, unsigned sites)
{
	struct check_report *c = arg;

	buf_clear(&c->name);
	buf_str(&c->name, name);
	return c->name.failed ? -ENOMEM : c->fn(c->arg, c->name.ptr, sites);
}

NOPAL_EXPORT int nopal_trace_check(const char *script, const struct nopal_trace_options *options,
				   nopal_check_fn *fn, void *arg, struct nopal_diag *diag)
{
	struct check_report checker = {.fn = fn, .arg = arg};
	struct diag *d = diag_inner(diag);
	struct nopal_trace *t = NULL;
	int err = session_new(options, &t, d);

	if (!err && !t->options.trial)
		t->options.trial = "*";
	if (!err)
		err = session_compile(t, script, d);
	if (!err)
		err = script_each_probe(t->script, give_probe, &checker);
	buf_free(&checker.name);
	nopal_trace_close(t);
	return diag_ensure(d, err, "check the script");
}

static int list_one(void *arg, struct str probe)
{
	struct list_report *l = arg;

	buf_clear(&l->text);
	buf_str(&l->text, probe);
	l->count++;
	return l->text.failed ? -ENOMEM : l->fn(l->arg, l->text.ptr);
}

NOPAL_EXPORT int nopal_trace_list(const char *pattern, const struct nopal_trace_options *options,
				  nopal_list_fn *fn, void *arg, struct nopal_diag *diag)
{
	struct list_report lister = {.fn = fn, .arg = arg};
	struct diag *d = diag_inner(diag);
	struct script_options script_options;
	struct nopal_trace *t = NULL;
	int err = session_new(options, &t, d);

	if (!err)
		err = finder_new(&t->finder);
	if (!err) {
		session_script_options(t, &script_options);
		t->source = script_source_machine(t->finder);
		err = script_list(str_from(pattern), &script_options, t->options.verbose,
				  &t->source, list_one, &lister, d);
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

/* ---- maps */

struct reader {
	nopal_map_fn *fn;
	void *arg;
	struct buf key, text; /* with a NUL after them */
	const char **parts;   /* of the key */
	size_t part_room;
};

static int split_parts(struct reader *r, const struct report_entry *from)
{
	const char *at = from->parts;

	if (array_reserve(r->parts, r->part_room, (size_t)from->part_count + 1))
		return -ENOMEM;
	for (unsigned i = 0; i < from->part_count; i++, at += strlen(at) + 1)
		r->parts[i] = at;
	return 0;
}

static int give_entry(void *arg, const struct report_entry *from)
{
	struct reader *r = arg;
	struct nopal_map_entry entry = {.number = from->number, .is_number = from->is_number};
	const struct value *value = from->value;
	struct nopal_histogram histogram;

	buf_clear(&r->key);
	buf_clear(&r->text);
	buf_str(&r->key, from->key);
	buf_str(&r->text, from->text);
	if (r->key.failed || r->text.failed || split_parts(r, from))
		return -ENOMEM;
	entry.parts = r->parts;
	entry.part_count = from->part_count;
	entry.adds_up = value->type->kind == TYPE_COUNT || value->type->kind == TYPE_SUM;
	entry.key = r->key.ptr;
	entry.text = r->text.ptr;
	/* The copy that is printed from is aligned: it is of an arena. */
	if (value->type->kind == TYPE_HIST || value->type->kind == TYPE_LHIST) {
		histogram = (struct nopal_histogram){*value->type,
						     (uint64_t *)(uintptr_t)value->bytes.ptr};
		entry.histogram = &histogram;
	}
	return r->fn(r->arg, &entry);
}

/* A map's name without its '@'; that of the one without a name is "". */
static struct str bare_name(struct str name)
{
	return name.len && *name.ptr == '@' ? str_of(name.ptr + 1, name.len - 1) : name;
}

NOPAL_EXPORT int nopal_trace_map(struct nopal_trace *t, const char *name, nopal_map_fn *fn,
				 void *arg, struct nopal_diag *d)
{
	struct reader reader = {.fn = fn, .arg = arg};
	struct str wanted = bare_name(str_from(name));
	uint32_t map = 0;
	int err;

	while (map < t->program->map_count &&
	       !str_eq(bare_name(t->program->maps[map].name), wanted))
		map++;
	if (map == t->program->map_count)
		return diag_error(diag_inner(d), -ENOENT, "unknown-map",
				  "the script has no map '%s'", name);
	err = report_entries(t->report, session_maps(t), map, give_entry, &reader);
	buf_free(&reader.key);
	buf_free(&reader.text);
	free(reader.parts);
	return err;
}

NOPAL_EXPORT const char *nopal_trace_map_name(const struct nopal_trace *t, unsigned index)
{
	return index < t->program->map_count ? t->program->maps[index].name.ptr : NULL;
}
