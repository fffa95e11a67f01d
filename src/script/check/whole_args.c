/* `args` as a whole: one part for each argument, and the record that is stored. */
#include "script/check/named.h"

#include <errno.h>

#include "script/check/check.h"
#include "script/check/value_type.h"

#define MAX_PARTS 64 /* of `args` */

static void make_part(struct check *c, struct expr *whole, struct str name)
{
	struct expr *part = arena_new(&c->s->arena, struct expr);

	if (!part || !name.ptr) {
		c->err = -ENOMEM;
		return;
	}
	part->kind = EXPR_FIELD;
	part->is_part = true;
	part->mark = whole->mark;
	part->span = whole->span;
	part->text = name;
	if (whole->number == MAX_PARTS)
		check_error(c, whole, "too-big", "too many arguments: the limit is %d", MAX_PARTS);
	else
		whole->args[whole->number++] = part;
	check_expr(c, part);
}

/* args: one part for each argument, or of a tracepoint each field of its own. They are made again
 * for each variant. print and printf take them one by one. */
void check_whole(struct check *c, struct expr *e)
{
	const struct attachment *p = c->v->count ? c->v->attachments[0] : NULL;
	const struct trace_event *event = p ? p->event : NULL;
	unsigned count;

	e->number = 0;
	e->is_whole = true;
	e->args = arena_array(&c->s->arena, struct expr *, MAX_PARTS);
	if (!e->args)
		c->err = -ENOMEM;
	/* Of a pattern's functions some may be described and others not. */
	if (p && !event && !str_has_wildcard(p->spec->name) && is_undescribed(c, e, p))
		return;
	if (p && is_of_function(p))
		count = p->param_count;
	else
		count = p && !event ? attachment_args(p) : 0;
	for (unsigned i = 0; i < count && !c->err; i++)
		make_part(c, e, named_name(p, p->params ? p->params[i] : i, &c->s->arena));
	for (unsigned i = 0; event && i < event->field_count && !c->err; i++)
		if (!str_starts(event->fields[i].name, STR("common_")))
			make_part(c, e, event->fields[i].name);
}

/* { .a = 1, .b = x }: `args` where a value is stored, the only element of its args. */
void check_whole_value(struct check *c, struct expr *e)
{
	struct expr *record = arena_new(&c->s->arena, struct expr), **args;
	struct buf names = BUF_INIT;

	if (!e->number)
		check_error(c, e, "no-value", "there are no arguments");
	args = arena_array(&c->s->arena, struct expr *, 1);
	for (unsigned i = 0; i < e->number; i++)
		buf_printf(&names, "%s%.*s", i ? " " : "", STR_FMT(e->args[i]->text));
	if (!record || !args || names.failed)
		c->err = c->err ? c->err : -ENOMEM;
	if (!c->err) {
		*record = (struct expr){.kind = EXPR_TUPLE,
					.mark = e->mark,
					.args = e->args,
					.arg_count = (uint16_t)e->number,
					.text = arena_str(&c->s->arena, buf_as_str(&names))};
		check_expr(c, record);
		e->args = args;
		e->args[0] = record;
		e->shape = record->shape;
		e->is_whole = false;
	}
	buf_free(&names);
}
