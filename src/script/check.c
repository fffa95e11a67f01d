/* Types of statements: what variables and maps hold, where jumps may stand. Each statement is
 * checked even when the one before it is wrong, so that one run reports all errors. */
#include "script/inside.h"

#include <errno.h>
#include <stdio.h>

#define MAX_UNROLL 100

static void check_body(struct check *c, struct stmt *s);

static struct variable *new_variable(struct check *c, struct expr *target)
{
	struct variable *v = arena_new(&c->s->arena, struct variable);

	if (!v) {
		c->err = -ENOMEM;
		return NULL;
	}
	v->name = target->text;
	v->next = c->v->variables;
	/* What follows a block may read the variable although the block did not run. */
	v->needs_zero = c->block_depth > 0;
	c->v->variables = v;
	return v;
}

/* Do both point, but to values of other types? */
static bool points_elsewhere(const struct type *a, const struct type *b)
{
	const struct ctype *x = type_target(a), *y = type_target(b);

	if (!x || !y)
		return false;
	x = ctype_resolve(x);
	y = ctype_resolve(y);
	return x->kind != CTYPE_VOID && y->kind != CTYPE_VOID && !ctype_same(x, y);
}

/* The variable or map called `name` holds what the value is, too. */
static void take_in(struct check *c, const struct expr *target, struct str name, const char *sigil,
		    struct type *known, const struct expr *value, struct mark first)
{
	const struct type *t = &value->shape.type;
	bool is_elsewhere = points_elsewhere(known, t);

	if (!is_elsewhere && !check_merge(c, known, t))
		return;
	if (is_elsewhere)
		check_error(c, target, "type-mismatch", "'%s%.*s' points to values of another type",
			    sigil, STR_FMT(name));
	else
		check_error(c, target, "type-mismatch", "'%s%.*s' holds %s, not %s", sigil,
			    STR_FMT(name), check_type_text(c, known), check_type_text(c, t));
	diag_hint(c->d, "the first use fixes the type: '%.*s'", (int)first.len,
		  c->s->text.ptr + first.at);
}

/* It holds 8 bytes, and shows as many as the first value has, until there are wider ones. */
static void hold_any_width(struct type *t)
{
	if (!t->shown)
		t->shown = (uint8_t)t->size;
	t->size = 8;
}

void check_assign_variable(struct check *c, struct expr *target, struct expr *value,
			   struct mark mark)
{
	struct variable *v = check_find_variable(c, target->text);

	check_storable(c, value, "a variable's value");
	if (!c->err && !v)
		v = new_variable(c, target);
	target->variable = v;
	check_not_loop(c, target, target);
	if (c->err)
		return;
	if (!v->is_typed) {
		v->is_typed = true;
		v->shape = value->shape;
		if (v->shape.type.kind == TYPE_INT)
			hold_any_width(&v->shape.type);
		v->mark = mark;
		c->changed = true;
	} else {
		take_in(c, target, v->name, "$", &v->shape.type, value, v->mark);
	}
	if (c->err)
		return;
	v->pass = c->pass;
	check_widen(c, value, &v->shape.type);
	target->shape = v->shape;
}

/* The type of the map's values after this one: aggregates must be the same, others merge. */
static void assign_map(struct check *c, struct expr *target, struct expr *value, struct mark mark)
{
	struct map *m;

	check_map_key(c, target);
	if (!type_is_aggregate(&value->shape.type))
		check_storable(c, value, "a map's value");
	if (c->err)
		return;
	m = target->map;
	if (m->is_fine)
		type_refine(&value->shape.type);
	if (!m->has_value) {
		m->has_value = true;
		m->value = value->shape.type;
		m->value_mark = mark;
		c->changed = true;
	} else {
		take_in(c, target, m->name, "", &m->value, value, m->value_mark);
	}
	if (c->err)
		return;
	if (m->value.kind == TYPE_INT)
		hold_any_width(&m->value);
	check_widen(c, value, &m->value);
	target->shape = shape_of(m->value);
}

/* Is this a call like count(), which only a map can take? */
static bool is_aggregate_call(const struct expr *e)
{
	const struct function *f = e->kind == EXPR_CALL ? function_find(e->text) : NULL;

	return f && f->group == GROUP_AGGREGATION;
}

static void refuse_aggregate(struct check *c, const struct expr *e)
{
	check_error(c, e, "not-in-map", "'%.*s' can only be assigned to a map", STR_FMT(e->text));
	diag_hint(c->d, "for example: @ = %.*s(...)", STR_FMT(e->text));
}

/* What was a bool or a constant and is added to is a number. */
void check_sum(struct check *c, struct type *t)
{
	if (t->kind != TYPE_INT || t->show == SHOW_NUMBER || type_target(t))
		return;
	t->show = SHOW_NUMBER;
	c->changed = true;
}

/* What is computed in place may be wider than what was put there. */
static void show_all(struct check *c, struct expr *target, const struct expr *value)
{
	struct type *t = target->map ? &target->map->value : &target->variable->shape.type;
	bool raw = t->is_raw && (value->is_const || value->shape.type.is_raw);

	check_sum(c, t);
	if (t->kind != TYPE_INT || t->size < 8 ||
	    ((!t->shown || t->shown == 8) && t->is_raw == raw))
		return;
	t->shown = 8;
	t->is_raw = raw;
	c->changed = true;
}

/* x op= value, which reads x first. A map without a value counts as 0, so this may be its first
 * assignment; a variable must have had one. */
static void check_compound(struct check *c, struct stmt *s)
{
	char what[40];

	if (s->target->kind == EXPR_MAP) {
		check_map_key(c, s->target);
		if (!c->err && !s->target->map->has_value)
			assign_map(c, s->target, s->value, s->mark);
		if (!c->err)
			s->target->shape = shape_of(s->target->map->value);
	} else {
		check_expr(c, s->target);
		check_not_loop(c, s->target, s->target);
	}
	if (!c->err)
		show_all(c, s->target, s->value);
	snprintf(what, sizeof(what), "the left side of '%s='", operator_text(s->op));
	check_int(c, s->target, what);
	check_int(c, s->value, "the right side");
}

static void check_assign(struct check *c, struct stmt *s)
{
	if (is_aggregate_call(s->value) && (s->target->kind != EXPR_MAP || s->op)) {
		refuse_aggregate(c, s->value);
		return;
	}
	check_expr(c, s->value);
	if (s->op) {
		check_compound(c, s);
	} else if (s->target->kind == EXPR_MAP) {
		assign_map(c, s->target, s->value, s->mark);
		check_series(c, s->target, s->value);
	} else {
		check_assign_variable(c, s->target, s->value, s->mark);
	}
}

static void refuse_declared(struct check *c, const struct variable *v, const struct expr *target)
{
	if (v && v->pass == c->pass)
		check_error(c, target, "redeclared", "variable '$%.*s' is already declared",
			    STR_FMT(target->text));
}

/* The type after "let $x:". */
static struct type declared_type(struct check *c, const struct expr *target)
{
	const struct ctype *named = check_ctype(c, target->named);
	struct type t = check_value_type(c, named);

	if (!check_ctype_known(named))
		check_unknown_type(c, target, named);
	else if (t.kind != TYPE_INT)
		check_error(c, target, "unsupported",
			    "only integers, enums and pointers can be declared");
	return t;
}

/* The variable that this very `let` has declared before, which is seen again; else of this name. */
static struct variable *find_declared(struct check *c, const struct expr *target)
{
	for (struct variable *v = c->v->variables; v; v = v->next) {
		if (v->let != target)
			continue;
		if (v->is_hidden && !check_find_variable(c, target->text))
			v->is_hidden = false;
		break;
	}
	return check_find_variable(c, target->text);
}

/* What a block has declared ends with it; another block may declare the name again. */
static void hide_declared(struct check *c)
{
	for (struct variable *v = c->v->variables; v; v = v->next)
		v->is_hidden |= v->let && v->depth > c->block_depth;
}

static void check_let(struct check *c, struct stmt *s)
{
	struct variable *v = find_declared(c, s->target);
	struct type none = {.kind = TYPE_NONE}, *declared = &none, named;

	if (s->target->named || s->target->arg_count) {
		named = s->target->named ? declared_type(c, s->target)
					 : check_typeof(c, s->target->args[0]);
		declared = &named;
	}
	if (s->value)
		check_expr(c, s->value);
	refuse_declared(c, v, s->target);
	if (!c->err && declared->kind == TYPE_INT && !v) {
		v = new_variable(c, s->target);
		if (!v)
			return;
		v->is_typed = true;
		v->shape = shape_of(*declared);
		v->mark = s->target->mark;
		c->changed = true;
	}
	if (s->value) {
		check_assign_variable(c, s->target, s->value, s->target->mark);
	} else if (!c->err && declared->kind == TYPE_INT) {
		/* Without a value and a type it is declared by its first assignment. */
		v->needs_zero = true;
		v->pass = c->pass;
		s->target->variable = v;
	}
	v = s->target->variable;
	if (c->err || !v || v->let)
		return;
	v->let = s->target;
	v->depth = c->block_depth;
}

static void check_nested(struct check *c, struct stmt *body, bool is_loop)
{
	c->block_depth++;
	c->loop_depth += is_loop;
	check_body(c, body);
	c->loop_depth -= is_loop;
	c->block_depth--;
	hide_declared(c);
}

static void check_unroll(struct check *c, struct stmt *s)
{
	check_expr(c, s->value);
	if (!expr_is_int(s->value) || !s->value->is_const || s->value->value < 1 ||
	    s->value->value > MAX_UNROLL)
		check_error(c, s->value, "bad-unroll", "'unroll' expects a constant from 1 to %d",
			    MAX_UNROLL);
	/* The body is copied: there is no loop to break out of. */
	check_nested(c, s->body, false);
}

static struct shape check_range(struct check *c, struct stmt *s)
{
	check_expr(c, s->value);
	check_expr(c, s->to);
	check_int(c, s->value, "the start of a range");
	check_int(c, s->to, "the end of a range");
	return shape_int(true);
}

/* The variable is what the map holds, and so may make it hold longer texts. */
static struct shape check_entries(struct check *c, struct expr *e, const struct variable *v)
{
	struct type *elements = arena_array(&c->s->arena, struct type, 2);
	struct map *m = e->map = check_map(c, e->text);
	const struct type *known =
		v && v->shape.type.kind == TYPE_TUPLE ? v->shape.type.elements : NULL;

	if (!elements)
		c->err = -ENOMEM;
	check_filled(c, e, "read");
	if (c->err)
		return shape_int(true);
	m->is_read = true;
	if (m->key.kind == TYPE_NONE)
		check_error(c, e, "key-mismatch", "'%.*s' has no keys to loop over",
			    STR_FMT(m->name));
	check_no_series(c, e, "looped over");
	check_is_readable(c, e);
	if (!c->err && known)
		check_merge(c, &m->key, &known[0]);
	if (!c->err && known && !type_is_aggregate(&m->value))
		check_merge(c, &m->value, &known[1]);
	elements[0] = m->key;
	elements[1] = type_is_aggregate(&m->value) ? type_int(8, m->value.is_signed) : m->value;
	return shape_of(
		(struct type){.kind = TYPE_TUPLE, .elements = elements, .element_count = 2});
}

static void check_for(struct check *c, struct stmt *s)
{
	struct variable *v = check_find_variable(c, s->target->text);
	struct shape shape = s->to ? check_range(c, s) : check_entries(c, s->value, v);
	int range = c->err;

	c->err = 0; /* the rest is checked even when the range is wrong */
	if (!v)
		v = new_variable(c, s->target);
	refuse_declared(c, v, s->target);
	if (!c->err) {
		v->is_typed = v->is_loop = true;
		v->shape = shape;
		v->pass = c->pass;
		s->target->variable = v;
		check_nested(c, s->body, true);
		v->is_loop = false; /* gone after the loop */
		v->pass = 0;
	}
	c->err = range ? range : c->err;
}

/* An expression alone is fine when it does something. */
static void check_effect(struct check *c, struct expr *e)
{
	if (is_aggregate_call(e)) {
		refuse_aggregate(c, e);
		return;
	}
	check_expr(c, e);
	if (e->is_whole)
		check_storable(c, e, "a statement");
}

bool stmt_skips(const struct stmt *s, bool when)
{
	return s->value->is_comptime && s->value->is_const && !s->value->value == when;
}

static void check_stmt(struct check *c, struct stmt *s)
{
	switch (s->kind) {
	case STMT_EXPR: check_effect(c, s->value); break;
	case STMT_ASSIGN: check_assign(c, s); break;
	case STMT_LET: check_let(c, s); break;
	case STMT_IF:
	case STMT_WHILE:
		check_number(c, s->value, "a condition");
		if (!stmt_skips(s, true))
			check_nested(c, s->body, s->kind == STMT_WHILE);
		if (!stmt_skips(s, false))
			check_nested(c, s->other, false);
		break;
	case STMT_UNROLL: check_unroll(c, s); break;
	case STMT_FOR: check_for(c, s); break;
	case STMT_BLOCK: check_body(c, s->body); break;
	case STMT_BREAK:
	case STMT_CONTINUE:
		if (!c->loop_depth)
			c->err = diag_error_at(c->d, -EINVAL, "no-loop", script_span(c->s, s->mark),
					       "'%s' outside of a loop",
					       s->kind == STMT_BREAK ? "break" : "continue");
		break;
	case STMT_RETURN:
		if (s->value)
			check_number(c, s->value, "what is returned");
		break;
	}
}

/* Each statement begins without an error; the first one is what is left. */
static void check_body(struct check *c, struct stmt *s)
{
	int first = c->err;

	for (; s; s = s->next) {
		c->err = span_intern(c->s, s->mark, &s->span);
		if (!c->err)
			check_stmt(c, s);
		first = first ? first : c->err;
	}
	c->err = first;
}

void check_block(struct check *c, struct expr *e)
{
	struct expr *value = e->arg_count ? e->args[0] : NULL;

	c->block_depth++;
	check_body(c, e->body);
	if (value && !c->err && is_aggregate_call(value))
		refuse_aggregate(c, value);
	if (value && !c->err) {
		check_expr(c, value);
		check_settle(c, value);
		e->shape = value->shape;
		e->is_const = !e->body && value->is_const;
		e->value = value->value;
	}
	c->block_depth--;
}

int check_variant(struct check *c, struct variant *v)
{
	struct expr *p = v->clause->predicate;

	c->v = v;
	c->block_depth = c->loop_depth = 0;
	for (struct variable *x = v->variables; x; x = x->next)
		x->is_hidden = x->let; /* until its `let` */
	c->err = span_intern(c->s, v->clause->mark, &v->clause->span);
	if (p)
		check_number(c, p, "a predicate");
	if (c->err != -ENOMEM)
		check_body(c, v->clause->body);
	return c->err;
}
