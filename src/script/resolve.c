/* Probe names -> places. Each probe of each clause is looked up through the script_source, and the
 * places found are kept in script order. Looked up again, only what is new is added: a file whose
 * places are known is skipped. */
#include "script/resolve.h"

#include "script/builtins.h"

#include <errno.h>

struct span search_span(const struct search *q)
{
	return script_span(q->s, q->spec->mark);
}

static int too_many(const struct search *q)
{
	diag_error_at(q->d, -E2BIG, "too-many-probes", search_span(q),
		      "too many probes: the limit is %u", q->s->facts.max_probes);
	diag_hint(q->d, "NOPAL_MAX_PROBES=N in the environment raises the limit to N");
	return -E2BIG;
}

/* Add a place with name and function numbered. */
int search_add(struct search *q, struct place place, struct str name, struct str func)
{
	struct place_list *list = q->clause->places;
	struct arena *a = &q->s->arena;
	struct place *copy;

	if (q->s->place_count >= q->s->facts.max_probes)
		return too_many(q);
	if (text_number(q->s, &q->s->names, name, &place.attach.name) ||
	    text_number(q->s, &q->s->names, func, &place.attach.func))
		return -ENOMEM;
	place.script = q->s;
	place.spec = q->spec;
	copy = arena_new(a, struct place);
	if (!copy ||
	    arena_grow(a, (void **)&list->items, list->count, &list->cap, sizeof(*list->items)))
		return -ENOMEM;
	*copy = place;
	list->items[list->count++] = copy;
	q->s->place_count++;
	q->spec->place_count++;
	return 0;
}

/* The places of a file keep it open, so that the same file is attached to that they were read from.
 */
int search_hold(struct search *q, struct file *file)
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
static bool image_is_known(struct search *q, const void *image)
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

/* Timers, BEGIN and END: the place is the text itself. */
static int resolve_bare(struct search *q)
{
	static const enum attach_kind kinds[] = {
		[PROBE_BEGIN] = ATTACH_BEGIN,
		[PROBE_END] = ATTACH_END,
		[PROBE_INTERVAL] = ATTACH_INTERVAL,
		[PROBE_PROFILE] = ATTACH_PROFILE,
	};
	struct place place = {.attach = {.kind = kinds[q->spec->type], .period = q->spec->period}};
	struct str rest = script_span(q->s, q->spec->mark).source;
	struct str name;

	if (q->spec->place_count)
		return 0;
	rest = str_of(rest.ptr + q->spec->mark.at, q->spec->mark.len);
	str_cut(&rest, ':');
	name = arena_printf(&q->s->arena, "%s%s%.*s", probe_type_name(q->spec->type),
			    rest.len ? ":" : "", STR_FMT(rest));
	return name.ptr ? search_add(q, place, name, STR("")) : -ENOMEM;
}

/* Is the file one that processes have mapped? Who maps a file must not end a run over all of them.
 */
static bool is_met(const struct search *q)
{
	return !q->spec->path.len || str_has_wildcard(q->spec->path);
}

static int site_problem(const struct search *q, const struct found_image *image,
			const struct site *site)
{
	const struct probe_spec *spec = q->spec;
	bool is_pattern =
		is_met(q) || str_has_wildcard(spec->name) || str_has_wildcard(spec->provider);
	struct span span = search_span(q);

	if (is_pattern) {
		diag_warn_at(q->d, "bad-site", span,
			     "'%.*s:%.*s' in '%.*s' at 0x%llx is skipped: %s",
			     STR_FMT(site->provider), STR_FMT(site->name), STR_FMT(image->path),
			     (unsigned long long)site->location, site->problem);
		return 0;
	}
	return diag_error_at(q->d, -EINVAL, "bad-site", span,
			     "'%.*s:%.*s' in '%.*s' at 0x%llx cannot be traced: %s",
			     STR_FMT(site->provider), STR_FMT(site->name), STR_FMT(image->path),
			     (unsigned long long)site->location, site->problem);
}

static bool uses_fields(const struct uses *u)
{
	return u->field_count || (u->needs & NEED_ALL_ARGS) || u->floats[0] || u->floats[1];
}

static int add_site(struct search *q, const struct found_image *image, struct site *site)
{
	struct arena *a = &q->s->arena;
	struct str func = STR(""), name;
	int err;
	struct place place = {
		.image = image->sites,
		.attach = {.kind = ATTACH_UPROBE,
			   .path = arena_str(a, image->open_path),
			   .file = image->file,
			   .is_met = is_met(q),
			   .offset = site->offset,
			   .sema_offset = site->sema_offset,
			   .is_static = true,
			   .is_entry = site->is_entry,
			   .arch = image->sites->arch,
			   .operands = site->operands,
			   .operand_count = site->operand_count},
	};

	if (site->problem)
		return site_problem(q, image, site);
	if (uses_fields(q->clause->uses) && q->source->know) {
		err = q->source->know(q->source->self, image, site, q->d);
		if (err)
			return err;
		place.args = site->args;
	}
	if (q->clause->uses->needs & NEED_FUNC)
		func = q->source->function_at(q->source->self, image, site->offset);
	name = arena_printf(a, "usdt:%.*s:%.*s:%.*s", STR_FMT(image->path), STR_FMT(site->provider),
			    STR_FMT(site->name));
	if (!name.ptr || !place.attach.path.ptr)
		return -ENOMEM;
	return search_add(q, place, name, func);
}

static int add_image(void *arg, const struct found_image *image, const size_t *matches,
		     size_t count)
{
	struct search *q = arg;
	int err = 0;

	q->found += count;
	if (image_is_known(q, image->sites))
		return 0;
	err = search_hold(q, image->file);
	for (size_t i = 0; i < count && !err; i++)
		err = add_site(q, image, &image->sites->sites[matches[i]]);
	return err;
}

static int resolve_usdt(struct search *q)
{
	const struct probe_spec *spec = q->spec;
	struct find_query query = {.pid = q->s->options.pid,
				   .path = spec->path,
				   .provider = spec->provider,
				   .name = spec->name,
				   .to_attach = true};
	int got;

	if (!spec->path.len && !query.pid) {
		diag_error_at(q->d, -EINVAL, "no-path", search_span(q),
			      "a probe without a path needs a process");
		diag_hint(q->d, "name the file, usdt:PATH:PROVIDER:NAME, or a process with -p");
		return -EINVAL;
	}
	got = q->source->sites(q->source->run, &query, add_image, q, q->d);
	return got < 0 ? got : 0;
}

static int add_event(void *arg, struct str category, struct str name)
{
	struct search *q = arg;
	struct arena *a = &q->s->arena;
	struct place place = {.attach = {.kind = ATTACH_TRACEPOINT}};
	struct str probe =
		arena_printf(a, "tracepoint:%.*s:%.*s", STR_FMT(category), STR_FMT(name));
	struct trace_event *event;
	int err = 0;

	q->found++;
	if (!probe.ptr)
		return -ENOMEM;
	place.attach.tracepoint = str_of(probe.ptr + 11, probe.len - 11);
	for (size_t i = 0; i < q->clause->places->count; i++) {
		const struct place *known = q->clause->places->items[i];

		if (known->spec == q->spec &&
		    str_eq(known->attach.tracepoint, place.attach.tracepoint))
			return 0;
	}
	if (uses_fields(q->clause->uses)) {
		event = arena_new(a, struct trace_event);
		err = event ? q->source->event(q->source->self, a, category, name, event, q->d)
			    : -ENOMEM;
		place.event = event;
	}
	return err ? err : search_add(q, place, probe, STR(""));
}

static int resolve_events(struct search *q)
{
	int got = q->source->events(q->source->self, q->spec->provider, q->spec->name, add_event, q,
				    q->d);

	return got < 0 ? got : 0;
}

typedef int resolve_fn(struct search *q);

static resolve_fn *const resolvers[] = {
	[PROBE_BEGIN] = resolve_bare,	      [PROBE_END] = resolve_bare,
	[PROBE_INTERVAL] = resolve_bare,      [PROBE_PROFILE] = resolve_bare,
	[PROBE_USDT] = resolve_usdt,	      [PROBE_UPROBE] = resolve_function,
	[PROBE_URETPROBE] = resolve_function, [PROBE_TRACEPOINT] = resolve_events,
};

static int resolve_probe(struct search *q)
{
	unsigned errors = q->d ? q->d->errors : 0;
	int err = resolvers[q->spec->type](q);

	if (err)
		return err;
	if (q->d && q->d->errors > errors)
		return -EINVAL;
	/* A place that no longer exists, or not yet again, is not an error once it was found. */
	if (!q->found && !q->spec->place_count)
		return report_missing(q);
	return 0;
}

static int resolve_clause(struct script *s, const struct script_source *source,
			  struct tree_clause *c, struct diag *d)
{
	int first = 0;

	if (!c->places) {
		c->places = arena_new(&s->arena, struct place_list);
		c->uses = arena_new(&s->arena, struct uses);
		if (!c->places || !c->uses || uses_find(&s->arena, c, c->uses))
			return -ENOMEM;
	}
	for (struct probe_spec *spec = c->probes; spec; spec = spec->next) {
		struct search q = {.s = s, .source = source, .clause = c, .spec = spec, .d = d};
		int err = resolve_probe(&q);

		first = first ? first : err;
		if (err == -ENOMEM || err == -E2BIG)
			return err;
	}
	return first;
}

int resolve_places(struct script *s, const struct script_source *source, struct diag *d)
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
