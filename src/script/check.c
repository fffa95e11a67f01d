/* Types of statements: what variables and maps hold, where jumps may stand. Each statement is
 * checked even when the one before it is wrong, so that one run reports all errors. */
#include "script/inside.h"

#include <errno.h>
#include <stdio.h>

#define MAX_UNROLL 100

static int check_body(struct check *c, struct stmt *s);

static int type_mismatch(struct check *c, const struct expr *e, struct str name, char sigil,
			 const struct type *known, const struct expr *value, struct mark first)
{
	check_error(c, e, "type-mismatch", "'%.*s%.*s' holds %s, not %s", sigil ? 1 : 0, &sigil,
		    STR_FMT(name), check_type_text(c, known),
		    check_type_text(c, &value->shape.type));
	diag_hint(c->d, "the first use fixes the type: '%.*s'", (int)first.len,
		  c->s->text.ptr + first.at);
	return -EINVAL;
}

static struct variable *new_variable(struct check *c, struct expr *target)
{
	struct variable *v = arena_new(&c->s->arena, struct variable);

	if (!v)
		return NULL;
	v->name = target->text;
	v->next = c->v->variables;
	v->needs_zero = c->block_depth > 0;
	c->v->variables = v;
	return v;
}

/* Do both point, but to values of other sizes or signs? */
static bool points_elsewhere(const struct type *a, const struct type *b)
{
	return a->pointers && b->pointers &&
	       (a->pointers != b->pointers || a->target_size != b->target_size ||
		a->target_is_signed != b->target_is_signed);
}

static int pointer_mismatch(struct check *c, const struct expr *target, struct str name,
			    const char *sigil, struct mark first)
{
	check_error(c, target, "type-mismatch", "'%s%.*s' points to values of another type", sigil,
		    STR_FMT(name));
	diag_hint(c->d, "the first use fixes the type: '%.*s'", (int)first.len,
		  c->s->text.ptr + first.at);
	return -EINVAL;
}

/* It holds 8 bytes, and shows as many as the first value has, until there are wider ones. */
static void hold_any_width(struct type *t)
{
	if (!t->shown)
		t->shown = (uint8_t)t->size;
	t->size = 8;
}

/* $x = value: the first assignment fixes the type. */
static int assign_variable(struct check *c, struct expr *target, struct expr *value,
			   struct mark mark)
{
	struct variable *v = check_find_variable(c, target->text);
	int err = check_storable(c, value, "a variable's value");

	if (err)
		return err;
	if (!v)
		v = new_variable(c, target);
	if (!v)
		return -ENOMEM;
	if (v->is_loop)
		return check_error(c, target, "bad-target",
				   "the loop variable '$%.*s' is read-only", STR_FMT(target->text));
	target->variable = v;
	if (!v->is_typed) {
		v->is_typed = true;
		v->shape = value->shape;
		if (v->shape.type.kind == TYPE_INT && !v->shape.type.pointers)
			hold_any_width(&v->shape.type);
		v->mark = mark;
		c->changed = true;
	} else if (points_elsewhere(&v->shape.type, &value->shape.type)) {
		return pointer_mismatch(c, target, v->name, "$", v->mark);
	} else if (check_merge(c, &v->shape.type, &value->shape.type)) {
		return type_mismatch(c, target, v->name, '$', &v->shape.type, value, v->mark);
	}
	v->pass = c->pass;
	check_widen(c, value, &v->shape.type);
	target->shape = v->shape;
	return 0;
}

/* The type of the map's values after this one: aggregates must be the same, others merge. */
static int assign_map(struct check *c, struct expr *target, struct expr *value, struct mark mark)
{
	struct map *m;
	int err = check_map_key(c, target);

	if (!err && !type_is_aggregate(&value->shape.type))
		err = check_storable(c, value, "a map's value");
	if (err)
		return err;
	m = target->map;
	if (!m->has_value) {
		m->has_value = true;
		m->value = value->shape.type;
		m->value_mark = mark;
		c->changed = true;
	} else if (points_elsewhere(&m->value, &value->shape.type)) {
		return pointer_mismatch(c, target, m->name, "", m->value_mark);
	} else if (check_merge(c, &m->value, &value->shape.type)) {
		return type_mismatch(c, target, m->name, 0, &m->value, value, m->value_mark);
	}
	if (m->value.kind == TYPE_INT)
		hold_any_width(&m->value);
	check_widen(c, value, &m->value);
	target->shape = shape_of(m->value);
	return 0;
}

/* Is this a call like count(), which only a map can take? */
static bool is_aggregate_call(const struct expr *e)
{
	const struct function *f = e->kind == EXPR_CALL ? function_find(e->text) : NULL;

	return f && f->group == GROUP_AGGREGATION;
}

static int refuse_aggregate(struct check *c, const struct expr *e)
{
	check_error(c, e, "not-in-map", "'%.*s' can only be assigned to a map", STR_FMT(e->text));
	diag_hint(c->d, "for example: @ = %.*s(...)", STR_FMT(e->text));
	return -EINVAL;
}

/* What is computed in place may be wider than what was put there. */
static void show_all(struct check *c, struct expr *target, const struct expr *value)
{
	struct type *t = target->map ? &target->map->value : &target->variable->shape.type;
	bool raw = t->is_raw && (value->is_const || value->shape.type.is_raw);

	if (t->kind != TYPE_INT || t->size < 8 ||
	    ((!t->shown || t->shown == 8) && t->is_raw == raw))
		return;
	t->shown = 8;
	t->is_raw = raw;
	c->changed = true;
}

/* x op= value, which reads x first */
static int check_compound(struct check *c, struct stmt *s)
{
	char what[40];
	int err;

	if (s->target->kind == EXPR_MAP) {
		err = check_map_key(c, s->target);
		if (!err && !s->target->map->has_value)
			err = assign_map(c, s->target, s->value, s->mark);
		s->target->shape = shape_of(s->target->map ? s->target->map->value
							   : (struct type){.kind = TYPE_NONE});
	} else {
		err = check_expr(c, s->target);
		if (!err && s->target->variable->is_loop)
			return check_error(c, s->target, "bad-target",
					   "the loop variable '$%.*s' is read-only",
					   STR_FMT(s->target->text));
	}
	if (!err)
		show_all(c, s->target, s->value);
	snprintf(what, sizeof(what), "the left side of '%s='", operator_text(s->op));
	if (!err)
		err = check_int(c, s->target, what);
	if (!err)
		err = check_int(c, s->value, "the right side");
	return err;
}

static int check_assign(struct check *c, struct stmt *s)
{
	int err;

	if (is_aggregate_call(s->value) && (s->target->kind != EXPR_MAP || s->op))
		return refuse_aggregate(c, s->value);
	err = check_expr(c, s->value);
	if (err)
		return err;
	if (s->op)
		return check_compound(c, s);
	if (s->target->kind == EXPR_MAP)
		return assign_map(c, s->target, s->value, s->mark);
	return assign_variable(c, s->target, s->value, s->mark);
}

static int check_let(struct check *c, struct stmt *s)
{
	const struct shape *declared = &s->target->cast;
	struct variable *v = check_find_variable(c, s->target->text);
	int err = s->value ? check_expr(c, s->value) : 0;

	if (err)
		return err;
	if (v && v->pass == c->pass)
		return check_error(c, s->target, "redeclared",
				   "variable '$%.*s' is already declared",
				   STR_FMT(s->target->text));
	if (declared->type.kind == TYPE_INT && !v) {
		v = new_variable(c, s->target);
		if (!v)
			return -ENOMEM;
		v->is_typed = true;
		v->shape = *declared;
		v->mark = s->target->mark;
		c->changed = true;
	}
	if (s->value)
		return assign_variable(c, s->target, s->value, s->target->mark);
	/* Without a value and a type it is declared by its first assignment. */
	if (declared->type.kind == TYPE_INT) {
		v->needs_zero = true;
		v->pass = c->pass;
		s->target->variable = v;
	}
	return 0;
}

static int check_nested(struct check *c, struct stmt *body, bool is_loop)
{
	int err;

	c->block_depth++;
	c->loop_depth += is_loop;
	err = check_body(c, body);
	c->loop_depth -= is_loop;
	c->block_depth--;
	return err;
}

static int check_condition(struct check *c, struct stmt *s)
{
	int err = check_expr(c, s->value);

	return err ? err : check_int(c, s->value, "a condition");
}

static int check_if(struct check *c, struct stmt *s)
{
	int err = check_condition(c, s);
	int body = check_nested(c, s->body, false);
	int other = check_nested(c, s->other, false);

	return err ? err : body ? body : other;
}

static int check_while(struct check *c, struct stmt *s)
{
	int err = check_condition(c, s);
	int body = check_nested(c, s->body, true);

	return err ? err : body;
}

static int check_unroll(struct check *c, struct stmt *s)
{
	int err = check_expr(c, s->value);
	int body;

	if (!err && (s->value->shape.type.kind != TYPE_INT || !s->value->is_const ||
		     s->value->value < 1 || s->value->value > MAX_UNROLL))
		err = check_error(c, s->value, "bad-unroll",
				  "'unroll' expects a constant from 1 to %d", MAX_UNROLL);
	/* The body is copied: there is no loop to break out of. */
	c->block_depth++;
	body = check_body(c, s->body);
	c->block_depth--;
	return err ? err : body;
}

static int check_for(struct check *c, struct stmt *s)
{
	struct variable *v = check_find_variable(c, s->target->text);
	int err = check_expr(c, s->value), body;

	if (!err)
		err = check_expr(c, s->to);
	if (!err)
		err = check_int(c, s->value, "the start of a range");
	if (!err)
		err = check_int(c, s->to, "the end of a range");
	if (!v)
		v = new_variable(c, s->target);
	if (!v)
		return -ENOMEM;
	if (v->pass == c->pass)
		return check_error(c, s->target, "redeclared",
				   "variable '$%.*s' is already declared",
				   STR_FMT(s->target->text));
	v->is_typed = v->is_loop = true;
	v->shape = shape_int(true);
	v->pass = c->pass;
	s->target->variable = v;
	body = check_nested(c, s->body, true);
	v->is_loop = false; /* gone after the loop */
	v->pass = 0;
	return err ? err : body;
}

static int check_jump(struct check *c, struct stmt *s)
{
	if (c->loop_depth)
		return 0;
	return diag_error_at(c->d, -EINVAL, "no-loop", script_span(c->s, s->mark),
			     "'%s' outside of a loop",
			     s->kind == STMT_BREAK ? "break" : "continue");
}

/* An expression alone is fine when it does something. */
static int check_effect(struct check *c, struct stmt *s)
{
	struct expr *e = s->value;
	int err;

	if (is_aggregate_call(e))
		return refuse_aggregate(c, e);
	err = check_expr(c, e);
	return !err && e->is_whole ? check_storable(c, e, "a statement") : err;
}

static int check_stmt(struct check *c, struct stmt *s)
{
	switch (s->kind) {
	case STMT_EXPR: return check_effect(c, s);
	case STMT_ASSIGN: return check_assign(c, s);
	case STMT_LET: return check_let(c, s);
	case STMT_IF: return check_if(c, s);
	case STMT_UNROLL: return check_unroll(c, s);
	case STMT_WHILE: return check_while(c, s);
	case STMT_FOR: return check_for(c, s);
	case STMT_BLOCK: return check_body(c, s->body);
	case STMT_BREAK:
	case STMT_CONTINUE: return check_jump(c, s);
	case STMT_RETURN: return 0;
	}
	return 0;
}

static int check_body(struct check *c, struct stmt *s)
{
	int first = 0;

	for (; s; s = s->next) {
		int err = place_number(c->s, s->mark, &s->place);

		if (!err)
			err = check_stmt(c, s);

		first = first ? first : err;
	}
	return first;
}

int check_variant(struct check *c, struct variant *v)
{
	struct expr *p = v->clause->predicate;
	int err = 0, body;

	if (place_number(c->s, v->clause->mark, &v->clause->place))
		return -ENOMEM;
	c->v = v;
	c->block_depth = c->loop_depth = 0;
	if (p)
		err = check_expr(c, p);
	if (p && !err)
		err = check_int(c, p, "a predicate");
	body = check_body(c, v->clause->body);
	return err ? err : body;
}
