/* `-l PATTERN`: the probes that a pattern names, in the form scripts take. */
#include <errno.h>
#include <stdlib.h>

#include "find/pattern.h"
#include "script/inside.h"
#include "script/script.h"
#include "script/parse.h"

struct lister {
	struct arena arena;
	struct buf text; /* the probe being listed */
	const struct probe_spec *spec;
	script_list_fn *fn;
	void *arg;
	struct str last; /* the text before, so that the sites of one probe give one line */
};

static int list_parts(struct lister *l, struct str first, struct str second, struct str third)
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
		return 0;
	l->last = arena_str(&l->arena, text);
	return l->last.ptr ? l->fn(l->arg, text) : -ENOMEM;
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
		const struct site *site = &image->sites->sites[matches[i]];

		if (firsts[matches[i]])
			err = list_parts(l, image->path, site->provider, site->name);
	}
	free(firsts);
	return err;
}

static int list_function(void *arg, const struct found_function *f)
{
	return list_parts(arg, f->path, f->name, str_of(NULL, 0));
}

static int list_event(void *arg, struct str category, struct str name)
{
	return list_parts(arg, category, name, str_of(NULL, 0));
}

static int list_spec(struct lister *l, const struct script_options *options,
		     const struct script_source *source, struct diag *d)
{
	const struct probe_spec *spec = l->spec;
	struct find_query query = {.pid = options->pid,
				   .path = spec->path,
				   .provider = spec->provider,
				   .name = spec->name};

	switch (spec->type) {
	case PROBE_USDT:
		if (!spec->path.len && !options->pid)
			query.path = STR("*");
		return source->sites(source->run, &query, list_image, l, d);
	case PROBE_UPROBE:
	case PROBE_URETPROBE: return source->functions(source->run, &query, list_function, l, d);
	case PROBE_TRACEPOINT:
		return source->events(source->self, spec->provider, spec->name, list_event, l, d);
	default: return list_parts(l, str_of(NULL, 0), str_of(NULL, 0), str_of(NULL, 0));
	}
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
	buf_free(&l.text);
	arena_free(&l.arena);
	return err < 0 ? err : 0; /* the sources return what they found */
}
