/* What is demanded of an expression that has been looked at: to be a number, a text, a variable
 * that has a value. And how it is refused. */
#include "script/check/check.h"
#include "script/check/expr_kinds.h"

#include <errno.h>
#include <stdarg.h>

#include "program/op.h"
#include "script/check/value_type.h"

void check_error(struct check *c, const struct expr *e, const char *tag, const char *format, ...)
{
	struct buf text = BUF_INIT;
	va_list args;

	if (c->err)
		return;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	c->err = -EINVAL;
	diag_error_at(c->d, c->err, tag, script_span(c->s, e->mark), "%.*s",
		      STR_FMT(buf_as_str(&text)));
	buf_free(&text);
}

struct expr *new_constant(struct check *c, const struct expr *like, struct expr constant)
{
	struct expr *e = arena_new(&c->s->arena, struct expr);

	if (!e) {
		c->err = -ENOMEM;
		return NULL;
	}
	*e = constant;
	e->mark = like->mark;
	e->depth = 1;
	return e;
}

bool expr_is_int(const struct expr *e)
{
	return e->shape.type.kind == TYPE_INT;
}

bool expr_is_text(const struct expr *e)
{
	return e->shape.type.kind == TYPE_STR;
}

void check_int(struct check *c, const struct expr *e, const char *what)
{
	if (c->err || expr_is_int(e))
		return;
	if (e->shape.type.kind == TYPE_FLOAT) {
		check_error(c, e, "float-use", "%s cannot be a float", what);
		diag_hint(c->d, "convert it to an integer: (int64)(%.*s)", (int)e->mark.len,
			  c->s->text.ptr + e->mark.at);
		return;
	}
	check_error(c, e, "wrong-type", "%s must be an integer, not %s", what,
		    e->shape.type.kind != TYPE_NONE ? check_type_text(c, &e->shape.type)
		    : e->is_place		    ? "a struct or array"
						    : "something without a value");
}

/* A string in quotes, as a value: with its 0 it has at most max_strlen bytes. */
void check_string(struct check *c, struct expr *e, size_t most)
{
	if (e->text.len > most) {
		check_error(c, e, "too-big", "this string is too long: %zu bytes, of at most %zu",
			    e->text.len, most);
		if (most < PROGRAM_MAX_TEXT)
			diag_hint(c->d, "the setting max_strlen allows longer ones");
	}
	e->shape = shape_of(type_text(TYPE_STR, e->text.len));
	e->shape.type.capacity = (uint32_t)e->text.len + 1;
}

struct str variable_name(struct str name)
{
	return str_cut(&name, '.');
}

struct variable *check_find_variable(const struct check *c, struct str name)
{
	struct variable *best = NULL;
	int most = -1;

	/* One of the block that is looked at, before one of a block that has ended; and one that
	 * has been met, before one that only what follows knows. */
	for (struct variable *v = c->v->variables; v; v = v->next) {
		int rank = 2 * (v->pass == c->pass) + !v->is_over;

		if (v->is_hidden || rank <= most || !str_eq(v->name, name))
			continue;
		best = v;
		most = rank;
	}
	return best;
}

/* The type comes from any earlier pass, but the assignment must have been met in this one: passes
 * go through the text in its order, so what is found there comes before the use. */
void check_variable(struct check *c, struct expr *e)
{
	const struct variable *v = e->variable = check_find_variable(c, e->text);

	if (v && v->pass == c->pass && v->is_typed) {
		e->shape = v->shape;
		if (v->assigned != c->pass && !c->is_asked)
			diag_warn_at(c->d, "unassigned", script_span(c->s, e->mark),
				     "variable '$%.*s' has no value yet: it is %s",
				     STR_FMT(variable_name(e->text)),
				     expr_is_int(e) ? "0" : "empty");
		return;
	}
	check_error(c, e, "undefined-variable", "variable '$%.*s' is used before it has a value",
		    STR_FMT(variable_name(e->text)));
}
