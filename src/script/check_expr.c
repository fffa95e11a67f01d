/* Types of expressions, bottom up, and constants folded on the way.
 *
 * Comes in: an expression of the tree. Goes out: its shape, its value when it is constant, and the
 * map, variable or function it names. Maps, operators and calls have files of their own. */
#include "script/inside.h"

#include <errno.h>

int check_error(const struct check *c, const struct expr *e, const char *tag, const char *format,
		...)
{
	struct buf text = BUF_INIT;
	va_list args;

	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	diag_error_at(c->d, -EINVAL, tag, script_span(c->s, e->mark), "%.*s",
		      STR_FMT(buf_as_str(&text)));
	buf_free(&text);
	return -EINVAL;
}

bool expr_is_int(const struct expr *e)
{
	return e->shape.type.kind == TYPE_INT;
}

bool expr_is_text(const struct expr *e)
{
	return e->shape.type.kind == TYPE_STR;
}

int check_int(struct check *c, const struct expr *e, const char *what)
{
	if (expr_is_int(e))
		return 0;
	if (e->shape.type.kind == TYPE_FLOAT) {
		check_error(c, e, "float-use", "%s cannot be a float", what);
		diag_hint(c->d, "convert it to an integer: (int64)(%.*s)", (int)e->mark.len,
			  c->s->text.ptr + e->mark.at);
		return -EINVAL;
	}
	return check_error(c, e, "wrong-type", "%s must be an integer, not %s", what,
			   e->shape.type.kind == TYPE_NONE ? "something without a value"
							   : check_type_text(c, &e->shape.type));
}

/* What can be a key, an element, or the value of a map or variable. */
int check_storable(struct check *c, const struct expr *e, const char *what)
{
	const struct type *t = &e->shape.type;

	if (e->is_whole)
		return check_error(c, e, "no-value", "'args' as a whole can only be printed");
	if (t->kind == TYPE_NONE)
		return check_error(c, e, "no-value", "this has no value and cannot be used as %s",
				   what);
	if (type_is_aggregate(t))
		return check_error(c, e, "wrong-type", "%s cannot be %s", what,
				   check_type_text(c, t));
	return 0;
}

static int check_param(struct check *c, struct expr *e)
{
	const struct script_options *o = &c->s->options;
	struct str text = e->number <= o->param_count ? o->params[e->number - 1] : STR("0");

	e->is_const = true;
	if (str_to_s64(text, (int64_t *)&e->value) == 0) {
		e->shape = shape_int(true);
		return 0;
	}
	if (str_to_u64(text, &e->value) == 0) {
		e->shape = shape_int(false);
		return 0;
	}
	check_error(c, e, "param-not-number", "parameter '%.*s' is not a number", STR_FMT(text));
	diag_hint(c->d, "use str($%llu) for its text", (unsigned long long)e->number);
	return -EINVAL;
}

struct variable *check_find_variable(const struct check *c, struct str name)
{
	for (struct variable *v = c->v->variables; v; v = v->next)
		if (str_eq(v->name, name))
			return v;
	return NULL;
}

int check_variable(struct check *c, struct expr *e)
{
	e->variable = check_find_variable(c, e->text);
	if (!e->variable || e->variable->pass != c->pass)
		return check_error(c, e, "undefined-variable",
				   "variable '$%.*s' is used before it has a value",
				   STR_FMT(e->text));
	e->shape = e->variable->shape;
	return 0;
}

static int check_tuple(struct check *c, struct expr *e)
{
	struct type *elements = arena_array(&c->s->arena, struct type, e->arg_count);
	int err = elements ? 0 : -ENOMEM;

	for (unsigned i = 0; i < e->arg_count && !err; i++) {
		err = check_expr(c, e->args[i]);
		if (!err)
			err = check_storable(c, e->args[i], "an element");
		if (!err)
			elements[i] = e->args[i]->shape.type;
	}
	e->shape = shape_of((struct type){
		.kind = TYPE_TUPLE, .elements = elements, .element_count = e->arg_count});
	return err;
}

static int check_element(struct check *c, struct expr *e)
{
	const struct type *t = &e->args[0]->shape.type;
	int err = check_expr(c, e->args[0]);

	if (err)
		return err;
	if (t->kind != TYPE_TUPLE)
		return check_error(c, e, "wrong-type", "'.%llu' works on tuples, not on %s",
				   (unsigned long long)e->number,
				   t->kind == TYPE_NONE ? "something without a value"
							: check_type_text(c, t));
	if (e->number >= t->element_count)
		return check_error(c, e, "bad-element", "the tuple has %u elements: .0 to .%u",
				   t->element_count, t->element_count - 1);
	e->shape = shape_of(t->elements[e->number]);
	return 0;
}

static int check_leaf(struct check *c, struct expr *e)
{
	switch (e->kind) {
	case EXPR_INT:
		e->shape = shape_int(e->number <= INT64_MAX);
		e->is_const = true;
		e->value = e->number;
		return 0;
	case EXPR_STRING:
		if (e->text.len > PROGRAM_MAX_TEXT)
			return check_error(c, e, "too-big", "this string is too long");
		e->shape = shape_of(type_text(TYPE_STR, e->text.len));
		return 0;
	case EXPR_PARAM: return check_param(c, e);
	case EXPR_PARAMS:
		e->shape = shape_int(true);
		e->is_const = true;
		e->value = c->s->options.param_count;
		return 0;
	default: return check_variable(c, e);
	}
}

int check_expr(struct check *c, struct expr *e)
{
	e->is_const = false;
	e->is_whole = false;
	e->shape = shape_of((struct type){.kind = TYPE_NONE});
	if (place_number(c->s, e->mark, &e->place))
		return -ENOMEM;
	switch (e->kind) {
	case EXPR_INT:
	case EXPR_STRING:
	case EXPR_PARAM:
	case EXPR_PARAMS:
	case EXPR_VARIABLE: return check_leaf(c, e);
	case EXPR_MAP: return check_map_read(c, e);
	case EXPR_NAME:
	case EXPR_CALL: return check_call(c, e);
	case EXPR_UNARY: return check_unary(c, e);
	case EXPR_STEP: return check_step(c, e);
	case EXPR_BINARY: return check_binary(c, e);
	case EXPR_TERNARY: return check_ternary(c, e);
	case EXPR_CAST: return check_cast(c, e);
	case EXPR_TUPLE: return check_tuple(c, e);
	case EXPR_ELEMENT: return check_element(c, e);
	case EXPR_FIELD: return check_field(c, e);
	case EXPR_INDEX: return check_index(c, e);
	}
	return 0;
}
