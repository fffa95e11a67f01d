/* The public face of the module: makes, fills and frees a script. */
#include "script/script.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "headers/headers.h"
#include "script/builtins/function.h"
#include "script/compile.h"
#include "script/parse/parse.h"
#include "script/resolve/attachment.h"
#include "script/resolve/resolve.h"
#include "script/resolve/uses.h"

static bool is_done_at_once(enum probe_type type)
{
	return type == PROBE_BEGIN || type == PROBE_ITER || type == PROBE_TEST ||
	       type == PROBE_BENCH;
}

static bool is_in_any_file(const struct probe_spec *p)
{
	return (p->type == PROBE_UPROBE || p->type == PROBE_URETPROBE) &&
	       str_has_wildcard(p->path) && *p->path.ptr != '/';
}

static bool sees_exec(enum probe_type type)
{
	return type == PROBE_TRACEPOINT || type == PROBE_RAWTRACEPOINT || type == PROBE_KPROBE ||
	       type == PROBE_KRETPROBE || type == PROBE_FENTRY || type == PROBE_FEXIT ||
	       type == PROBE_SOFTWARE || type == PROBE_HARDWARE;
}

/* What the session needs from the script: its kinds of probes and the needs of its builtins. */
static void note_facts(struct script *s)
{
	struct script_facts *f = &s->facts;
	bool begins = false;
	struct uses u;

	f->only_begin_end = true;
	for (const struct tree_clause *c = s->tree.clauses; c; c = c->next) {
		for (const struct probe_spec *p = c->probes; p; p = p->next) {
			f->only_begin_end &= is_done_at_once(p->type) || p->type == PROBE_END;
			f->uses_signal |= p->type == PROBE_SELF;
			begins |= is_done_at_once(p->type);
			f->needs_images |= probe_may_come_later(s, p);
			f->uses_kernel |= sees_exec(p->type);
			f->needs_entry |= is_in_any_file(p);
		}
		if (uses_find(s, c, &u))
			continue;
		f->uses_stacks |= !!(u.needs & NEED_STACKS);
		f->uses_langs |= !!(u.needs & NEED_LANG);
		f->sends_data |= !!(u.needs & NEED_DATA);
	}
	f->only_begin_end &= begins; /* what is only done at the end waits for it */
}

static int take_filter(struct script *s, struct diag *d)
{
	char why[128];
	int err;

	if (!s->options.probe_filter.len)
		return 0;
	err = regcomp(&s->filter, s->options.probe_filter.ptr, REG_EXTENDED | REG_NOSUB);
	s->has_filter = !err;
	if (!err)
		return 0;
	regerror(err, &s->filter, why, sizeof(why));
	return diag_error(d, -EINVAL, "bad-filter",
			  "the probe filter '%.*s' is not a regular expression: %s",
			  STR_FMT(s->options.probe_filter), why);
}

static int fill_script(struct script *s, struct diag *d)
{
	struct parser p = {
		.options = &s->options, .builtins = &script_builtins, .arena = &s->arena, .d = d};
	int err = params_take(s);

	if (!err)
		err = take_filter(s, d);
	if (!err)
		err = imports_take(s, d);
	if (err)
		return err;
	p.parts = s->parts;
	p.part_count = s->part_count;
	p.block_imports = s->block_imports;
	p.block_import_count = s->block_import_count;
	p.lexer = (struct lexer){.text = s->text,
				 .path = s->path,
				 .options = &s->options,
				 .arena = &s->arena,
				 .d = d};
	err = parse_tree(&p, &s->tree);
	if (!err)
		err = params_check(s, d);
	if (!err)
		err = trials_select(s, d);
	if (!err)
		err = config_apply(s, d);
	note_facts(s);
	return err;
}

int script_parse(struct str text, const struct script_options *options, struct script **out,
		 struct diag *d)
{
	struct script *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->text = text;
	s->options = *options;
	s->builtins = &script_builtins;
	s->source = arena_new(&s->arena, struct script_source);
	s->wall_offset = clock_wall_offset();
	s->path = arena_str(&s->arena, options->path);
	err = s->path.ptr && s->source ? fill_script(s, d) : -ENOMEM;
	if (err) {
		script_free(s);
		return err;
	}
	*out = s;
	return 0;
}

int script_resolve(struct script *s, const struct script_source *source, struct diag *d)
{
	int err;

	*s->source = *source;
	err = resolve_probes(s, source, d);

	if (!err && !s->attachment_count && s->has_filter)
		return diag_error(d, -ENOENT, "filtered",
				  "the probe filter '%.*s' matches none of the probes",
				  STR_FMT(s->options.probe_filter));
	if (!err && !s->attachment_count && !s->facts.needs_images)
		return diag_error(d, -ENOENT, "no-places", "none of the probes was found");
	return err;
}

int script_compile(struct script *s, struct program **out, struct diag *d)
{
	return compile_program(s, out, d);
}

/* An attachment that no program has yet. */
static const struct attachment *next_attachment(const struct script *s)
{
	for (const struct tree_clause *c = s->tree.clauses; c; c = c->next)
		for (size_t i = 0; c->attachments && i < c->attachments->count; i++)
			if (!c->attachments->items[i]->is_done)
				return c->attachments->items[i];
	return NULL;
}

/* The attachments of the image that was compiled are not tried again, even when that failed: an
 * image must not keep others from being traced. */
static void give_up_image(struct script *s)
{
	const void *image = s->only->image;

	for (struct tree_clause *c = s->tree.clauses; c; c = c->next)
		for (size_t i = 0; c->attachments && i < c->attachments->count; i++)
			c->attachments->items[i]->is_done |=
				c->attachments->items[i]->image == image;
	s->only = NULL;
}

int script_extend(struct script *s, const struct script_source *source, struct program **out,
		  const void **image, struct diag *d)
{
	int err = source ? resolve_probes(s, source, d) : 0;

	*out = NULL;
	if (err)
		return err;
	s->only = next_attachment(s);
	if (!s->only)
		return 0;
	*image = s->only->image;
	err = compile_program(s, out, d);
	give_up_image(s);
	return err;
}

void script_facts(const struct script *s, struct script_facts *out)
{
	*out = s->facts;
}

void script_set_pid(struct script *s, pid_t pid)
{
	s->options.pid = pid;
}

static unsigned count_files(struct file *const *files, size_t count)
{
	unsigned unique = 0;

	for (size_t i = 0; i < count; i++) {
		size_t k = 0;

		while (k < i &&
		       (files[k]->inode != files[i]->inode || files[k]->device != files[i]->device))
			k++;
		unique += k == i;
	}
	return unique;
}

void script_armed(const struct script *s, struct script_armed *out)
{
	*out = (struct script_armed){.files = s->files, .file_count = s->file_count};
	out->unique_files = count_files(s->files, s->file_count);
	for (const struct tree_clause *c = s->tree.clauses; c; c = c->next) {
		for (const struct probe_spec *spec = c->probes; spec; spec = spec->next) {
			if (spec->type != PROBE_USDT && spec->type != PROBE_UPROBE)
				continue;
			out->sites += (unsigned)spec->attachment_count;
			out->has_condition |= c->predicate && spec->attachment_count;
			out->noted = out->note.len ? out->noted : spec->noted;
			out->note = out->note.len ? out->note : spec->note;
		}
	}
}

static int give_probes(const struct script *s, const struct tree_clause *c,
		       const struct probe_spec *spec, unsigned *sites, script_probe_fn *fn,
		       void *arg)
{
	const struct attachment_list *list = c->attachments;
	int err = 0;

	for (size_t i = 0; i < list->count; i++)
		sites[list->items[i]->attach.name] += list->items[i]->spec == spec;
	for (size_t i = 0; i < list->count; i++) {
		unsigned *count = &sites[list->items[i]->attach.name];

		if (*count && list->items[i]->spec == spec && !err)
			err = fn(arg, s->names.items[list->items[i]->attach.name], *count);
		*count = 0;
	}
	return err;
}

int script_each_probe(const struct script *s, script_probe_fn *fn, void *arg)
{
	unsigned *sites = calloc(s->names.count + 1, sizeof(*sites));
	int err = sites ? 0 : -ENOMEM;

	for (const struct tree_clause *c = s->tree.clauses; c && !err; c = c->next)
		for (const struct probe_spec *p = c->probes; p && c->attachments && !err;
		     p = p->next)
			err = give_probes(s, c, p, sites, fn, arg);
	free(sites);
	return err;
}

static int count_probe(void *arg, struct str name, unsigned sites)
{
	(void)name, (void)sites;
	++*(unsigned *)arg;
	return 0;
}

unsigned script_probe_count(const struct script *s)
{
	unsigned count = 0;

	/* Without memory for the names, the sites. */
	return script_each_probe(s, count_probe, &count) ? s->attachment_count : count;
}

void script_print_tree(const struct script *s, struct buf *out)
{
	tree_print(&s->tree, out);
}

void script_free(struct script *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->file_count; i++)
		file_drop(s->files[i]);
	headers_close(s->headers);
	if (s->has_filter)
		regfree(&s->filter);
	arena_free(&s->arena);
	free(s);
}
