/* `-l PATTERN`: the probes that a pattern names, in the form scripts take. */
#include "script/script.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "find/pattern.h"
#include "script/builtins/function.h"
#include "script/parse/counters.h"
#include "script/parse/parse.h"
#include "script/resolve/probe_search.h"

struct lister {
	struct arena arena;
	struct buf text; /* the probe being listed */
	const struct script_source *source;
	struct diag *d;
	bool details; /* what is known of each */
	const struct probe_spec *spec;
	script_list_fn *fn;
	void *arg;
	struct str last; /* the text before, so that the sites of one probe give one line */
};

/* ---- Details ---- */

/* One line below a probe: "    const char *text". Names come from the program. */
static void add_line(struct lister *l, struct str line)
{
	buf_text(&l->text, "\n    ");
	buf_escaped(&l->text, line);
}

/* A pointer that is declared as "TYPE * name", and not around its name as one to a function is. */
static bool is_plain_pointer(const struct ctype *t)
{
	const struct ctype *to = t;

	while (to && to->kind == CTYPE_POINTER)
		to = to->to;
	return t->kind == CTYPE_POINTER && to && to->kind != CTYPE_FUNCTION &&
	       to->kind != CTYPE_ARRAY;
}

/* As bpftrace writes it: "struct file * file". */
static void add_declaration(struct lister *l, const struct ctype *t, struct str name)
{
	struct buf line = BUF_INIT;

	if (is_plain_pointer(t)) {
		ctype_print(&line, t, STR(""));
		buf_printf(&line, " %.*s", STR_FMT(name));
	} else {
		ctype_print(&line, t, name);
	}
	l->text.failed |= line.failed;
	add_line(l, buf_as_str(&line));
	buf_free(&line);
}

static int add_arguments(struct lister *l, const struct found_image *image, struct site *site)
{
	int err = l->source->know ? l->source->know(l->source->self, image, site, l->d) : 0;

	for (unsigned i = 0; i < site->arg_count && !err; i++) {
		struct buf line = BUF_INIT;

		argument_show(&site->args[i], &line);
		buf_text(&l->text, "\n    ");
		buf_str(&l->text, buf_as_str(&line)); /* it is escaped */
		buf_free(&line);
	}
	return err;
}

static int add_parameters(struct lister *l, const struct found_function *f)
{
	struct function_types types;
	int err = l->source->function_types
			  ? l->source->function_types(l->source->self, f, &types, l->d)
			  : -ENOENT;

	if (err)
		return err == -ENOENT ? 0 : err;
	for (const struct ctype_param *p = types.params.type->params; p; p = p->next)
		add_declaration(l, p->type, p->name);
	if (l->spec->type == PROBE_URETPROBE)
		add_declaration(l, types.params.type->to, STR("retval"));
	return 0;
}

static int add_fields(struct lister *l, struct str category, struct str name)
{
	struct trace_event event;
	int err = l->source->event(l->source->self, &l->arena, category, name, &event, l->d);

	for (unsigned i = 0; i < event.field_count && !err; i++) {
		const struct trace_field *f = &event.fields[i];
		struct str type = f->c_type;
		ptrdiff_t bracket = str_index(type, '[');
		struct str bound = STR("");

		if (str_starts(f->name, STR("common_")))
			continue;
		if (bracket >= 0) {
			bound = str_of(type.ptr + bracket, type.len - (size_t)bracket);
			type.len = (size_t)bracket;
		}
		add_line(l, arena_printf(&l->arena, "%.*s %.*s%.*s", STR_FMT(type),
					 STR_FMT(f->name), STR_FMT(bound)));
	}
	return err;
}

/* ---- Probes ---- */

static int hand_over_probe(struct lister *l, int err)
{
	if (err == -EEXIST)
		return 0;
	if (!err && l->text.failed)
		err = -ENOMEM;
	return err ? err : l->fn(l->arg, buf_as_str(&l->text));
}

/* The probe becomes l->text. -EEXIST: it was the one before, too; -ENOMEM. */
static int begin_probe(struct lister *l, struct str first, struct str second, struct str third)
{
	const struct str parts[] = {first, second, third};
	struct str text;

	buf_clear(&l->text);
	buf_text(&l->text, probe_type_name(l->spec->type));
	for (size_t i = 0; i < 3; i++) {
		if (!parts[i].ptr)
			continue;
		buf_char(&l->text, ':');
		pattern_quote(parts[i], &l->text);
	}
	text = buf_as_str(&l->text);
	if (l->text.failed)
		return -ENOMEM;
	if (str_eq(text, l->last))
		return -EEXIST;
	l->last = arena_str(&l->arena, text);
	return l->last.ptr ? 0 : -ENOMEM;
}

/* The sites of one probe together, the first one in front. */
static int compare_sites(const void *a, const void *b)
{
	const struct site *x = *(const struct site *const *)a, *y = *(const struct site *const *)b;
	int order = site_compare_probes(x, y);

	return order ? order : x < y ? -1 : x > y;
}

/* Which matches are the first site of their probe. A file may have a million, so they are sorted
 * and not compared each with each. NULL: no memory. */
static bool *find_firsts(const struct found_image *image, const size_t *matches, size_t count)
{
	const struct site **sorted = calloc(count, sizeof(*sorted));
	bool *firsts = calloc(image->sites->count + 1, sizeof(*firsts));

	for (size_t i = 0; sorted && i < count; i++)
		sorted[i] = &image->sites->sites[matches[i]];
	if (sorted)
		qsort(sorted, count, sizeof(*sorted), compare_sites);
	for (size_t i = 0; sorted && firsts && i < count; i++)
		firsts[sorted[i] - image->sites->sites] =
			!i || site_compare_probes(sorted[i], sorted[i - 1]);
	if (!sorted) {
		free(firsts);
		firsts = NULL;
	}
	free(sorted);
	return firsts;
}

static int list_image(void *arg, const struct found_image *image, const size_t *matches,
		      size_t count)
{
	struct lister *l = arg;
	bool *firsts = find_firsts(image, matches, count);
	int err = firsts ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i++) {
		struct site *site = &image->sites->sites[matches[i]];

		if (!firsts[matches[i]])
			continue;
		err = begin_probe(l, image->path, site->provider, site->name);
		if (!err && l->details)
			err = add_arguments(l, image, site);
		err = hand_over_probe(l, err);
	}
	free(firsts);
	return err;
}

static int list_function(void *arg, const struct found_function *f)
{
	struct lister *l = arg;
	int err = l->spec->is_demangled ? begin_probe(l, f->path, STR("cpp"), f->plain)
					: begin_probe(l, f->path, f->name, str_of(NULL, 0));

	if (!err && l->details)
		err = add_parameters(l, f);
	return hand_over_probe(l, err);
}

static int list_event(void *arg, struct str category, struct str name)
{
	struct lister *l = arg;
	int err = begin_probe(l, category, name, str_of(NULL, 0));

	if (!err && l->details)
		err = add_fields(l, category, name);
	return hand_over_probe(l, err);
}

/* As bpftrace has it: "software:faults:" takes the default count. */
static int list_counters(struct lister *l)
{
	const struct counter *c;
	int err = 0;

	for (size_t i = 0; !err && (c = counter_at(l->spec->type, i)); i++)
		if (str_match(l->spec->name, str_from(c->name)) ||
		    (c->other && str_match(l->spec->name, str_from(c->other))))
			err = hand_over_probe(
				l, begin_probe(l, str_from(c->name), STR(""), str_of(NULL, 0)));
	return err;
}

static int list_raw(void *arg, struct str name, const struct ctype *function)
{
	struct lister *l = arg;
	int err = begin_probe(l, name, str_of(NULL, 0), str_of(NULL, 0));
	const struct ctype_param *p =
		l->details && function && function->params ? function->params->next : NULL;

	for (; p && !err; p = p->next)
		add_declaration(l, p->type, p->name);
	return hand_over_probe(l, err);
}

static int list_kernel_function(void *arg, const struct kernel_function *f)
{
	struct lister *l = arg;
	bool is_return = l->spec->type == PROBE_KRETPROBE || l->spec->type == PROBE_FEXIT;
	bool is_traced = l->spec->type == PROBE_FENTRY || l->spec->type == PROBE_FEXIT;
	const struct ctype *type = l->details ? f->type : NULL;
	int err;

	if (!f->id && (is_traced || !kernel_has_function(l->source, f->name)))
		return 0;
	err = begin_probe(l, f->name, str_of(NULL, 0), str_of(NULL, 0));
	for (const struct ctype_param *p = type && (is_traced || !is_return) ? type->params : NULL;
	     p && !err; p = p->next)
		add_declaration(l, p->type, p->name);
	if (type && is_return && !err)
		add_declaration(l, type->to, STR("retval"));
	return hand_over_probe(l, err);
}

/* A function of the kernel, whose name is like that, iterates over the objects. */
static int list_iter(void *arg, enum ctype_kind kind, struct str full)
{
	struct lister *l = arg;
	const struct ctype *context;
	struct str name = str_of(full.ptr + strlen(ITER_CONTEXT), full.len - strlen(ITER_CONTEXT));
	int err = begin_probe(l, name, str_of(NULL, 0), str_of(NULL, 0));

	if (l->details && !err)
		err = l->source->type(l->source->self, NULL, kind, full, &context, l->d);
	if (l->details && !err)
		err = ctype_complete(context);
	for (unsigned i = 0; l->details && !err && i < context->member_count; i++) {
		const struct ctype_member *m = context_member(&context->members[i]);

		add_declaration(l, m->type, m->name);
	}
	return hand_over_probe(l, err);
}

static int list_iters(struct lister *l)
{
	struct str pattern = arena_printf(&l->arena, ITER_CONTEXT "%.*s", STR_FMT(l->spec->name));

	if (!pattern.ptr)
		return -ENOMEM;
	return l->source->types ? l->source->types(l->source->self, CTYPE_STRUCT, pattern,
						   list_iter, l, l->d)
				: 0;
}

static int list_spec(struct lister *l, const struct script_options *options,
		     const struct script_source *source, struct diag *d)
{
	const struct probe_spec *spec = l->spec;
	struct find_query query = {.pid = options->pid,
				   .path = spec->path,
				   .provider = spec->provider,
				   .name = spec->name,
				   .source = spec->source,
				   .line = spec->line,
				   .column = spec->column,
				   .is_demangled = spec->is_demangled};

	switch (spec->type) {
	case PROBE_USDT:
		if (!spec->path.len && !options->pid)
			query.path = STR("*");
		return source->sites(source->run, &query, list_image, l, d);
	case PROBE_UPROBE:
	case PROBE_URETPROBE:
		query.to_attach = l->details; /* its file has the types */
		return source->functions(source->run, &query, list_function, l, d);
	case PROBE_TRACEPOINT:
		return source->events(source->self, spec->provider, spec->name, list_event, l, d);
	case PROBE_SOFTWARE:
	case PROBE_HARDWARE: return list_counters(l);
	case PROBE_RAWTRACEPOINT:
		return source->raw_events && kernel_has_module(&l->arena, spec->provider)
			       ? source->raw_events(source->self, spec->name, list_raw, l, d)
			       : 0;
	case PROBE_KPROBE:
	case PROBE_KRETPROBE:
	case PROBE_FENTRY:
	case PROBE_FEXIT:
		return source->kernel_functions && kernel_has_module(&l->arena, spec->provider)
			       ? source->kernel_functions(source->self, spec->name,
							  list_kernel_function, l, d)
			       : 0;
	case PROBE_ITER: return list_iters(l);
	case PROBE_SELF:
		return hand_over_probe(l,
				       begin_probe(l, STR("signal"), spec->name, str_of(NULL, 0)));
	default:
		return hand_over_probe(
			l, begin_probe(l, str_of(NULL, 0), str_of(NULL, 0), str_of(NULL, 0)));
	}
}

/* ---- Types ---- */

static const struct {
	enum ctype_kind kind;
	const char *word;
} type_words[] = {{CTYPE_STRUCT, "struct"}, {CTYPE_UNION, "union"}, {CTYPE_ENUM, "enum"}};

static int list_type(void *arg, enum ctype_kind kind, struct str name)
{
	struct lister *l = arg;
	struct buf text = BUF_INIT;
	const struct ctype *t;
	int err = l->source->type(l->source->self, NULL, kind, name, &t, l->d);

	buf_clear(&l->text);
	for (size_t i = 0; i < COUNT(type_words); i++)
		if (type_words[i].kind == kind)
			buf_text(&text, type_words[i].word);
	buf_char(&text, ' ');
	buf_str(&text, name);
	if (!err && l->details) {
		buf_clear(&text);
		ctype_print_definition(&text, t);
		buf_text(&text, ";\n");
	}
	l->text.failed |= text.failed;
	buf_escaped_lines(&l->text, buf_as_str(&text));
	buf_free(&text);
	return hand_over_probe(l, err);
}

/* "struct NAME": true, and *err is the end of it. */
static bool list_types(struct lister *l, struct str pattern, int *err)
{
	struct str name = pattern, word = str_cut(&name, ' ');

	name = str_trim(name);
	for (size_t i = 0; i < COUNT(type_words); i++) {
		if (!str_eq_text(word, type_words[i].word) || !l->source->types)
			continue;
		*err = l->source->types(l->source->self, type_words[i].kind,
					name.len ? name : STR("*"), list_type, l, l->d);
		return true;
	}
	return false;
}

/* ---- Patterns ---- */

/* One probe of a known type. With `d` NULL a text that does not name such a probe lists nothing. */
static int list_text(struct lister *l, const struct script_options *options, struct str text,
		     struct diag *d)
{
	struct parser p = {
		.options = options, .builtins = &script_builtins, .arena = &l->arena, .d = d};
	struct probe_spec *spec = NULL;
	int err;

	p.lexer = (struct lexer){.text = text, .path = STR("-l"), .arena = &l->arena, .d = d};
	err = parse_pattern(&p, &spec);
	l->spec = spec;
	if (err && !d && err != -ENOMEM)
		return 0;
	return err ? err : list_spec(l, options, l->source, l->d);
}

/* "*probe:vfs_*", and "vfs_*", which means any type. */
static int list_any_type(struct lister *l, const struct script_options *options, struct str pattern)
{
	struct str rest = pattern,
		   type = str_index(pattern, ':') < 0 ? STR("*") : str_cut(&rest, ':');
	struct str second = rest;
	bool of_files = options->pid || str_index(str_cut(&second, ':'), '/') >= 0;
	enum probe_type found;
	int err = 0;

	for (size_t i = 0; err >= 0 && probe_type_match(type, of_files, &i, &found); i++) {
		struct str text =
			arena_printf(&l->arena, "%s:%.*s", probe_type_name(found), STR_FMT(rest));

		err = text.ptr ? list_text(l, options, text, NULL) : -ENOMEM;
	}
	return err;
}

static bool is_any_type(struct str pattern)
{
	struct str rest = pattern, name = str_cut(&rest, ':');
	enum probe_type type;

	if (str_has_wildcard(name))
		return true;
	if (!name.len || str_index(pattern, ':') >= 0)
		return false;
	return !probe_type_find(name, &type) || (type != PROBE_BEGIN && type != PROBE_END);
}

/* The text up to the next comma outside of quotes. */
static struct str next_pattern(struct str *rest)
{
	struct str all = *rest;
	bool quoted = false;
	size_t i = 0;

	for (; i < all.len && (quoted || all.ptr[i] != ','); i++) {
		quoted ^= all.ptr[i] == '"';
		i += quoted && all.ptr[i] == '\\' && i + 1 < all.len;
	}
	*rest = i < all.len ? str_of(all.ptr + i + 1, all.len - i - 1) : str_of(all.ptr + i, 0);
	return str_trim(str_of(all.ptr, i));
}

int script_list(struct str pattern, const struct script_options *options, bool details,
		const struct script_source *source, script_list_fn *fn, void *arg, struct diag *d)
{
	struct lister l = {.source = source, .d = d, .details = details, .fn = fn, .arg = arg};
	struct str rest = pattern;
	int err = 0;

	do {
		struct str one = next_pattern(&rest);

		if (list_types(&l, one, &err))
			continue;
		err = is_any_type(one) ? list_any_type(&l, options, one)
				       : list_text(&l, options, one, d);
	} while (err >= 0 && rest.len);
	buf_free(&l.text);
	arena_free(&l.arena);
	return err < 0 ? err : 0; /* the sources return what they found */
}
