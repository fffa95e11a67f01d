/* Variants: the places of a clause grouped by what its code must know of them. Places are alike
 * when they are of one kind, the arguments used are of one sort (integer, float of one size), the
 * tracepoint fields used lie at the same offsets, named arguments have the same form (named.c),
 * and, when registers are used, the architecture is the same. */
#include <errno.h>
#include <inttypes.h>

#include "script/builtins.h"
#include "script/inside.h"
#include "script/named.h"

static void sign_args(const struct uses *u, const struct attach *a, struct buf *out)
{
	for (unsigned n = 0; n < 128; n++) {
		if (!(u->args[n / 64] >> (n % 64) & 1))
			continue;
		if (n < a->operand_count && a->operands[n].is_float)
			buf_printf(out, " f%u", a->operands[n].size);
		else
			buf_text(out, " i");
	}
}

static void sign_field(const struct trace_field *f, struct buf *out)
{
	buf_printf(out, " %.*s %" PRIu32 "+%" PRIu32 "%c%c%c%c", STR_FMT(f->c_type), f->offset,
		   f->size, f->is_signed ? 's' : 'u', f->is_array ? 'a' : '-',
		   f->is_data_loc ? 'd' : '-', f->is_rel_loc ? 'r' : '-');
}

/* The fields that the clause uses. One that is not there differs from all others. */
static void sign_event(const struct uses *u, const struct trace_event *event, struct buf *out)
{
	for (unsigned k = 0; event && (u->needs & NEED_ALL_ARGS) && k < event->field_count; k++) {
		buf_printf(out, " %.*s", STR_FMT(event->fields[k].name));
		sign_field(&event->fields[k], out);
	}
	for (size_t i = 0; event && i < u->field_count; i++) {
		buf_char(out, ' ');
		for (unsigned k = 0; k < event->field_count; k++)
			if (str_eq(event->fields[k].name, u->fields[i]))
				sign_field(&event->fields[k], out);
	}
}

static void sign_place(const struct uses *u, const struct place *p, struct buf *out)
{
	buf_clear(out);
	buf_printf(out, "%d", p->attach.kind);
	if (p->attach.arch && (u->needs & NEED_ARCH))
		buf_printf(out, " %s", p->attach.arch->name);
	sign_args(u, &p->attach, out);
	sign_event(u, p->event, out);
	if (p->spec->type == PROBE_USDT)
		sign_named(u, p, out);
}

/* The variant with this signature, made at the end of the list when it is new. */
static struct variant *variant_for(struct script *s, struct tree_clause *clause,
				   struct str signature, struct variant **list)
{
	for (; *list; list = &(*list)->next)
		if (str_eq((*list)->signature, signature))
			return *list;
	*list = arena_new(&s->arena, struct variant);
	if (!*list)
		return NULL;
	(*list)->clause = clause;
	(*list)->signature = arena_str(&s->arena, signature);
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
	struct buf signature = BUF_INIT;
	struct variant *list = NULL, *v;
	int err = 0;

	for (size_t i = 0; i < clause->places->count && !err; i++) {
		struct place *p = clause->places->items[i];

		if (p->is_done || (s->only && s->only->image != p->image))
			continue;
		sign_place(clause->uses, p, &signature);
		v = signature.failed ? NULL : variant_for(s, clause, buf_as_str(&signature), &list);
		err = v ? variant_add(s, v, p) : -ENOMEM;
	}
	if (!err && !list && !variant_for(s, clause, STR(""), &list))
		err = -ENOMEM;
	buf_free(&signature);
	*out = list;
	return err;
}
