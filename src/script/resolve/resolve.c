/* Probe names -> attachments. Each probe of each clause is looked up through the script_source, and
 * the attachments found are kept in script order. Looked up again, only what is new is added: a
 * file whose attachments are known is skipped. */
#include "script/resolve/resolve.h"

#include <ctype.h>
#include <errno.h>

#include "script/parse/counters.h"
#include "script/resolve/probe_search.h"
#include "symbols/demangle.h"

struct span search_span(const struct probe_search *q)
{
	return script_span(q->s, q->spec->mark);
}

bool probe_may_come_later(const struct script *s, const struct probe_spec *p)
{
	bool any = !p->path.len || str_eq_text(p->path, "*");

	return p->type == PROBE_USDT && (any || (s->options.pid && str_has_wildcard(p->path)));
}

/* Does the filter leave out a probe with this name? */
static bool is_filtered(struct probe_search *q, struct str name)
{
	enum probe_type type = q->spec->type;

	if (!q->s->has_filter || type == PROBE_BEGIN || type == PROBE_END)
		return false;
	return regexec(&q->s->filter, name.ptr, 0, NULL, 0) != 0;
}

/* A function has the name that stacks show. */
static int intern_function(struct script *s, struct str name, uint32_t *out)
{
	struct buf plain = BUF_INIT;
	int err;

	demangle(name, s->facts.demangle ? DEMANGLE_WHOLE : DEMANGLE_NOT, &plain);
	err = plain.failed ? -ENOMEM : text_intern(s, &s->names, buf_as_str(&plain), out);
	buf_free(&plain);
	return err;
}

/* Add an attachment, unless the filter leaves it out; its name and function are interned. */
int search_add(struct probe_search *q, struct attachment attachment, struct str name,
	       struct str func)
{
	struct attachment_list *list = q->clause->attachments;
	struct arena *a = &q->s->arena;
	struct attachment *copy;

	q->found = true;
	if (is_filtered(q, name))
		return 0;
	if (q->s->attachment_count >= q->s->facts.max_probes) {
		diag_error_at(q->d, -E2BIG, "too-many-probes", search_span(q),
			      "too many probes: the limit is %u", q->s->facts.max_probes);
		diag_hint(q->d, "NOPAL_MAX_PROBES=N in the environment raises the limit to N");
		return -E2BIG;
	}
	if (text_intern(q->s, &q->s->names, name, &attachment.attach.name) ||
	    intern_function(q->s, func, &attachment.attach.func))
		return -ENOMEM;
	attachment.script = q->s;
	attachment.spec = q->spec;
	copy = arena_new(a, struct attachment);
	if (!copy ||
	    arena_grow(a, (void **)&list->items, list->count, &list->cap, sizeof(*list->items)))
		return -ENOMEM;
	*copy = attachment;
	list->items[list->count++] = copy;
	q->s->attachment_count++;
	q->spec->attachment_count++;
	return 0;
}

int search_hold(struct probe_search *q, struct file *file)
{
	struct script *s = q->s;

	if (!file || (s->file_count && s->files[s->file_count - 1] == file))
		return 0;
	if (arena_grow(&s->arena, (void **)&s->files, s->file_count, &s->file_cap,
		       sizeof(*s->files)))
		return -ENOMEM;
	s->files[s->file_count++] = file_hold(file);
	return 0;
}

/* Remember a file by what it is. True when it was known. */
static bool image_is_known(struct probe_search *q, const void *image)
{
	struct probe_spec *spec = q->spec;

	for (size_t i = 0; i < spec->image_count; i++)
		if (spec->images[i] == image)
			return true;
	if (arena_grow(&q->s->arena, (void **)&spec->images, spec->image_count, &spec->image_cap,
		       sizeof(*spec->images)) == 0)
		spec->images[spec->image_count++] = image;
	return false;
}

/* BEGIN, or begin as newer scripts spell it. */
static const char *bare_name(const struct probe_search *q)
{
	const struct probe_spec *spec = q->spec;
	bool is_lower = islower((unsigned char)q->s->text.ptr[spec->mark.at]);

	if (is_lower && spec->type == PROBE_BEGIN)
		return "begin";
	if (is_lower && spec->type == PROBE_END)
		return "end";
	return probe_type_name(spec->type);
}

/* Timers, counters, BEGIN and END: the attachment is the text itself. */
static int resolve_bare(struct probe_search *q)
{
	static const enum attach_kind kinds[PROBE_TYPES] = {
#define PROBE(type, name, other, brief, also, read, find, kind) ATTACH_##kind,
#include "script/parse/probe_types.h"
#undef PROBE
	};
	const struct probe_spec *spec = q->spec;
	const struct counter *counter = counter_find(spec->type, spec->name);
	struct attachment attachment = {.attach = {.kind = kinds[spec->type],
						   .period = spec->period,
						   .counter_type = counter_perf_type(spec->type),
						   .counter = counter ? counter->config : 0,
						   .offset = spec->offset,
						   .length = spec->length,
						   .mode = spec->mode,
						   .arch = arch_host()}};
	struct str name;

	if (q->spec->attachment_count)
		return 0;
	name = arena_printf(&q->s->arena, "%s%s%.*s", bare_name(q), spec->rest.len ? ":" : "",
			    STR_FMT(spec->rest));
	return name.ptr ? search_add(q, attachment, name, STR("")) : -ENOMEM;
}

/* Is the file one that processes have mapped? Who maps a file must not end a run over all of them.
 */
static bool is_met(const struct probe_search *q)
{
	return !q->spec->path.len || str_has_wildcard(q->spec->path);
}

static int site_problem(const struct probe_search *q, const struct found_image *image,
			const struct site *site)
{
	const struct probe_spec *spec = q->spec;
	bool is_pattern =
		is_met(q) || str_has_wildcard(spec->name) || str_has_wildcard(spec->provider);
	struct str text = arena_printf(
		&q->s->arena, "'%.*s:%.*s' in '%.*s' at 0x%llx %s: %s", STR_FMT(site->provider),
		STR_FMT(site->name), STR_FMT(image->path), (unsigned long long)site->location,
		is_pattern ? "is skipped" : "cannot be traced", site->problem);

	if (!is_pattern)
		return diag_error_at(q->d, -EINVAL, "bad-site", search_span(q), "%.*s",
				     STR_FMT(text));
	diag_warn_at(q->d, "bad-site", search_span(q), "%.*s", STR_FMT(text));
	return 0;
}

bool resolve_uses_fields(const struct uses *u)
{
	return u->field_count || u->has_unknown || (u->needs & NEED_ALL_ARGS) || u->floats[0] ||
	       u->floats[1];
}

static void keep_note(struct probe_search *q, const struct site *site)
{
	struct probe_spec *spec = q->spec;

	if (spec->note.len)
		return;
	spec->note = site_note(site);
	if (spec->note.len)
		spec->noted = arena_printf(&q->s->arena, "%.*s:%.*s", STR_FMT(site->provider),
					   STR_FMT(site->name));
}

static int add_site(struct probe_search *q, const struct found_image *image, struct site *site)
{
	struct arena *a = &q->s->arena;
	struct str func = STR(""), name;
	int err;
	struct attachment attachment = {
		.image = image->sites,
		.attach = {.kind = ATTACH_UPROBE,
			   .path = arena_str(a, image->open_path),
			   .file = image->file,
			   .is_met = is_met(q),
			   .offset = site->offset,
			   .sema_offset = site->sema_offset,
			   .sema_distance = (int64_t)(site->semaphore - site->location),
			   .sema_is_ours = site->sema_is_twice,
			   .is_static = true,
			   .is_hot = site_is_hot(site),
			   .is_entry = site->is_entry,
			   .arch = image->sites->arch,
			   .args = site->args,
			   .arg_count = site->arg_count},
	};

	if (site->problem)
		return site_problem(q, image, site);
	keep_note(q, site);
	if (resolve_uses_fields(q->clause->uses) && q->source->know) {
		err = q->source->know(q->source->self, image, site, q->d);
		if (err)
			return err;
	}
	if (q->clause->uses->needs & NEED_FUNC)
		func = q->source->function_at(q->source->self, image, site->offset);
	name = arena_printf(a, "usdt:%.*s:%.*s:%.*s", STR_FMT(image->path), STR_FMT(site->provider),
			    STR_FMT(site->name));
	if (!name.ptr || !attachment.attach.path.ptr)
		return -ENOMEM;
	return search_add(q, attachment, name, func);
}

/* Programs of other CPUs run in an emulator, where the kernel sees none of their instructions. */
static void judge_arch(const struct probe_search *q, const struct found_image *image)
{
	const struct arch *arch = image->sites->arch, *host = arch_host();

	if (!arch || arch_runs_here(arch))
		return;
	diag_warn_at(q->d, "other-cpu", search_span(q),
		     "'%.*s' is a program for %s: this machine (%s) does not run it, so nothing "
		     "will be seen",
		     STR_FMT(image->path), arch->name, host->name);
}

static bool is_any(struct str pattern)
{
	return !pattern.len || str_eq_text(pattern, "*");
}

/* A pattern of everything may slow every program of the machine down. */
static bool leaves_hot_ones_out(const struct probe_spec *spec)
{
	return is_any(spec->path) && is_any(spec->provider) && is_any(spec->name);
}

static void leave_out(struct probe_search *q, const struct site *site)
{
	if (q->hot_count++)
		return;
	q->hot_provider = arena_str(&q->s->arena, site->provider);
	q->hot_name = arena_str(&q->s->arena, site->name);
}

/* The first one is named. */
static void say_hot_ones(const struct probe_search *q)
{
	unsigned count = q->hot_count;

	if (!count || q->spec->has_left_out)
		return;
	q->spec->has_left_out = true;
	diag_warn_at(q->d, "hot-probes", search_span(q),
		     "%u probe%s that may slow programs down %s left out, for example '%.*s:%.*s'",
		     count, count == 1 ? "" : "s", count == 1 ? "is" : "are",
		     STR_FMT(q->hot_provider), STR_FMT(q->hot_name));
	diag_hint(q->d, "those whose provider is named are traced: usdt:*:%.*s:*",
		  STR_FMT(q->hot_provider));
}

static int add_image(void *arg, const struct found_image *image, const size_t *matches,
		     size_t count)
{
	struct probe_search *q = arg;
	int err = 0;

	q->found |= count > 0;
	if (image_is_known(q, image->sites))
		return 0;
	if (!is_met(q))
		judge_arch(q, image);
	err = search_hold(q, image->file);
	for (size_t i = 0; i < count && !err; i++) {
		struct site *site = &image->sites->sites[matches[i]];

		if (!leaves_hot_ones_out(q->spec) || !site_is_hot(site))
			err = add_site(q, image, site);
		else
			leave_out(q, site);
	}
	return err;
}

static int resolve_usdt(struct probe_search *q)
{
	const struct probe_spec *spec = q->spec;
	struct find_query query = {.pid = q->s->options.pid,
				   .path = spec->path,
				   .provider = spec->provider,
				   .name = spec->name,
				   .to_attach = true};
	int err;

	err = q->source->sites(q->source->run, &query, add_image, q, q->d);
	say_hot_ones(q);
	return err;
}

static int add_event(void *arg, struct str category, struct str name)
{
	struct probe_search *q = arg;
	struct arena *a = &q->s->arena;
	struct attachment attachment = {.attach = {.kind = ATTACH_TRACEPOINT}};
	struct str probe =
		arena_printf(a, "tracepoint:%.*s:%.*s", STR_FMT(category), STR_FMT(name));
	struct trace_event *event;
	int err = 0;

	q->found = true;
	if (!probe.ptr)
		return -ENOMEM;
	attachment.attach.tracepoint = str_of(probe.ptr + 11, probe.len - 11);
	for (size_t i = 0; i < q->clause->attachments->count; i++) {
		const struct attachment *known = q->clause->attachments->items[i];

		if (known->spec == q->spec &&
		    str_eq(known->attach.tracepoint, attachment.attach.tracepoint))
			return 0;
	}
	if (resolve_uses_fields(q->clause->uses)) {
		event = arena_new(a, struct trace_event);
		err = event ? q->source->event(q->source->self, a, category, name, event, q->d)
			    : -ENOMEM;
		attachment.event = event;
	}
	return err ? err : search_add(q, attachment, probe, STR(""));
}

static int resolve_events(struct probe_search *q)
{
	return q->source->events(q->source->self, q->spec->provider, q->spec->name, add_event, q,
				 q->d);
}

typedef int resolve_fn(struct probe_search *q);

static resolve_fn *const resolvers[PROBE_TYPES] = {
#define PROBE(type, name, other, brief, also, read, find, kind) find,
#include "script/parse/probe_types.h"
#undef PROBE
};

static int resolve_probe(struct probe_search *q)
{
	unsigned errors = q->d ? q->d->errors : 0;
	const struct message *last = q->d ? q->d->last : NULL;
	int err = resolvers[q->spec->type](q);

	diag_place(q->d, last, search_span(q));

	if (err < 0) /* the sources return what they found */
		return err;
	if (q->d && q->d->errors > errors)
		return -EINVAL;
	/* An attachment that no longer exists, or not yet again, is not an error once it was found.
	 */
	if (!q->found && !q->spec->attachment_count)
		return report_missing(q);
	return 0;
}

static int resolve_clause(struct script *s, const struct script_source *source,
			  struct tree_clause *c, struct diag *d)
{
	int first = 0;

	if (!c->attachments) {
		c->attachments = arena_new(&s->arena, struct attachment_list);
		c->uses = arena_new(&s->arena, struct uses);
		if (!c->attachments || !c->uses || uses_find(s, c, c->uses))
			return -ENOMEM;
	}
	for (struct probe_spec *spec = c->probes; spec; spec = spec->next) {
		struct probe_search q = {
			.s = s, .source = source, .clause = c, .spec = spec, .d = d};
		int err = resolve_probe(&q);

		first = first ? first : err;
		if (err == -ENOMEM || err == -E2BIG)
			return err;
	}
	return first;
}

int resolve_probes(struct script *s, const struct script_source *source, struct diag *d)
{
	int first = 0;

	for (struct tree_clause *c = s->tree.clauses; c; c = c->next) {
		int err = resolve_clause(s, source, c, d);

		first = first ? first : err;
		if (err == -ENOMEM || err == -E2BIG)
			return err;
	}
	return first;
}
