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

/* A probe may be declared twice, which is harmless if both declarations are the same. */
static bool same_declaration(const struct provider_probe *a, const struct provider_probe *b)
{
	const struct ctype_param *x = a->args, *y = b->args;

	for (; x && y && ctype_same(x->type, y->type); x = x->next, y = y->next)
		;
	return !x && !y && a->provider->per_process == b->provider->per_process;
}

static void compare_neighbours(const struct defined_name *a, const struct defined_name *b,
			       struct diag *d)
{
	struct provider_probe *first = a->probe, *again = b->probe;

	if (!str_eq(a->text, b->text))
		return;
	if (str_eq(first->name, again->name) &&
	    str_eq(first->provider->name, again->provider->name)) {
		if (a->kind != NAME_MACRO)
			return;
		again->repeated = same_declaration(first, again);
		if (again->repeated)
			diag_warn_at(d, "repeated-probe", again->at,
				     "probe '%.*s' is declared twice", STR_FMT(again->name));
		else
			diag_error_at(d, -EINVAL, "repeated-probe", again->at,
				      "probe '%.*s' is declared twice with different arguments",
				      STR_FMT(again->name));
	} else if (a->kind == b->kind && a->kind != NAME_MACRO &&
		   str_eq(first->macro, again->macro)) {
		/* Equal macros have equal ENABLED() macros, and often equal semaphores: report
		 * them once. */
		return;
	} else {
		diag_error_at(d, -EINVAL, "name-collision", again->at,
			      "probe '%.*s' also needs the %s '%.*s'", STR_FMT(again->name),
			      b->kind == NAME_SEMAPHORE ? "semaphore" : "macro", STR_FMT(b->text));
	}
	point_to_first(d, first);
}

int provider_check(struct provider_file *file, struct diag *d)
{
	unsigned errors = d->errors;
	struct arena *arena = &file->arena;
	struct defined_name *names;
	size_t count = 0;

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
	names = arena_array(arena, struct defined_name, file->probe_count * 3 + 1);
	if (!names)
		return -ENOMEM;
	provider_each_probe(probe, file) {
		struct str enabled = arena_printf(arena, "%.*s_ENABLED", STR_FMT(probe->macro));
		struct str semaphore = provider_semaphore(file, probe);

		names[count] = (struct defined_name){probe->macro, NAME_MACRO, count, probe};
		names[count + 1] = (struct defined_name){enabled, NAME_ENABLED, count, probe};
		names[count + 2] = (struct defined_name){semaphore, NAME_SEMAPHORE, count, probe};
		count += 3;
	}
	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 1; i < count; i++)
		compare_neighbours(&names[i - 1], &names[i], d);
	for (struct provider_attributes *a = file->attributes; a; a = a->next) {
		struct provider_decl *p = file->providers;

		while (p && !str_eq(p->name, a->provider))
			p = p->next;
		if (!p) /* a misspelt name */
			diag_warn_at(d, "unknown-provider", a->at,
				     "attributes of '%.*s', which is not a provider in this file",
				     STR_FMT(a->provider));
	}
	return d->errors > errors ? -EINVAL : 0;
}
