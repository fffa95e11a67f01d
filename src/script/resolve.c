/* Probe names -> places. Each probe of each clause is looked up through the script_source, and the
 * places found are kept in script order. Looked up again, only what was not there before is added:
 * a file whose places are known is passed over. */
#include <errno.h>

#include "script/inside.h"

#define STACK_ARGUMENTS 8 /* of a function, behind those in registers */

/* One probe being looked up. */
struct search {
	struct script *s;
	const struct script_source *source;
	struct tree_clause *clause;
	struct probe_spec *spec;
	struct diag *d;
	size_t found; /* places, known ones included */
	/* For "did you mean". */
	struct str guess;
	unsigned nearest;
	size_t seen; /* probes of other names */
};

static struct span spec_span(const struct search *q)
{
	return script_span(q->s, q->spec->mark);
}

static int too_many(const struct search *q)
{
	diag_error_at(q->d, -E2BIG, "too-many-probes", spec_span(q),
		      "this makes more than %u probes", q->s->facts.max_probes);
	diag_hint(q->d, "NOPAL_MAX_PROBES=N in the environment allows N of them");
	return -E2BIG;
}

/* Add a place with name and function numbered. */
static int add_place(struct search *q, struct place place, struct str name, struct str func)
{
	struct place_list *list = q->clause->places;
	struct arena *a = &q->s->arena;
	struct place *copy;

	if (q->s->place_count >= q->s->facts.max_probes)
		return too_many(q);
	if (text_number(q->s, &q->s->names, name, &place.attach.name) ||
	    text_number(q->s, &q->s->names, func, &place.attach.func))
		return -ENOMEM;
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
	return name.ptr ? add_place(q, place, name, STR("")) : -ENOMEM;
}

static int site_problem(const struct search *q, const struct found_image *image,
			const struct site *site)
{
	bool is_pattern = str_has_wildcard(q->spec->name) || str_has_wildcard(q->spec->provider);
	struct span span = spec_span(q);

	if (is_pattern) {
		diag_warn_at(q->d, "bad-site", span,
			     "'%.*s:%.*s' in '%.*s' at 0x%llx is left out: %s",
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
	return u->field_count || u->whole;
}

static int know_site(struct search *q, const struct found_image *image, const struct site *site,
		     const struct known_site **out)
{
	struct arena *a = &q->s->arena;
	struct known_site *known;

	if (!q->source->know)
		return 0;
	*out = known = arena_new(a, struct known_site);
	return known ? q->source->know(q->source->self, image, site, a, known, q->d) : -ENOMEM;
}

static int add_site(struct search *q, const struct found_image *image, const struct site *site)
{
	struct arena *a = &q->s->arena;
	struct str func = STR(""), name;
	int err;
	struct place place = {
		.attach = {.kind = ATTACH_UPROBE,
			   .path = arena_str(a, image->open_path),
			   .offset = site->offset,
			   .sema_offset = site->sema_offset,
			   .is_entry = site->is_entry,
			   .arch = image->sites->arch,
			   .operands = site->operands,
			   .operand_count = site->operand_count},
	};

	if (site->problem)
		return site_problem(q, image, site);
	if (uses_fields(q->clause->uses)) {
		err = know_site(q, image, site, &place.known);
		if (err)
			return err;
	}
	if (q->clause->uses->func)
		func = q->source->function_at(q->source->self, image, site->offset);
	name = arena_printf(a, "usdt:%.*s:%.*s:%.*s", STR_FMT(image->path), STR_FMT(site->provider),
			    STR_FMT(site->name));
	if (!name.ptr || !place.attach.path.ptr)
		return -ENOMEM;
	return add_place(q, place, name, func);
}

static int add_image(void *arg, const struct found_image *image, const size_t *matches,
		     size_t count)
{
	struct search *q = arg;
	int err = 0;

	q->found += count;
	if (image_is_known(q, image->sites))
		return 0;
	for (size_t i = 0; i < count && !err; i++)
		err = add_site(q, image, &image->sites->sites[matches[i]]);
	return err;
}

/* Keep the name that is nearest to the one asked for. */
static void consider(struct search *q, struct str name, struct str wanted)
{
	unsigned limit =
		wanted.len / 2 + 1 < q->nearest ? (unsigned)wanted.len / 2 + 1 : q->nearest;
	unsigned distance = str_distance(name, wanted, limit);

	if (str_has_wildcard(wanted) || distance >= limit)
		return;
	q->nearest = distance;
	q->guess = arena_str(&q->s->arena, name);
}

/* Of two names, one of which is not as asked for, consider that one. */
static void consider_pair(struct search *q, struct str group, struct str name)
{
	const struct probe_spec *spec = q->spec;
	bool has_group = !spec->provider.len || str_match(spec->provider, group);

	q->seen++;
	if (has_group)
		consider(q, name, spec->name);
	else if (str_match(spec->name, name))
		consider(q, group, spec->provider);
}

static int look_at_image(void *arg, const struct found_image *image, const size_t *matches,
			 size_t count)
{
	struct search *q = arg;

	for (size_t i = 0; i < count; i++) {
		const struct site *site = &image->sites->sites[matches[i]];

		consider_pair(q, site->provider, site->name);
	}
	return 0;
}

static int look_at_function(void *arg, const struct found_function *f)
{
	struct search *q = arg;

	q->seen++;
	consider(q, f->name, q->spec->name);
	return 0;
}

static int look_at_event(void *arg, struct str category, struct str name)
{
	struct search *q = arg;

	consider_pair(q, category, name);
	return 0;
}

/* What else is there, where the probe was looked for? Messages of this second look are dropped. */
static void look_around(struct search *q)
{
	const struct script_source *source = q->source;
	struct find_query all = {.pid = q->s->options.pid, .path = q->spec->path};

	q->nearest = 5;
	switch (q->spec->type) {
	case PROBE_USDT:
		if (!str_has_wildcard(q->spec->path))
			source->sites(source->self, &all, look_at_image, q, NULL);
		break;
	case PROBE_UPROBE:
	case PROBE_URETPROBE:
		if (!str_has_wildcard(q->spec->path))
			source->functions(source->self, q->s->options.pid, q->spec->path, STR("*"),
					  look_at_function, q, NULL);
		break;
	case PROBE_TRACEPOINT:
		source->events(source->self, STR("*"), STR("*"), look_at_event, q, NULL);
		break;
	default: break;
	}
}

/* A probe that may be in any image is watched for: it may come with a library or a process that is
 * not there yet. */
static bool may_come_later(const struct probe_spec *spec)
{
	return spec->type == PROBE_USDT && (!spec->path.len || str_eq_text(spec->path, "*"));
}

static void hint_missing(struct search *q)
{
	if (q->guess.len) {
		diag_hint(q->d, "did you mean '%.*s'?", STR_FMT(q->guess));
		return;
	}
	if (may_come_later(q->spec)) {
		diag_hint(q->d, "it is watched for in images that are mapped later");
		return;
	}
	if (q->spec->type == PROBE_USDT && q->seen)
		diag_hint(q->d, "nopal list shows the %zu probes of '%.*s'", q->seen,
			  STR_FMT(q->spec->path));
	else if (q->spec->type == PROBE_USDT && !q->s->options.pid && !q->spec->path.len)
		diag_hint(q->d, "nopal list -a shows the probes of all processes");
}

/* What was looked for, where, in words. */
static struct str describe_missing(const struct search *q)
{
	const struct probe_spec *spec = q->spec;
	struct arena *a = &q->s->arena;
	struct str text = str_of(q->s->text.ptr + spec->mark.at, spec->mark.len);
	bool is_pattern = str_has_wildcard(spec->name) || str_has_wildcard(spec->provider);
	const char *what = is_pattern ? "no probe matches" : "there is no probe";

	if (spec->type == PROBE_TRACEPOINT)
		return arena_printf(a, "%s '%.*s': looked at %zu events of tracefs", what,
				    STR_FMT(text), q->seen);
	if (spec->type != PROBE_USDT)
		return arena_printf(a, "%s '%.*s': looked at %zu functions", what, STR_FMT(text),
				    q->seen);
	if (!spec->path.len)
		return arena_printf(a, "%s '%.*s': looked at the files of process %d", what,
				    STR_FMT(text), (int)q->s->options.pid);
	if (str_eq_text(spec->path, "*"))
		return arena_printf(a, "%s '%.*s': looked at the files of %s", what, STR_FMT(text),
				    q->s->options.pid ? "the process" : "every process");
	if (str_has_wildcard(spec->path))
		return arena_printf(a, "%s '%.*s': looked at the files that match '%.*s'", what,
				    STR_FMT(text), STR_FMT(spec->path));
	if (!q->seen)
		return arena_printf(a, "%s '%.*s': '%.*s' has no probes", what, STR_FMT(text),
				    STR_FMT(spec->path));
	return arena_printf(a, "%s '%.*s': '%.*s' has %zu others", what, STR_FMT(text),
			    STR_FMT(spec->path), q->seen);
}

static int report_missing(struct search *q)
{
	bool is_warning = q->s->options.missing_probes == MISSING_WARN || may_come_later(q->spec);
	struct str text;

	if (q->s->options.missing_probes == MISSING_IGNORE)
		return 0;
	look_around(q);
	text = describe_missing(q);
	if (is_warning)
		diag_warn_at(q->d, "missing-probe", spec_span(q), "%.*s", STR_FMT(text));
	else
		diag_error_at(q->d, -ENOENT, "missing-probe", spec_span(q), "%.*s", STR_FMT(text));
	hint_missing(q);
	return is_warning ? 0 : -ENOENT;
}

static int resolve_usdt(struct search *q)
{
	const struct probe_spec *spec = q->spec;
	struct find_query query = {q->s->options.pid, spec->path, spec->provider, spec->name};
	int got;

	if (!spec->path.len && !query.pid) {
		diag_error_at(q->d, -EINVAL, "no-path", spec_span(q),
			      "a probe without a path needs a process");
		diag_hint(q->d, "name the file, usdt:PATH:PROVIDER:NAME, or a process with -p");
		return -EINVAL;
	}
	got = q->source->sites(q->source->self, &query, add_image, q, q->d);
	return got < 0 ? got : 0;
}

/* Where the tracing host keeps a register. */
static int16_t saved_at(const struct arch *arch, uint8_t id)
{
	for (size_t i = 0; i < arch->reg_count; i++)
		if (arch->regs[i].id == id && arch->regs[i].size == arch->word)
			return arch->regs[i].saved_at;
	return REG_NOT_SAVED;
}

static struct operand register_argument(const struct arch *arch, uint8_t id)
{
	return (struct operand){
		.kind = OPERAND_REG,
		.size = arch->word,
		.reg = id,
		.base = REG_NONE,
		.index = REG_NONE,
		.reg_at = saved_at(arch, id),
		.raw = str_from(arch_reg_name(arch, id)),
	};
}

static struct operand stack_argument(const struct arch *arch, unsigned n)
{
	return (struct operand){
		.kind = OPERAND_MEM,
		.size = arch->word,
		.reg = REG_NONE,
		.base = arch->sp,
		.index = REG_NONE,
		.base_at = saved_at(arch, arch->sp),
		.value = arch->call_stack + (int64_t)n * arch->word,
		.raw = STR("stack"),
	};
}

/* Integer arguments of a function, as its calling convention has them at its first instruction. */
static struct operand *call_operands(struct arena *a, const struct arch *arch, unsigned *count)
{
	unsigned in_regs = arch->call_reg_count;
	unsigned all = in_regs + (arch->call_stack >= 0 ? STACK_ARGUMENTS : 0);
	struct operand *o = arena_array(a, struct operand, all + 1u);

	for (unsigned n = 0; o && n < all; n++)
		o[n] = n < in_regs ? register_argument(arch, arch->call_regs[n])
				   : stack_argument(arch, n - in_regs);
	*count = o ? all : 0;
	return o;
}

static struct str function_probe_name(const struct search *q, const struct found_function *f,
				      uint64_t plus)
{
	struct arena *a = &q->s->arena;
	const char *type = probe_type_name(q->spec->type);

	if (!f->name.len)
		return arena_printf(a, "%s:%.*s:0x%llx", type, STR_FMT(f->path),
				    (unsigned long long)f->offset);
	if (plus)
		return arena_printf(a, "%s:%.*s:%.*s+%llu", type, STR_FMT(f->path),
				    STR_FMT(f->name), (unsigned long long)plus);
	return arena_printf(a, "%s:%.*s:%.*s", type, STR_FMT(f->path), STR_FMT(f->name));
}

/* Is there a place of this probe at this offset of this file? */
static bool has_place(const struct search *q, struct str path, uint64_t offset)
{
	const struct place_list *list = q->clause->places;

	for (size_t i = 0; i < list->count; i++)
		if (list->items[i]->spec == q->spec && list->items[i]->attach.offset == offset &&
		    str_eq(list->items[i]->attach.path, path))
			return true;
	return false;
}

static int add_function(void *arg, const struct found_function *f)
{
	struct search *q = arg;
	struct arena *a = &q->s->arena;
	uint64_t plus = q->spec->has_address ? 0 : q->spec->offset;
	struct str name = function_probe_name(q, f, plus);
	struct place place = {
		.attach = {.kind = q->spec->type == PROBE_URETPROBE ? ATTACH_URETPROBE
								    : ATTACH_UPROBE,
			   .path = arena_str(a, f->open_path),
			   .offset = f->offset + plus,
			   .arch = f->arch},
	};

	q->found++;
	if (has_place(q, f->open_path, place.attach.offset))
		return 0;
	/* Arguments are where the ABI says only at the function's first instruction. */
	if (q->spec->type == PROBE_UPROBE && f->arch)
		place.attach.operands = call_operands(a, f->arch, &place.attach.operand_count);
	if (!name.ptr || !place.attach.path.ptr)
		return -ENOMEM;
	return add_place(q, place, name, f->name);
}

/* The file of uprobe:PATH:0x1234, by any function in it. */
struct file {
	struct arena *arena;
	struct found_function function;
	bool found;
};

static int take_file(void *arg, const struct found_function *f)
{
	struct file *file = arg;

	file->function = (struct found_function){.path = arena_str(file->arena, f->path),
						 .open_path = arena_str(file->arena, f->open_path),
						 .arch = f->arch};
	file->found = true;
	return 1;
}

static int resolve_address(struct search *q)
{
	struct file file = {.arena = &q->s->arena};
	int err;

	q->source->functions(q->source->self, q->s->options.pid, q->spec->path, STR("*"), take_file,
			     &file, NULL);
	if (!file.found)
		file.function = (struct found_function){
			.path = q->spec->path, .open_path = q->spec->path, .arch = arch_host()};
	file.function.offset = q->spec->offset;
	err = add_function(q, &file.function);
	return err;
}

static int resolve_function(struct search *q)
{
	int got;

	if (q->spec->has_address)
		return resolve_address(q);
	got = q->source->functions(q->source->self, q->s->options.pid, q->spec->path, q->spec->name,
				   add_function, q, q->d);
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
	return err ? err : add_place(q, place, probe, STR(""));
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
	/* A place that is there no more, or not yet again, is no error once it was found. */
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
