/* Types of statements: what variables and maps hold, where jumps may stand. Each statement is
 * checked even when the one before it is wrong, so that one run reports all errors. */
#include "script/check/check.h"

#include <errno.h>
#include <stdio.h>

#include "program/numbers.h"
#include "program/enum_text.h"
#include "script/check/ctypes.h"
#include "script/check/expr_kinds.h"
#include "script/check/map.h"
#include "script/check/value_text.h"
#include "script/check/value_type.h"
#include "script/parse/builtin.h"

#define MAX_UNROLL 100

static void check_body(struct check *c, struct stmt *s);
static void check_nested(struct check *c, struct stmt *body, bool is_loop);

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
	v->depth = c->block_depth;
	c->v->variables = v;
	return v;
}

bool type_points_elsewhere(const struct type *a, const struct type *b)
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
		    struct type *known, struct expr *value, struct mark first)
{
	const struct type *t = &value->shape.type;
	bool is_elsewhere = type_points_elsewhere(known, t);

	if (known->kind == TYPE_STR)
		check_enum_text(c, value);
	if (t->kind == TYPE_STR && (known->kind == TYPE_NAME || enum_text_count(known))) {
		/* what it was given before is one, too */
		*known = *t;
		c->changed = true;
	}
	check_reorder(c, value, known);
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

/* Could `v` hold what the value is, too? */
static bool could_hold(struct check *c, const struct variable *v, struct expr *value)
{
	struct type known = v->shape.type;
	bool changed = c->changed, fits;

	check_reorder(c, value, &known);
	fits = !v->is_typed || !check_merge(c, &known, &value->shape.type);
	c->changed = changed;
	return fits;
}

/* The variable that this very target has declared before, which is seen again; else of its name. */
static struct variable *find_declared(struct check *c, const struct expr *target)
{
	for (struct variable *v = c->v->variables; v; v = v->next) {
		if (v->let != target)
			continue;
		v->is_hidden = v->is_over = false;
		return v;
	}
	return check_find_variable(c, target->text);
}

/* A variable belongs to the whole clause, as in older scripts. But when its block has ended, and
 * another block gives its name a value of another type, then it is a variable of that block. */
static struct variable *assigned_variable(struct check *c, struct expr *target, struct expr *value)
{
	struct variable *v = find_declared(c, target);
	bool is_another = v && v->is_over && !could_hold(c, v, value);

	if (v && !is_another)
		return v;
	v = new_variable(c, target);
	if (v && is_another)
		v->let = target;
	return v;
}

static void check_text_fits(struct check *c, const struct expr *value, uint32_t most)
{
	if (c->err || !most || value->shape.type.kind != TYPE_STR ||
	    type_capacity(&value->shape.type) <= most)
		return;
	check_error(c, value, "type-mismatch", "%s does not fit string[%u]",
		    check_type_text(c, &value->shape.type), most);
	diag_hint(c->d, "declared as 'string', a variable has room for any text");
}

/* Is it a literal of 64 bits, of which the first is the sign for one and a digit for the other? */
static bool is_other_sign(const struct expr *value, const struct type *t)
{
	return t->size == 8 && !t->show && !t->shown && (int64_t)value->value < 0 &&
	       value->shape.type.is_signed != t->is_signed && !value->shape.type.show &&
	       value->shape.type.shown;
}

/* A constant must be one of those that a declared number can be. */
static void check_fits(struct check *c, const struct expr *value, const struct type *t)
{
	if (t->kind == TYPE_INT && expr_is_int(value) && value->is_const &&
	    (extend_bits(value->value, t->size, t->is_signed) != value->value ||
	     is_other_sign(value, t)))
		check_error(c, value, "type-mismatch", "%.*s is not in the range of %s",
			    (int)value->mark.len, c->s->text.ptr + value->mark.at,
			    check_type_text(c, t));
}

/* Does the script say of which type it is? */
static bool is_declared(const struct variable *v)
{
	return v->shape.type.size < 8 || (v->let && (v->let->named || v->let->arg_count));
}

void check_assign_variable(struct check *c, struct expr *target, struct expr *value,
			   struct mark mark)
{
	struct variable *v = NULL;
	struct type before;
	bool changed;

	check_storable(c, value, "a variable's value");
	if (!c->err)
		v = assigned_variable(c, target, value);
	target->variable = v;
	if (c->err)
		return;
	v->pass = v->assigned = c->pass;
	if (!v->is_typed) {
		v->is_typed = true;
		v->shape = value->shape;
		if (v->shape.type.kind == TYPE_INT)
			hold_any_width(&v->shape.type);
		v->mark = mark;
		c->changed = true;
	} else {
		check_text_fits(c, value, v->most);
		if (is_declared(v))
			check_fits(c, value, &v->shape.type);
		before = v->shape.type;
		changed = c->changed;
		take_in(c, target, variable_name(v->name), "$", &v->shape.type, value, v->mark);
		if (is_declared(v) && before.kind == TYPE_INT) {
			v->shape.type = before;
			c->changed = changed;
		}
	}
	if (c->err)
		return;
	if (v->depth > c->block_depth)
		v->depth = c->block_depth;
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
	if (value->kind == EXPR_MAP && type_is_aggregate(&value->map->value))
		m->copied = value;
	else
		m->has_own = true;
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
static bool is_aggregate_call(const struct check *c, const struct expr *e)
{
	const struct function *f =
		e->kind == EXPR_CALL ? function_find(c->s->builtins, e->text) : NULL;

	return f && f->group == GROUP_AGGREGATION;
}

static void refuse_aggregate(struct check *c, const struct expr *e)
{
	check_error(c, e, "not-in-map", "'%.*s' can only be assigned to a map", STR_FMT(e->text));
	diag_hint(c->d, "for example: @ = %.*s(...)", STR_FMT(e->text));
}

/* What was a bool or a constant and is added to is a number. */
static void check_sum(struct check *c, struct type *t)
{
	if (t->kind != TYPE_INT || type_target(t))
		return;
	if (t->size == 8 && t->shown && t->shown < 8) {
		t->shown = 8;
		c->changed = true;
	}
	if (t->show == SHOW_NUMBER)
		return;
	t->show = SHOW_NUMBER;
	c->changed = true;
}

void check_in_place(struct check *c, struct expr *target, bool is_signed)
{
	struct type *t = target->map ? &target->map->value : &target->variable->shape.type;
	bool was_signed = t->is_signed;

	check_sum(c, t);
	if (t->kind != TYPE_INT || type_target(t) || t->is_open ||
	    (target->variable && is_declared(target->variable)))
		return;
	t->is_signed = is_signed || (was_signed && !t->is_flexible);
	c->changed |= t->is_flexible || was_signed != t->is_signed;
	t->is_flexible = false;
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

void check_counted(struct check *c, struct expr *e)
{
	struct variable *v = check_find_variable(c, e->text);

	if (v && !v->is_typed) {
		v->is_typed = c->changed = true;
		v->shape = shape_int(true);
		v->mark = e->mark;
	}
	if (v)
		v->assigned = c->pass;
	check_variable(c, e);
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
			s->target->map->has_own = true;
		if (!c->err)
			s->target->shape = shape_of(s->target->map->value);
	} else {
		check_counted(c, s->target);
	}
	if (!c->err)
		show_all(c, s->target, s->value);
	if (!c->err && expr_is_int(s->target) && expr_is_int(s->value))
		check_in_place(c, s->target, operator_gives_signed(s->op, s->target, s->value));
	snprintf(what, sizeof(what), "the left side of '%s='", operator_text(s->op));
	check_int(c, s->target, what);
	check_int(c, s->value, "the right side");
}

/* @ = { f(); count() }: the block, whose last statement assigns */
static bool assign_in_block(struct check *c, struct stmt *s)
{
	struct expr *block = s->value;
	struct stmt *inner, **last = &block->body;

	if (block->kind != EXPR_BLOCK || !block->arg_count ||
	    !is_aggregate_call(c, block->args[0]) || s->target->kind != EXPR_MAP || s->op)
		return false;
	inner = arena_new(&c->s->arena, struct stmt);
	if (!inner) {
		c->err = -ENOMEM;
		return true;
	}
	*inner = *s;
	inner->next = NULL;
	inner->value = block->args[0];
	while (*last)
		last = &(*last)->next;
	*last = inner;
	s->kind = STMT_BLOCK;
	s->body = block->body;
	s->target = s->value = NULL;
	check_nested(c, s->body, false);
	return true;
}

static void check_assign(struct check *c, struct stmt *s)
{
	struct map *map = s->target->kind == EXPR_MAP ? check_map(c, s->target->text) : NULL;

	if (map)
		map->is_target = true;
	if (assign_in_block(c, s))
		return;
	if (is_aggregate_call(c, s->value) && (s->target->kind != EXPR_MAP || s->op)) {
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

/* The variable that `target` declares in the block that is being looked at. */
static struct variable *declare_variable(struct check *c, struct expr *target)
{
	struct variable *v = find_declared(c, target);

	if (v && v->let == target)
		return v;
	if (v && v->pass == c->pass && !v->is_over) {
		check_error(c, target, "redeclared", "variable '$%.*s' is already declared",
			    STR_FMT(variable_name(target->text)));
		return NULL;
	}
	v = new_variable(c, target);
	if (v)
		v->let = target;
	return v;
}

/* The type after "let $x:". */
static struct type declared_type(struct check *c, const struct expr *target)
{
	const struct ctype *named = check_ctype(c, target->named);
	struct type t = check_value_type(c, named);
	uint64_t count;

	if (check_named_text(named, &t))
		return t;
	if (!check_ctype_known(named))
		check_unknown_type(c, target, named);
	else if (named->kind == CTYPE_ARRAY && !ctype_count(named, &count))
		check_error(c, target, "unsupported", "the array needs the number of its elements");
	else if (t.kind == TYPE_NONE && (named->kind == CTYPE_ARRAY || ctype_is_composite(named)))
		t = check_whole_type(c, target, named);
	else if (t.kind == TYPE_NONE || t.kind == TYPE_FLOAT)
		check_error(c, target, "unsupported", "a variable cannot be declared as %s",
			    t.kind == TYPE_FLOAT ? "a float" : "void");
	return t;
}

/* What a block has declared ends with it; another block may declare the name again. */
static void end_block(struct check *c)
{
	for (struct variable *v = c->v->variables; v; v = v->next) {
		v->is_over |= v->depth > c->block_depth;
		v->is_hidden |= v->let && v->depth > c->block_depth;
	}
}

/* let $x; let $x: int32; let $x = 5; without a type the first value gives it one, and until then it
 * is 0. */
static void check_let(struct check *c, struct stmt *s)
{
	struct type none = {.kind = TYPE_NONE}, declared = none;
	struct variable *v;

	if (s->target->named || s->target->arg_count)
		declared = s->target->named ? declared_type(c, s->target)
					    : check_typeof(c, s->target->args[0]);
	if (s->value)
		check_expr(c, s->value);
	v = c->err ? NULL : declare_variable(c, s->target);
	if (!v)
		return;
	if (declared.kind != TYPE_NONE && !v->is_typed) {
		v->is_typed = true;
		v->shape = shape_of(declared);
		v->most = declared.kind == TYPE_STR ? declared.capacity : 0;
		v->mark = s->target->mark;
		c->changed = true;
	}
	if (s->value) {
		check_fits(c, s->value, &declared);
		check_assign_variable(c, s->target, s->value, s->target->mark);
		return;
	}
	v->needs_zero = true;
	v->pass = c->pass;
	s->target->variable = v;
}

static void check_nested(struct check *c, struct stmt *body, bool is_loop)
{
	c->block_depth++;
	c->loop_depth += is_loop;
	check_body(c, body);
	c->loop_depth -= is_loop;
	c->block_depth--;
	end_block(c);
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
	struct variable *v = declare_variable(c, s->target);
	struct shape shape;
	int range;

	if (!v)
		return;
	shape = s->to ? check_range(c, s) : check_entries(c, s->value, v);
	v->is_hidden = v->is_over = false; /* the end of a block in a bound has ended it */
	range = c->err;
	c->err = 0; /* the rest is checked even when the range is wrong */
	v->depth = c->block_depth + 1;
	if (!c->err) {
		if (!v->is_typed || !s->to)
			v->shape = shape;
		v->is_typed = true;
		v->needs_zero = false;
		v->pass = v->assigned = c->pass;
		s->target->variable = v;
		check_nested(c, s->body, true);
	}
	c->err = range ? range : c->err;
}

/* An expression alone is fine when it does something. */
static void check_effect(struct check *c, struct expr *e)
{
	if (is_aggregate_call(c, e)) {
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
		check_condition(c, s->value);
		if (!stmt_skips(s, true))
			check_nested(c, s->body, s->kind == STMT_WHILE);
		if (!stmt_skips(s, false))
			check_nested(c, s->other, false);
		break;
	case STMT_UNROLL: check_unroll(c, s); break;
	case STMT_FOR: check_for(c, s); break;
	case STMT_BLOCK: check_nested(c, s->body, false); break;
	case STMT_BREAK:
	case STMT_CONTINUE:
		if (!c->loop_depth)
			c->err = diag_error_at(c->d, -EINVAL, "no-loop", script_span(c->s, s->mark),
					       "'%s' outside of a loop",
					       s->kind == STMT_BREAK ? "break" : "continue");
		break;
	case STMT_RETURN:
		if (s->target)
			check_assign(c, s);
		else if (s->value)
			check_number(c, s->value, "what is returned");
		break;
	}
}

/* Each statement begins without an error; the first one is what is left. */
static void check_body(struct check *c, struct stmt *body)
{
	int first = c->err;

	for (struct stmt *s = body; s; s = s->next) {
		c->err = span_intern(c->s, s->mark, &s->span);
		if (!c->err)
			check_stmt(c, s);
		first = first ? first : c->err;
	}
	c->err = first;
	if (!first)
		pair_takes(body);
}

void check_block(struct check *c, struct expr *e)
{
	struct expr *value = e->arg_count ? e->args[0] : NULL;

	c->block_depth++;
	check_body(c, e->body);
	if (value && !c->err && is_aggregate_call(c, value))
		refuse_aggregate(c, value);
	if (value && !c->err) {
		check_expr(c, value);
		check_settle(c, value);
		e->shape = value->shape;
		e->is_const = !e->body && value->is_const;
		e->value = value->value;
	}
	c->block_depth--;
	end_block(c);
}

int check_variant(struct check *c, struct variant *v)
{
	struct expr *p = v->clause->predicate;

	c->v = v;
	c->block_depth = c->loop_depth = 0;
	for (struct variable *x = v->variables; x; x = x->next)
		x->is_over = false, x->is_hidden = x->let; /* until its declaration */
	c->err = span_intern(c->s, v->clause->mark, &v->clause->span);
	if (p)
		check_condition(c, p);
	if (c->err != -ENOMEM)
		check_body(c, v->clause->body);
	return c->err;
}
