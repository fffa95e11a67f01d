/* What a clause asks of its places: arguments, functions' names, tracepoint fields, registers. */
#include "script/builtins.h"
#include "script/inside.h"

static void look_at_expr(const struct expr *e, struct uses *u)
{
	unsigned number;

	if (!e)
		return;
	if ((e->kind == EXPR_NAME || e->kind == EXPR_CALL) && arg_number(e->text, &number))
		u->args[number / 64] |= UINT64_C(1) << (number % 64);
	if (e->kind == EXPR_NAME || e->kind == EXPR_CALL) {
		u->func |= str_eq_text(e->text, "func");
		u->arch |= str_eq_text(e->text, "reg") || str_eq_text(e->text, "retval");
		u->stacks |= str_eq_text(e->text, "ustack") || str_eq_text(e->text, "usym") ||
			     str_eq_text(e->text, "kstack") || str_eq_text(e->text, "ksym");
	}
	u->fields |= e->kind == EXPR_FIELD;
	for (unsigned i = 0; i < e->arg_count; i++)
		look_at_expr(e->args[i], u);
}

static void look_at_body(const struct stmt *s, struct uses *u)
{
	for (; s; s = s->next) {
		look_at_expr(s->target, u);
		look_at_expr(s->value, u);
		look_at_expr(s->to, u);
		look_at_body(s->body, u);
		look_at_body(s->other, u);
	}
}

void uses_find(const struct tree_clause *c, struct uses *out)
{
	memset(out, 0, sizeof(*out));
	look_at_expr(c->predicate, out);
	look_at_body(c->body, out);
}
