/* What a clause asks of its places: arguments, functions' names, tracepoint fields, registers. */
#include <errno.h>

#include "script/inside.h"
#include "script/values.h"

struct look {
	struct arena *arena;
	struct uses *uses;
	bool failed;
};

static void add_field(struct look *l, struct str name)
{
	struct uses *u = l->uses;

	for (size_t i = 0; i < u->field_count; i++)
		if (str_eq(u->fields[i], name))
			return;
	if (arena_grow(l->arena, (void **)&u->fields, u->field_count, &u->field_cap,
		       sizeof(*u->fields)))
		l->failed = true;
	else
		u->fields[u->field_count++] = name;
}

static void look_at_name(struct look *l, struct str name)
{
	struct uses *u = l->uses;
	unsigned number;

	if (arg_number(name, &number))
		u->args[number / 64] |= UINT64_C(1) << (number % 64);
	u->func |= str_eq_text(name, "func");
	u->whole |= str_eq_text(name, "args");
	u->arch |= str_eq_text(name, "reg") || str_eq_text(name, "retval");
	u->data |= str_eq_text(name, "printf") || str_eq_text(name, "print") ||
		   str_eq_text(name, "join") || str_eq_text(name, "cat") ||
		   str_eq_text(name, "system");
	u->stacks |= str_eq_text(name, "ustack") || str_eq_text(name, "usym") ||
		     str_eq_text(name, "kstack") || str_eq_text(name, "ksym");
}

/* printf("%f", arg0) */
static void look_at_format(struct look *l, const struct expr *e)
{
	const struct function *f = function_find(e->text);
	unsigned number;

	if (!f || f->check != check_printf || !e->arg_count || e->args[0]->kind != EXPR_STRING)
		return;
	for (unsigned i = 1; i < e->arg_count; i++)
		if (e->args[i]->kind == EXPR_NAME && arg_number(e->args[i]->text, &number) &&
		    printf_wants_float(e->args[0]->text, i - 1))
			l->uses->floats[number / 64] |= UINT64_C(1) << (number % 64);
}

static void look_at_expr(struct look *l, const struct expr *e)
{
	if (!e)
		return;
	if (e->kind == EXPR_CALL)
		look_at_format(l, e);
	if (e->kind == EXPR_NAME || e->kind == EXPR_CALL)
		look_at_name(l, e->text);
	if (e->kind == EXPR_FIELD)
		add_field(l, e->text);
	for (unsigned i = 0; i < e->arg_count; i++)
		look_at_expr(l, e->args[i]);
}

static void look_at_body(struct look *l, const struct stmt *s)
{
	for (; s; s = s->next) {
		look_at_expr(l, s->target);
		look_at_expr(l, s->value);
		look_at_expr(l, s->to);
		look_at_body(l, s->body);
		look_at_body(l, s->other);
	}
}

int uses_find(struct arena *a, const struct tree_clause *c, struct uses *out)
{
	struct look l = {.arena = a, .uses = out};

	memset(out, 0, sizeof(*out));
	look_at_expr(&l, c->predicate);
	look_at_body(&l, c->body);
	return l.failed ? -ENOMEM : 0;
}
