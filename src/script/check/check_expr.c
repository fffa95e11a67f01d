/* Types of expressions, bottom up, and constants folded on the way.
 *
 * Comes in: an expression of the tree. Goes out: its shape, its value when it is constant, and the
 * map, variable or function it names. Maps, operators and calls have files of their own. */
#include "script/check/expr_kinds.h"

#include <errno.h>

#include "program/numbers.h"
#include "script/check/check.h"
#include "script/check/ctypes.h"
#include "script/check/map.h"
#include "script/check/named.h"
#include "script/check/value_type.h"
#include "script/parse/lex.h"

void check_unstable(struct check *c, const struct expr *e, const char *setting, const char *value)
{
	if (!strcmp(value, "error"))
		check_error(c, e, "unstable", "the setting %s = %s refuses this", setting, value);
}

void check_number(struct check *c, struct expr *e, const char *what)
{
	check_expr(c, e);
	check_int(c, e, what);
}

void check_condition(struct check *c, struct expr *e)
{
	check_number(c, e, "a condition");
	if (c->err || e->kind != EXPR_MAP || !type_is_aggregate(&e->map->value))
		return;
	check_error(c, e, "wrong-type", "'%.*s' is an aggregation, and no condition",
		    STR_FMT(e->map->name));
	diag_hint(c->d, "write %.*s > 0", (int)e->mark.len, c->s->text.ptr + e->mark.at);
}

/* What can be a key, an element, or the value of a map or variable. */
void check_storable(struct check *c, struct expr *e, const char *what)
{
	const struct type *t = &e->shape.type;

	check_settle(c, e);
	if (e->is_whole && !c->err)
		check_whole_value(c, e);
	if (c->err)
		return;
	if (t->kind == TYPE_NONE)
		check_error(c, e, "no-value", "this has no value and cannot be used as %s", what);
	else if (type_is_aggregate(t))
		check_error(c, e, "wrong-type", "%s cannot be %s", what, check_type_text(c, t));
}

static void check_param(struct check *c, struct expr *e)
{
	const struct script_options *o = &c->s->options;
	struct str text = e->number <= o->param_count ? o->params[e->number - 1] : STR("0");
	bool is_signed = str_to_s64(text, (int64_t *)&e->value) == 0;

	e->is_const = true;
	if (is_signed || str_to_u64(text, &e->value) == 0) {
		e->shape = shape_int(is_signed);
		return;
	}
	if (!lex_number(text, &e->value)) { /* 10ms, 1e6 */
		e->shape = shape_int((int64_t)e->value >= 0);
		return;
	}
	e->kind = EXPR_STRING;
	e->text = text;
	check_expr(c, e);
}

static void check_tuple(struct check *c, struct expr *e)
{
	static const struct type empty = DISPLAY_TYPE("()", 1);
	struct type *elements = arena_array(&c->s->arena, struct type, e->arg_count + 1u);
	struct str names = e->text;

	if (!elements)
		c->err = -ENOMEM;
	if (!e->arg_count) {
		e->shape = shape_of(empty);
		return;
	}
	for (unsigned i = 0; i < e->arg_count && !c->err; i++) {
		check_expr(c, e->args[i]);
		check_storable(c, e->args[i], "an element");
		elements[i] = e->named ? check_value_type(c, e->named->to) : e->args[i]->shape.type;
		elements[i].name = str_cut(&names, ' ');
	}
	e->shape = shape_of((struct type){.kind = TYPE_TUPLE,
					  .show = e->text.len ? SHOW_RECORD
						  : e->named  ? SHOW_ARRAY
							      : SHOW_NUMBER,
					  .elements = elements,
					  .element_count = e->arg_count});
}

/* (b=2, a=1) where the names come in the order of `known`; other expressions stay as they are. */
/* The part of the record `e` with this name; -1: it has none. */
static int part_named(const struct expr *e, struct str name)
{
	for (unsigned i = 0; i < e->arg_count; i++)
		if (str_eq(e->shape.type.elements[i].name, name))
			return (int)i;
	return -1;
}

/* The parts of a record in the order that `known` has them, or as they are. */
static void reorder_parts(struct check *c, struct expr *e, const struct type *known)
{
	struct type *elements = arena_array(&c->s->arena, struct type, e->arg_count);
	struct expr **args = arena_array(&c->s->arena, struct expr *, e->arg_count);
	struct buf names = BUF_INIT;
	unsigned found = 0;

	for (; elements && args && found < e->arg_count; found++) {
		struct str name = known->elements[found].name;
		int from = part_named(e, name);

		if (from < 0)
			break;
		elements[found] = e->shape.type.elements[from];
		args[found] = e->args[from];
		buf_printf(&names, "%s%.*s", found ? " " : "", STR_FMT(name));
	}
	if (found == e->arg_count) {
		e->args = args;
		e->shape.type.elements = elements;
		e->text = arena_str(&c->s->arena, buf_as_str(&names));
	}
	buf_free(&names);
}

void check_reorder(struct check *c, struct expr *e, const struct type *known)
{
	struct type *elements;

	if (e->kind != EXPR_TUPLE || known->kind != TYPE_TUPLE ||
	    e->shape.type.show != known->show || known->element_count != e->arg_count)
		return;
	if (known->show == SHOW_RECORD)
		reorder_parts(c, e, known);
	elements = arena_array(&c->s->arena, struct type, e->arg_count);
	for (unsigned i = 0; elements && i < e->arg_count; i++) {
		elements[i] = e->shape.type.elements[i];
		check_reorder(c, e->args[i], &known->elements[i]);
		if (e->args[i]->kind == EXPR_TUPLE)
			elements[i].elements = e->args[i]->shape.type.elements;
	}
	if (!elements)
		return;
	e->shape.type.elements = elements;
}

static void check_element(struct check *c, struct expr *e)
{
	const struct type *t = &e->args[0]->shape.type;

	check_expr(c, e->args[0]);
	if (c->err)
		return;
	if (t->kind != TYPE_TUPLE)
		check_error(c, e, "wrong-type", "'.%llu' works on tuples, not on %s",
			    (unsigned long long)e->number,
			    t->kind == TYPE_NONE ? "something without a value"
						 : check_type_text(c, t));
	else if (t->show == SHOW_RECORD)
		check_error(c, e, "bad-element", "the parts of a record have names, not numbers");
	else if (e->number >= t->element_count)
		check_error(c, e, "bad-element", "the tuple has %u elements: .0 to .%u",
			    t->element_count, t->element_count - 1);
	else
		e->shape = shape_of(t->elements[e->number]);
}

/* The bytes that a number needs, 1 to 8: what sizeof() says of a constant. */
static uint8_t bytes_of(uint64_t value, bool is_signed)
{
	for (unsigned size = 1; size < 8; size *= 2)
		if (extend_bits(value, size, is_signed) == value)
			return (uint8_t)size;
	return 8;
}

static bool is_plain_constant(const struct expr *e)
{
	const struct type *t = &e->shape.type;

	for (unsigned i = 0; i < e->arg_count; i++)
		if (e->args[i] && e->args[i]->kind == EXPR_CAST)
			return false; /* it has 64 bits, as has what is computed of it */
	return e->is_const && t->kind == TYPE_INT && !t->show && !t->shown && !t->ctype &&
	       (e->kind == EXPR_INT || e->kind == EXPR_UNARY || e->kind == EXPR_BINARY);
}

static void set_const(struct expr *e, bool is_signed, uint64_t value)
{
	e->shape = shape_int(is_signed);
	e->is_const = true;
	e->value = value;
}

void check_expr(struct check *c, struct expr *e)
{
	if (c->err)
		return;
	e->is_const = false;
	e->is_whole = e->is_place = false;
	e->shape = shape_of((struct type){.kind = TYPE_NONE});
	c->err = span_intern(c->s, e->mark, &e->span);
	if (c->err)
		return;
	switch (e->kind) {
	case EXPR_INT: set_const(e, e->number <= INT64_MAX, e->number); break;
	case EXPR_PARAMS: set_const(e, false, c->s->options.param_count); break;
	case EXPR_PARAM: check_param(c, e); break;
	case EXPR_STRING: check_string(c, e, c->s->facts.max_strlen - 1); break;
	case EXPR_VARIABLE: check_variable(c, e); break;
	case EXPR_MAP: check_map_read(c, e); break;
	case EXPR_NAME:
		if (!function_find(c->s->builtins, e->text) && check_constant(c, e))
			break;
		check_call(c, e);
		break;
	case EXPR_CALL: check_call(c, e); break;
	case EXPR_UNARY: check_unary(c, e); break;
	case EXPR_STEP: check_step(c, e); break;
	case EXPR_BINARY: check_binary(c, e); break;
	case EXPR_TERNARY: check_ternary(c, e); break;
	case EXPR_CAST: check_cast(c, e); break;
	case EXPR_TUPLE: check_tuple(c, e); break;
	case EXPR_ELEMENT: check_element(c, e); break;
	case EXPR_FIELD: check_field(c, e); break;
	case EXPR_INDEX: check_index(c, e); break;
	case EXPR_BLOCK: check_block(c, e); break;
	case EXPR_MEMBER: check_member(c, e); break;
	case EXPR_SIZEOF: check_sizeof(c, e); break;
	case EXPR_OFFSETOF: check_offsetof(c, e); break;
	case EXPR_TYPE:
		check_error(c, e, "typeof-value",
			    "'typeof' stands for a type: write (typeof($x))y");
		break;
	}
	if (is_plain_constant(e))
		e->shape.type.shown = bytes_of(e->value, e->shape.type.is_signed);
	if (e->is_const && e->kind != EXPR_CAST && e->shape.type.kind == TYPE_INT)
		e->shape.type.is_flexible = (int64_t)e->value >= 0;
	if (e->is_comptime && !e->is_const && e->kind != EXPR_STRING)
		check_error(c, e, "not-constant", "the value of 'comptime' must be constant");
}

void check_asked(struct check *c, struct expr *e)
{
	bool was_asked = c->is_asked;

	c->is_asked = true;
	check_expr(c, e);
	c->is_asked = was_asked;
}
