/* Probe names -> attachments. Each probe of each clause is looked up through the script_source, and
 * the attachments found are kept in script order. Looked up again, only what is new is added: a
 * file whose attachments are known is skipped. */
#include "script/inside.h"

#include <errno.h>

#define STACK_ARGUMENTS 8 /* of a function, after those in registers */

struct span search_span(const struct search *q)
{
	return script_span(q->s, q->spec->mark);
}

/* Add an attachment; its name and function are interned. */
int search_add(struct search *q, struct attachment attachment, struct str name, struct str func)
{
	struct attachment_list *list = q->clause->attachments;
	struct arena *a = &q->s->arena;
	struct attachment *copy;

	if (q->s->attachment_count >= q->s->facts.max_probes) {
		diag_error_at(q->d, -E2BIG, "too-many-probes", search_span(q),
			      "too many probes: the limit is %u", q->s->facts.max_probes);
		diag_hint(q->d, "NOPAL_MAX_PROBES=N in the environment raises the limit to N");
		return -E2BIG;
	}
	if (text_intern(q->s, &q->s->names, name, &attachment.attach.name) ||
	    text_intern(q->s, &q->s->names, func, &attachment.attach.func))
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

/* The attachments of a file keep it open, so that the same file is attached to that they were read
 * from. */
static int search_hold(struct search *q, struct file *file)
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

/* Timers, counters, BEGIN and END: the attachment is the text itself. */
static int resolve_bare(struct search *q)
{
	/* clang-format off */
	static const enum attach_kind kinds[] = {
		[PROBE_BEGIN]      = ATTACH_BEGIN,
		[PROBE_END]        = ATTACH_END,
		[PROBE_INTERVAL]   = ATTACH_INTERVAL,
		[PROBE_PROFILE]    = ATTACH_PROFILE,
		[PROBE_SOFTWARE]   = ATTACH_COUNTER,
		[PROBE_HARDWARE]   = ATTACH_COUNTER,
		[PROBE_WATCHPOINT] = ATTACH_WATCHPOINT,
		[PROBE_SELF]       = ATTACH_SIGNAL,
	};
	/* clang-format on */
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
	name = arena_printf(&q->s->arena, "%s%s%.*s", probe_type_name(spec->type),
			    spec->rest.len ? ":" : "", STR_FMT(spec->rest));
	return name.ptr ? search_add(q, attachment, name, STR("")) : -ENOMEM;
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

static bool uses_fields(const struct uses *u)
{
	return u->field_count || u->has_unknown || (u->needs & NEED_ALL_ARGS) || u->floats[0] ||
	       u->floats[1];
}

static void keep_note(struct search *q, const struct site *site)
{
	struct probe_spec *spec = q->spec;

	if (spec->note.len)
		return;
	spec->note = site_note(site);
	if (spec->note.len)
		spec->noted = arena_printf(&q->s->arena, "%.*s:%.*s", STR_FMT(site->provider),
					   STR_FMT(site->name));
}

static int add_site(struct search *q, const struct found_image *image, struct site *site)
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
			   .is_static = true,
			   .is_entry = site->is_entry,
			   .arch = image->sites->arch,
			   .args = site->args,
			   .arg_count = site->arg_count},
	};

	if (site->problem)
		return site_problem(q, image, site);
	keep_note(q, site);
	if (uses_fields(q->clause->uses) && q->source->know) {
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
static void judge_arch(const struct search *q, const struct found_image *image)
{
	const struct arch *arch = image->sites->arch, *host = arch_host();

	if (!arch || arch_runs_here(arch))
		return;
	diag_warn_at(q->d, "other-cpu", search_span(q),
		     "'%.*s' is a program for %s: this machine (%s) does not run it, so nothing "
		     "will be seen",
		     STR_FMT(image->path), arch->name, host->name);
}

static int add_image(void *arg, const struct found_image *image, const size_t *matches,
		     size_t count)
{
	struct search *q = arg;
	int err = 0;

	q->found += count; /* known ones, too: the probe is not missing */
	if (image_is_known(q, image->sites))
		return 0;
	if (!is_met(q))
		judge_arch(q, image);
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

	return q->source->sites(q->source->run, &query, add_image, q, q->d);
}

/* Integer arguments of a function, as its calling convention has them at its first instruction. */
static struct argument *call_args(struct arena *a, const struct arch *arch, unsigned *count)
{
	unsigned most = arch->call_reg_count + STACK_ARGUMENTS;
	struct operand list[OPERANDS_MAX];
	struct argument *args;
	unsigned n = 0;

	for (; n < most && operand_call_arg(arch, n, &list[n]); n++) {
		struct operand *o = &list[n];

		o->raw = o->kind == OPERAND_REG ? str_from(arch_reg_name(arch, o->reg))
						: STR("stack");
	}
	args = arguments_new(a, list, n);
	*count = args ? n : 0;
	return args;
}

/* The 4 of f+4. */
static uint64_t added(const struct search *q)
{
	return q->spec->has_address ? 0 : q->spec->offset;
}

/* file.c:12, and with a column file.c:12:3. */
static struct str line_text(const struct search *q, unsigned line)
{
	const struct probe_spec *s = q->spec;
	struct arena *a = &q->s->arena;

	return s->column ? arena_printf(a, "%.*s:%u:%u", STR_FMT(s->source), line, s->column)
			 : arena_printf(a, "%.*s:%u", STR_FMT(s->source), line);
}

static struct str function_probe_name(const struct search *q, const struct found_function *f,
				      uint64_t plus)
{
	struct arena *a = &q->s->arena;
	const char *type = probe_type_name(q->spec->type);

	if (q->spec->line)
		return arena_printf(a, "%s:%.*s@%.*s", type, STR_FMT(f->path),
				    STR_FMT(line_text(q, q->spec->line)));
	if (q->spec->has_address)
		return arena_printf(a, "%s:%.*s:0x%llx", type, STR_FMT(f->path),
				    (unsigned long long)q->spec->offset);
	if (plus)
		return arena_printf(a, "%s:%.*s:%.*s+%llu", type, STR_FMT(f->path),
				    STR_FMT(f->name), (unsigned long long)plus);
	return arena_printf(a, "%s:%.*s:%.*s", type, STR_FMT(f->path), STR_FMT(f->name));
}

/* Is there an attachment of this probe at this offset of this file? */
static bool has_attachment(const struct search *q, struct str path, uint64_t offset)
{
	const struct attachment_list *list = q->clause->attachments;

	for (size_t i = 0; i < list->count; i++)
		if (list->items[i]->spec == q->spec && list->items[i]->attach.offset == offset &&
		    str_eq(list->items[i]->attach.path, path))
			return true;
	return false;
}

/* After the end of its function, or in none, the start of instructions is unknown. False: the
 * attachment is skipped, with a message. */
static bool check_extent(const struct search *q, const struct found_function *f)
{
	static const char tag[] = "outside-function";
	bool is_entry =
		!q->spec->has_address && !q->spec->offset && !q->spec->line && !f->is_inlined;
	bool is_pattern = str_has_wildcard(q->spec->name), unsafe = q->s->options.unsafe;
	unsigned long long offset = q->spec->line || f->is_inlined ? f->address : q->spec->offset;
	struct str text;

	if (is_entry || (f->extent && f->offset - f->start + added(q) < f->extent))
		return true;
	if (f->extent)
		text = arena_printf(
			&q->s->arena, "'%.*s' of '%.*s' has %llu bytes: +%llu is after its end",
			STR_FMT(f->name), STR_FMT(f->path), (unsigned long long)f->extent, offset);
	else
		text = arena_printf(&q->s->arena,
				    "0x%llx of '%.*s' is not in a function that has a symbol",
				    offset, STR_FMT(f->path));
	if (unsafe || is_pattern) {
		diag_warn_at(q->d, tag, search_span(q), "%.*s%s", STR_FMT(text),
			     unsafe ? "" : "; it is skipped");
		return unsafe;
	}
	diag_error_at(q->d, -EINVAL, tag, search_span(q), "%.*s", STR_FMT(text));
	diag_hint(q->d,
		  "it is not known where instructions start there; --unsafe probes it anyway");
	return false;
}

/* The names and types of a function's parameters and of its result, where the clause uses them. */
static int add_types(struct search *q, const struct found_function *f, struct attachment *at)
{
	const struct uses *u = q->clause->uses;
	bool is_return = q->spec->type == PROBE_URETPROBE;
	struct argument *args = (struct argument *)at->attach.args; /* made by call_args() */
	struct function_types types;
	int err;

	if (!f->arch || at->attach.into || f->is_inlined || !q->source->function_types ||
	    !(is_return ? (u->needs & NEED_RESULT) : uses_fields(u)))
		return 0;
	err = q->source->function_types(q->source->self, f, &types, q->d);
	if (err)
		return err == -ENOENT ? 0 : err;
	at->result = types.params.type->to;
	at->numbered = at->attach.arg_count;
	if (is_return)
		return 0;
	err = function_arguments(&q->s->arena, f->arch, &types.params, &args, &at->attach.arg_count,
				 &at->params, &at->param_count);
	at->attach.args = args;
	return err;
}

static int add_function(void *arg, const struct found_function *f)
{
	struct search *q = arg;
	struct arena *a = &q->s->arena;
	uint64_t plus = added(q);
	struct str name = function_probe_name(q, f, plus);
	struct attachment attachment = {
		.attach = {.kind = q->spec->type == PROBE_URETPROBE ? ATTACH_URETPROBE
								    : ATTACH_UPROBE,
			   .path = arena_str(a, f->open_path),
			   .file = f->file,
			   .offset = f->offset + plus,
			   .into = f->extent ? f->offset - f->start + plus : 0,
			   .is_forced = q->s->options.unsafe,
			   .arch = f->arch},
	};
	int err;

	q->found++;
	if (f->is_inlined && q->spec->type == PROBE_URETPROBE)
		return diag_error_at(
			q->d, -EINVAL, "inlined", search_span(q),
			"'%.*s' does not return: the compiler put it into other functions",
			STR_FMT(f->name));
	if (has_attachment(q, f->open_path, attachment.attach.offset))
		return 0;
	if (!check_extent(q, f))
		return 0;
	/* Where the ABI has arguments at the function's first instruction; further in, only its
	 * code says where they are. */
	if (q->spec->line && f->line != q->spec->line && !q->spec->attachment_count)
		diag_warn_at(q->d, "other-line", search_span(q),
			     "'%.*s' has no code: '%.*s' is probed",
			     STR_FMT(line_text(q, q->spec->line)), STR_FMT(line_text(q, f->line)));
	if (q->spec->type == PROBE_UPROBE && f->arch && !f->is_inlined)
		attachment.attach.args = call_args(a, f->arch, &attachment.attach.arg_count);
	if (!name.ptr || !attachment.attach.path.ptr || search_hold(q, f->file))
		return -ENOMEM;
	err = add_types(q, f, &attachment);
	return err ? err : search_add(q, attachment, name, f->name);
}

/* The name in a query: a pattern, or uprobe:PATH:0x1234, the instruction at a link-time address. */
static int resolve_function(struct search *q)
{
	const struct probe_spec *spec = q->spec;
	struct find_query query = {.pid = q->s->options.pid,
				   .path = spec->path,
				   .name = spec->name,
				   .to_attach = true,
				   .source = spec->source,
				   .line = spec->line,
				   .column = spec->column};

	if (spec->has_address)
		query.name = arena_printf(&q->s->arena, "0x%llx", (unsigned long long)spec->offset);
	if (!query.name.ptr)
		return -ENOMEM;
	return q->source->functions(q->source->run, &query, add_function, q, q->d);
}

static int add_event(void *arg, struct str category, struct str name)
{
	struct search *q = arg;
	struct arena *a = &q->s->arena;
	struct attachment attachment = {.attach = {.kind = ATTACH_TRACEPOINT}};
	struct str probe =
		arena_printf(a, "tracepoint:%.*s:%.*s", STR_FMT(category), STR_FMT(name));
	struct trace_event *event;
	int err = 0;

	q->found++;
	if (!probe.ptr)
		return -ENOMEM;
	attachment.attach.tracepoint = str_of(probe.ptr + 11, probe.len - 11);
	for (size_t i = 0; i < q->clause->attachments->count; i++) {
		const struct attachment *known = q->clause->attachments->items[i];

		if (known->spec == q->spec &&
		    str_eq(known->attach.tracepoint, attachment.attach.tracepoint))
			return 0;
	}
	if (uses_fields(q->clause->uses)) {
		event = arena_new(a, struct trace_event);
		err = event ? q->source->event(q->source->self, a, category, name, event, q->d)
			    : -ENOMEM;
		attachment.event = event;
	}
	return err ? err : search_add(q, attachment, probe, STR(""));
}

static int resolve_events(struct search *q)
{
	return q->source->events(q->source->self, q->spec->provider, q->spec->name, add_event, q,
				 q->d);
}

typedef int resolve_fn(struct search *q);

/* clang-format off */
static resolve_fn *const resolvers[] = {
	[PROBE_BEGIN]      = resolve_bare,            [PROBE_END]           = resolve_bare,
	[PROBE_INTERVAL]   = resolve_bare,            [PROBE_PROFILE]       = resolve_bare,
	[PROBE_USDT]       = resolve_usdt,            [PROBE_UPROBE]        = resolve_function,
	[PROBE_URETPROBE]  = resolve_function,        [PROBE_TRACEPOINT]    = resolve_events,
	[PROBE_SOFTWARE]   = resolve_bare,            [PROBE_HARDWARE]      = resolve_bare,
	[PROBE_WATCHPOINT] = resolve_bare,            [PROBE_RAWTRACEPOINT] = resolve_raw,
	[PROBE_SELF]       = resolve_bare,            [PROBE_KPROBE]        = resolve_kernel_function,
	[PROBE_KRETPROBE]  = resolve_kernel_function, [PROBE_FENTRY]        = resolve_kernel_function,
	[PROBE_FEXIT]      = resolve_kernel_function, [PROBE_ITER]          = resolve_iter,
};
/* clang-format on */

static int resolve_probe(struct search *q)
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
		if (!c->attachments || !c->uses || uses_find(&s->arena, c, c->uses))
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
