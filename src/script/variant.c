/* Variants: the places of a clause grouped by what its code depends on. Places are alike
 * when they are of one kind, the arguments used are of one sort (integer, float of one size), the
 * tracepoint fields used lie at the same offsets, named arguments have the same values (named.c),
 * and, when registers are used, the architecture is the same. */
#include <errno.h>

#include "script/builtins.h"
#include "script/inside.h"
#include "script/named.h"
#include "script/values.h"

/* 0: it is not a float, or not there. */
static unsigned float_size(const struct attach *a, unsigned n)
{
	return n < a->operand_count && a->operands[n].is_float ? a->operands[n].size : 0;
}

static bool same_args(const struct uses *u, const struct attach *a, const struct attach *b)
{
	for (unsigned n = 0; n < 128; n++)
		if (u->args[n / 64] >> (n % 64) & 1 && float_size(a, n) != float_size(b, n))
			return false;
	return true;
}

static bool same_field(const struct trace_field *a, const struct trace_field *b)
{
	return str_eq(a->name, b->name) && str_eq(a->c_type, b->c_type) && a->offset == b->offset &&
	       a->size == b->size && a->is_signed == b->is_signed && a->is_array == b->is_array &&
	       a->is_data_loc == b->is_data_loc && a->is_rel_loc == b->is_rel_loc;
}

/* The fields that the clause uses, if it uses any: else the events were not read. */
static bool same_event(const struct uses *u, const struct trace_event *a,
		       const struct trace_event *b)
{
	if (!a || !b)
		return a == b;
	if (u->needs & NEED_ALL_ARGS) {
		if (a->field_count != b->field_count)
			return false;
		for (unsigned i = 0; i < a->field_count; i++)
			if (!same_field(&a->fields[i], &b->fields[i]))
				return false;
	}
	for (size_t i = 0; i < u->field_count; i++) {
		const struct trace_field *x = event_field(a, u->fields[i]);
		const struct trace_field *y = event_field(b, u->fields[i]);

		if (x && y ? !same_field(x, y) : x != y)
			return false;
	}
	return true;
}

static bool same_place(const struct uses *u, const struct place *a, const struct place *b)
{
	return a->attach.kind == b->attach.kind &&
	       (!(u->needs & NEED_ARCH) || a->attach.arch == b->attach.arch) &&
	       same_args(u, &a->attach, &b->attach) && same_event(u, a->event, b->event) &&
	       named_same(u, a, b);
}

/* The variant whose code serves the place, made at the end of the list when it is new. NULL: for a
 * clause without places. */
static struct variant *variant_for(struct script *s, struct tree_clause *clause,
				   const struct place *p, struct variant **list)
{
	for (; *list; list = &(*list)->next)
		if (same_place(clause->uses, (*list)->places[0], p))
			return *list;
	*list = arena_new(&s->arena, struct variant);
	if (*list)
		(*list)->clause = clause;
	return *list;
}

static int variant_add(struct script *s, struct variant *v, struct place *p)
{
	if (arena_grow(&s->arena, (void **)&v->places, v->count, &v->cap, sizeof(*v->places)))
		return -ENOMEM;
	v->places[v->count++] = p;
	return 0;
}

int variants_make(struct script *s, struct tree_clause *clause, struct variant **out)
{
	struct variant *list = NULL, *v;
	int err = 0;

	for (size_t i = 0; i < clause->places->count && !err; i++) {
		struct place *p = clause->places->items[i];

		if (p->is_done || (s->only && s->only->image != p->image))
			continue;
		v = variant_for(s, clause, p, &list);
		err = v ? variant_add(s, v, p) : -ENOMEM;
	}
	if (!err && !list && !variant_for(s, clause, NULL, &list))
		err = -ENOMEM;
	*out = list;
	return err;
}
