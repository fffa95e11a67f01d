/* Checks that need all provider files: which names collide. Every name that the header and the
 * object will define goes into one list, which is sorted, so that equal names are neighbours. */
#include "author/author.h"

#include <errno.h>
#include <stdlib.h>

enum name_kind { NAME_MACRO, NAME_ENABLED, NAME_SEMAPHORE };

struct defined_name {
	struct str text;
	enum name_kind kind;
	size_t order; /* of declaration */
	struct provider_probe *probe;
};

static int compare_names(const void *a, const void *b)
{
	const struct defined_name *x = a, *y = b;
	int order = str_cmp(x->text, y->text);

	if (order)
		return order;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool same_list(const struct ctype_param *a, const struct ctype_param *b)
{
	for (; a && b; a = a->next, b = b->next)
		if (!ctype_same(a->type, b->type))
			return false;
	return !a && !b;
}

/* A hint of the last message: the line of the first of two probes. */
static void point_to_first(struct diag *d, const struct provider_probe *first)
{
	unsigned line, column;

	/* Finding a line reads the whole file: not for a message that is not shown. */
	if (d && d->is_full)
		return;
	span_position(first->at, &line, &column);
	diag_hint(d, "the first one is '%.*s:%.*s' at %.*s:%u:%u", STR_FMT(first->provider->name),
		  STR_FMT(first->name), STR_FMT(first->at.path), line, column);
}

/* A probe that is declared twice, which is harmless if both declarations are the same. */
static void report_repeated(struct provider_probe *first, struct provider_probe *again,
			    struct diag *d)
{
	if (first->provider->per_process == again->provider->per_process &&
	    same_list(first->args, again->args)) {
		again->repeated = true;
		diag_warn_at(d, "repeated-probe", again->at, "probe '%.*s' is declared twice",
			     STR_FMT(again->name));
	} else {
		diag_error_at(d, -EINVAL, "repeated-probe", again->at,
			      "probe '%.*s' is declared twice with different arguments",
			      STR_FMT(again->name));
	}
	point_to_first(d, first);
}

static void compare_neighbours(const struct defined_name *a, const struct defined_name *b,
			       struct diag *d)
{
	struct provider_probe *first = a->probe, *again = b->probe;

	if (!str_eq(a->text, b->text))
		return;
	if (str_eq(first->name, again->name) &&
	    str_eq(first->provider->name, again->provider->name)) {
		if (a->kind == NAME_MACRO)
			report_repeated(first, again, d);
		return;
	}
	/* Equal macros have equal ENABLED() macros, and often equal semaphores: report them once.
	 */
	if (a->kind == b->kind && a->kind != NAME_MACRO && str_eq(first->macro, again->macro))
		return;
	diag_error_at(d, -EINVAL, "name-collision", again->at,
		      "probe '%.*s' also needs the %s '%.*s'", STR_FMT(again->name),
		      b->kind == NAME_SEMAPHORE ? "semaphore" : "macro", STR_FMT(b->text));
	point_to_first(d, first);
}

static int list_names(struct provider_file *file, struct defined_name **out)
{
	struct arena *a = &file->arena;
	struct defined_name *name = arena_array(a, struct defined_name, file->probe_count * 3 + 1);
	size_t order = 0;

	if (!name)
		return -ENOMEM;
	*out = name;
	provider_each_probe(probe, file) {
		struct str enabled = arena_printf(a, "%.*s_ENABLED", STR_FMT(probe->macro));
		struct str semaphore = provider_semaphore(file, probe);

		*name++ = (struct defined_name){probe->macro, NAME_MACRO, order, probe};
		*name++ = (struct defined_name){enabled, NAME_ENABLED, order, probe};
		*name++ = (struct defined_name){semaphore, NAME_SEMAPHORE, order++, probe};
	}
	return 0;
}

/* Attributes of an undeclared provider: a misspelt name. */
static void check_attributes(struct provider_file *file, struct diag *d)
{
	for (struct provider_attributes *a = file->attributes; a; a = a->next) {
		struct provider_decl *p = file->providers;

		while (p && !str_eq(p->name, a->provider))
			p = p->next;
		if (!p)
			diag_warn_at(d, "unknown-provider", a->at,
				     "attributes of '%.*s', which is not a provider in this file",
				     STR_FMT(a->provider));
	}
}

int provider_check(struct provider_file *file, struct diag *d)
{
	unsigned errors = d->errors;
	struct defined_name *names;
	size_t count = (size_t)file->probe_count * 3;

	if (!file->has_text) {
		diag_warn_at(d, "no-provider", (struct span){.path = file->path},
			     "the file is empty: there are no probes");
	} else if (!file->providers && !file->has_clauses) {
		diag_error_at(d, -EINVAL, "no-provider", (struct span){.path = file->path},
			      "there is no provider in this file");
		diag_hint(
			d,
			"a provider file has the form: provider NAME { probe NAME(TYPE, ...); };");
		return -EINVAL;
	}
	if (list_names(file, &names))
		return -ENOMEM;
	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 1; i < count; i++)
		compare_neighbours(&names[i - 1], &names[i], d);
	check_attributes(file, d);
	return d->errors > errors ? -EINVAL : 0;
}
