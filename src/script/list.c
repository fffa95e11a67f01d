/* `-l PATTERN`: the probes that a pattern names, in the form scripts take. */
#include <errno.h>

#include "script/inside.h"
#include "script/parse.h"

struct lister {
	struct arena arena;
	const struct probe_spec *spec;
	script_list_fn *fn;
	void *arg;
	struct str last; /* the text before, so that the sites of one probe give one line */
	size_t count;
};

static int list_text(struct lister *l, struct str text)
{
	if (!text.ptr)
		return -ENOMEM;
	if (str_eq(text, l->last))
		return 0;
	l->last = text;
	l->count++;
	return l->fn(l->arg, text);
}

static bool was_listed(const struct found_image *image, const size_t *matches, size_t upto)
{
	const struct site *site = &image->sites->sites[matches[upto]];

	for (size_t i = 0; i < upto; i++) {
		const struct site *other = &image->sites->sites[matches[i]];

		if (str_eq(other->name, site->name) && str_eq(other->provider, site->provider))
			return true;
	}
	return false;
}

static int list_image(void *arg, const struct found_image *image, const size_t *matches,
		      size_t count)
{
	struct lister *l = arg;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		const struct site *site = &image->sites->sites[matches[i]];

		if (!was_listed(image, matches, i))
			err = list_text(l,
					arena_printf(&l->arena, "usdt:%.*s:%.*s:%.*s",
						     STR_FMT(image->path), STR_FMT(site->provider),
						     STR_FMT(site->name)));
	}
	return err;
}

static int list_function(void *arg, const struct found_function *f)
{
	struct lister *l = arg;

	return list_text(l, arena_printf(&l->arena, "%s:%.*s:%.*s", probe_type_name(l->spec->type),
					 STR_FMT(f->path), STR_FMT(f->name)));
}

static int list_event(void *arg, struct str category, struct str name)
{
	struct lister *l = arg;

	return list_text(l, arena_printf(&l->arena, "tracepoint:%.*s:%.*s", STR_FMT(category),
					 STR_FMT(name)));
}

static int list_spec(struct lister *l, const struct script_options *options,
		     const struct script_source *source, struct diag *d)
{
	const struct probe_spec *spec = l->spec;
	struct find_query query = {options->pid, spec->path, spec->provider, spec->name};
	int got;

	switch (spec->type) {
	case PROBE_USDT:
		if (!spec->path.len && !options->pid)
			query.path = STR("*");
		got = source->sites(source->self, &query, list_image, l, d);
		break;
	case PROBE_UPROBE:
	case PROBE_URETPROBE:
		got = source->functions(source->self, options->pid, spec->path, spec->name,
					list_function, l, d);
		break;
	case PROBE_TRACEPOINT:
		got = source->events(source->self, spec->provider, spec->name, list_event, l, d);
		break;
	default: return list_text(l, str_from(probe_type_name(spec->type)));
	}
	return got < 0 ? got : 0;
}

int script_list(struct str pattern, const struct script_options *options,
		const struct script_source *source, script_list_fn *fn, void *arg, struct diag *d)
{
	struct lister l = {.fn = fn, .arg = arg};
	struct parser p = {.options = options, .arena = &l.arena, .d = d};
	struct probe_spec *spec = NULL;
	int err;

	p.lexer = (struct lexer){.text = pattern, .path = STR("-l"), .arena = &l.arena, .d = d};
	err = parse_pattern(&p, &spec);
	l.spec = spec;
	if (!err)
		err = list_spec(&l, options, source, d);
	arena_free(&l.arena);
	return err;
}
