/* Probes that are not there: whether that is an error, what was looked at, and what was probably
 * meant. */
#include <errno.h>

#include "script/resolve/probe_search.h"
#include "script/resolve/resolve.h"

/* Keep the name that is nearest to the one asked for. */
static void consider_name(struct probe_search *q, struct str name, struct str wanted)
{
	if (str_has_wildcard(wanted) ||
	    str_distance(name, wanted, q->guess.nearest) > wanted.len / 2)
		return;
	if (guess_offer(&q->guess, wanted, name))
		q->guess.best = arena_str(&q->s->arena, name);
}

/* Of two names, one of which is not as asked for, consider that one. */
static void consider_pair(struct probe_search *q, struct str group, struct str name)
{
	const struct probe_spec *spec = q->spec;
	bool has_group = !spec->provider.len || str_match(spec->provider, group);

	q->seen++;
	q->seen_group |= has_group;
	if (has_group)
		consider_name(q, name, spec->name);
	else if (str_match(spec->name, name))
		consider_name(q, group, spec->provider);
}

static int look_at_image(void *arg, const struct found_image *image, const size_t *matches,
			 size_t count)
{
	struct probe_search *q = arg;

	for (size_t i = 0; i < count; i++) {
		const struct site *site = &image->sites->sites[matches[i]];

		consider_pair(q, site->provider, site->name);
	}
	return 0;
}

static int look_at_function(void *arg, const struct found_function *f)
{
	struct probe_search *q = arg;

	q->seen++;
	consider_name(q, q->spec->is_demangled ? f->plain : f->name, q->spec->name);
	return 0;
}

static int look_at_raw(void *arg, struct str name, const struct ctype *function)
{
	struct probe_search *q = arg;

	(void)function;
	q->seen++;
	consider_name(q, name, q->spec->name);
	return 0;
}

static int look_at_kernel_function(void *arg, const struct kernel_function *f)
{
	return look_at_raw(arg, f->name, NULL);
}

static int look_at_iter(void *arg, enum ctype_kind kind, struct str name)
{
	(void)kind;
	return look_at_raw(arg,
			   str_of(name.ptr + strlen(ITER_CONTEXT), name.len - strlen(ITER_CONTEXT)),
			   NULL);
}

static int look_at_event(void *arg, struct str category, struct str name)
{
	struct probe_search *q = arg;

	consider_pair(q, category, name);
	return 0;
}

/* What else is there, where the probe was looked for? Messages of this second look are dropped. */
static void look_around(struct probe_search *q)
{
	const struct script_source *source = q->source;
	struct find_query all = {.pid = q->s->options.pid, .path = q->spec->path};
	struct find_query functions = {.pid = all.pid,
				       .path = all.path,
				       .name = STR("*"),
				       .is_demangled = q->spec->is_demangled};

	q->guess.nearest = 5;
	switch (q->spec->type) {
	case PROBE_USDT:
		if (!str_has_wildcard(q->spec->path) || str_eq_text(q->spec->path, "*"))
			source->sites(source->run, &all, look_at_image, q, NULL);
		break;
	case PROBE_UPROBE:
	case PROBE_URETPROBE:
		if (!str_has_wildcard(q->spec->path))
			source->functions(source->run, &functions, look_at_function, q, NULL);
		break;
	case PROBE_TRACEPOINT:
		source->events(source->self, STR("*"), STR("*"), look_at_event, q, NULL);
		break;
	case PROBE_KPROBE:
	case PROBE_KRETPROBE:
	case PROBE_FENTRY:
	case PROBE_FEXIT:
		if (source->kernel_functions)
			source->kernel_functions(source->self, STR("*"), look_at_kernel_function, q,
						 NULL);
		break;
	case PROBE_ITER:
		if (source->types)
			source->types(source->self, CTYPE_STRUCT, STR(ITER_CONTEXT "*"),
				      look_at_iter, q, NULL);
		break;
	case PROBE_RAWTRACEPOINT:
		if (source->raw_events)
			source->raw_events(source->self, STR("*"), look_at_raw, q, NULL);
		break;
	default: break;
	}
}

/* The program has none, but a library that it is linked with has: an interpreter is often one. */
static bool hint_library(struct probe_search *q)
{
	const struct script_source *source = q->source;
	struct str path = q->spec->path, library;
	size_t count = 0;

	if (q->spec->type != PROBE_USDT || q->seen || !path.len || str_has_wildcard(path) ||
	    !source->library)
		return false;
	library = source->library(source->self, path, &q->s->arena, &count);
	if (!count)
		return false;
	diag_hint(q->d, "it is linked with '%.*s', which has %zu probe%s", STR_FMT(library), count,
		  count == 1 ? "" : "s");
	return true;
}

/* The program calls the function, and a library has it. */
static bool hint_function_library(struct probe_search *q)
{
	const struct probe_spec *spec = q->spec;
	const struct script_source *source = q->source;
	bool is_one_file = spec->path.len && !str_has_wildcard(spec->path);
	struct str library = STR("");

	if ((spec->type == PROBE_UPROBE || spec->type == PROBE_URETPROBE) && is_one_file &&
	    !str_has_wildcard(spec->name) && source->function_library)
		library = source->function_library(source->self, spec->path, spec->name,
						   &q->s->arena);
	if (library.len)
		diag_hint(q->d, "'%.*s' has it: %s:%.*s:%.*s", STR_FMT(library),
			  probe_type_name(spec->type), STR_FMT(library), STR_FMT(spec->name));
	return library.len > 0;
}

/* Why a well-known program has none. */
static bool hint_program(struct probe_search *q)
{
	struct str note = know_program(q->spec->path);

	if (q->spec->type != PROBE_USDT || q->seen || !note.len)
		return false;
	diag_hint(q->d, "%.*s", STR_FMT(note));
	return true;
}

static void hint_missing(struct probe_search *q)
{
	if (hint_function_library(q))
		return;
	if (q->guess.best.len) {
		diag_hint(q->d, "did you mean '%.*s'?", STR_FMT(q->guess.best));
		return;
	}
	if (q->spec->type == PROBE_USDT && !q->spec->provider.len &&
	    str_index(q->spec->name, '/') >= 0) {
		diag_hint(q->d, "all probes of a file are usdt:%.*s:*", STR_FMT(q->spec->name));
		return;
	}
	if (probe_may_come_later(q->s, q->spec)) {
		struct str note = q->spec->type == PROBE_USDT && !q->seen_group
					  ? know_provider(q->spec->provider)
					  : STR("");

		diag_hint(q->d, "%.*s%simages that are mapped later are searched for it",
			  STR_FMT(note), note.len ? "; " : "");
		return;
	}
	if (hint_library(q) || hint_program(q))
		return;
	if (q->spec->type == PROBE_USDT && q->seen)
		diag_hint(q->d, "nopal list shows the %zu probe%s of '%.*s'", q->seen,
			  q->seen == 1 ? "" : "s", STR_FMT(q->spec->path));
	else if (q->spec->type == PROBE_USDT && !q->s->options.pid && !q->spec->path.len)
		diag_hint(q->d, "nopal list -a shows the probes of all processes");
}

/* Of these the provider is a module. */
static bool is_of_kernel(enum probe_type type)
{
	return type == PROBE_RAWTRACEPOINT || type == PROBE_KPROBE || type == PROBE_KRETPROBE ||
	       type == PROBE_FENTRY || type == PROBE_FEXIT;
}

/* Where the probe was looked for, in words. */
static struct str searched_place(const struct probe_search *q)
{
	const struct probe_spec *spec = q->spec;
	struct arena *a = &q->s->arena;

	if (spec->type == PROBE_TRACEPOINT)
		return arena_printf(a, "searched %zu events of tracefs", q->seen);
	if (is_of_kernel(spec->type) && !kernel_has_module(a, spec->provider))
		return arena_printf(a, "no module '%.*s' is loaded", STR_FMT(spec->provider));
	if (spec->type == PROBE_RAWTRACEPOINT)
		return arena_printf(a, "searched %zu raw tracepoints of the kernel", q->seen);
	if (spec->type == PROBE_ITER)
		return arena_printf(a, "searched %zu kinds of objects", q->seen);
	if (spec->type != PROBE_USDT)
		return arena_printf(a, "searched %zu function%s", q->seen, q->seen == 1 ? "" : "s");
	if (!spec->path.len)
		return arena_printf(a, "searched the files of process %d", (int)q->s->options.pid);
	if (str_eq_text(spec->path, "*"))
		return arena_printf(a, "searched the files of %s",
				    q->s->options.pid ? "the process" : "every process");
	if (str_has_wildcard(spec->path))
		return arena_printf(a, "searched the files that match '%.*s'", STR_FMT(spec->path));
	if (!q->seen)
		return arena_printf(a, "'%.*s' has no probes", STR_FMT(spec->path));
	return arena_printf(a, "'%.*s' has %zu other probe%s", STR_FMT(spec->path), q->seen,
			    q->seen == 1 ? "" : "s");
}

/* "*:/bin/bash:main" needs a probe of one type: is one found, or may one of the types to come have
 * it? */
static bool has_other(const struct probe_search *q)
{
	return q->spec->is_one_of &&
	       (q->clause->attachments->count || (q->spec->next && q->spec->next->is_one_of));
}

int report_missing(struct probe_search *q)
{
	const struct probe_spec *spec = q->spec;
	bool is_pattern = str_has_wildcard(spec->name) || str_has_wildcard(spec->provider);
	bool is_warning = q->s->options.missing_probes == MISSING_WARN ||
			  probe_may_come_later(q->s, spec) ||
			  (is_pattern && q->clause->attachments->count); /* f, f.constprop.* */
	struct str text, where;

	if (q->s->options.missing_probes == MISSING_IGNORE || has_other(q))
		return 0;
	look_around(q);
	where = searched_place(q);
	text = arena_printf(&q->s->arena, "%s '%.*s': %.*s",
			    is_pattern ? "no probe matches" : "there is no probe",
			    (int)spec->mark.len, q->s->text.ptr + spec->mark.at, STR_FMT(where));
	if (is_warning)
		diag_warn_at(q->d, "missing-probe", search_span(q), "%.*s", STR_FMT(text));
	else
		diag_error_at(q->d, -ENOENT, "missing-probe", search_span(q), "%.*s",
			      STR_FMT(text));
	hint_missing(q);
	return is_warning ? 0 : -ENOENT;
}
