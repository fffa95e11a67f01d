/* Types of expressions, bottom up, and constants folded on the way. */
#include "script/builtins.h"
#include "script/compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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

struct shape shape_of(struct type t)
{
	return (struct shape){.type = t};
}

struct shape shape_int(bool is_signed)
{
	return shape_of(type_int(8, is_signed));
}

struct type type_text(enum type_kind kind, uint64_t bytes)
{
	uint64_t size = bytes < 8 ? 8 : (bytes + 7) / 8 * 8;

	if (size > PROGRAM_MAX_TEXT)
		size = PROGRAM_MAX_TEXT;
	return (struct type){.kind = kind, .size = (uint32_t)size};
}

bool type_is_word(const struct type *t)
{
	return t->kind == TYPE_INT || t->kind == TYPE_FLOAT || t->kind == TYPE_NAME;
}

const char *check_type_text(const struct check *c, const struct type *t)
{
	struct buf text = BUF_INIT;
	const char *copy;

	type_print(t, &text);
	copy = arena_text(&c->s->arena, buf_as_str(&text));
	buf_free(&text);
	return copy ? copy : "?";
}

static bool is_int(const struct expr *e)
{
	return e->shape.type.kind == TYPE_INT;
}

int check_int(struct check *c, const struct expr *e, const char *what)
{
	if (is_int(e))
		return 0;
	if (e->shape.type.kind == TYPE_FLOAT) {
		check_error(c, e, "float-use", "%s cannot be a float", what);
		diag_hint(c->d, "cut it to an integer: (int64)(%.*s)", (int)e->mark.len,
			  c->s->text.ptr + e->mark.at);
		return -EINVAL;
	}
	return check_error(c, e, "wrong-type", "%s must be an integer, not %s", what,
			   e->shape.type.kind == TYPE_NONE ? "something without a value"
							   : check_type_text(c, &e->shape.type));
}

static int merge_tuple(struct check *c, struct type *known, const struct type *t)
{
	struct type *elements = arena_array(&c->s->arena, struct type, known->element_count);

	if (!elements)
		return -ENOMEM;
	for (unsigned i = 0; i < known->element_count; i++) {
		elements[i] = known->elements[i];
		if (check_merge(c, &elements[i], &t->elements[i]))
			return -EINVAL;
	}
	if (!type_equal(known, &(struct type){.kind = TYPE_TUPLE,
					      .elements = elements,
					      .element_count = known->element_count}))
		known->elements = elements;
	return 0;
}

/* An aggregate that takes in signed and unsigned values is signed. */
static int merge_sign(struct check *c, struct type *known, const struct type *t)
{
	if (t->is_signed && !known->is_signed) {
		known->is_signed = true;
		c->changed = true;
	}
	return 0;
}

int check_merge(struct check *c, struct type *known, const struct type *t)
{
	if (known->kind != t->kind)
		return -EINVAL;
	switch (known->kind) {
	case TYPE_INT: return 0;
	case TYPE_SUM:
	case TYPE_MIN:
	case TYPE_MAX:
	case TYPE_AVG:
	case TYPE_STATS: return merge_sign(c, known, t);
	case TYPE_HIST: return known->bits == t->bits ? merge_sign(c, known, t) : -EINVAL;
	case TYPE_STR:
	case TYPE_BUF:
		if (t->size > known->size) {
			known->size = t->size;
			c->changed = true;
		}
		return 0;
	case TYPE_TUPLE:
		return known->element_count == t->element_count ? merge_tuple(c, known, t)
								: -EINVAL;
	default: return type_equal(known, t) ? 0 : -EINVAL;
	}
}

static struct type *widen_target(struct expr *e)
{
	if (e->kind == EXPR_VARIABLE && e->variable)
		return &e->variable->shape.type;
	if (e->kind == EXPR_MAP && e->map)
		return &e->map->value;
	return NULL;
}

void check_widen(struct check *c, struct expr *e, const struct type *t)
{
	struct type *target = e ? widen_target(e) : NULL;

	if (!e || (t->kind != TYPE_STR && t->kind != TYPE_BUF && t->kind != TYPE_TUPLE))
		return;
	if (target) {
		check_merge(c, target, t);
		e->shape.type = *target;
	} else if (e->kind == EXPR_TERNARY) {
		check_widen(c, e->args[1] ? e->args[1] : e->args[0], t);
		check_widen(c, e->args[2], t);
		e->shape.type = *t;
	} else if (e->kind == EXPR_TUPLE && t->kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < e->arg_count && i < t->element_count; i++)
			check_widen(c, e->args[i], &t->elements[i]);
		e->shape.type = *t;
	} else if (e->kind == EXPR_ELEMENT) {
		struct expr *of = e->args[0];
		struct type whole = of->shape.type;
		struct type *elements =
			arena_array(&c->s->arena, struct type, whole.element_count + 1);

		if (!elements || e->number >= whole.element_count)
			return;
		memcpy(elements, whole.elements, whole.element_count * sizeof(*elements));
		elements[e->number] = *t;
		whole.elements = elements;
		check_widen(c, of, &whole);
		e->shape.type = *t;
	}
}

struct map *check_map(struct check *c, struct str name)
{
	struct map **last = &c->s->maps;
	struct map *m;

	for (; *last; last = &(*last)->next)
		if ((*last)->name.len == name.len + 1 &&
		    !memcmp((*last)->name.ptr + 1, name.ptr, name.len))
			return *last;
	m = arena_new(&c->s->arena, struct map);
	if (!m)
		return NULL;
	m->name = arena_printf(&c->s->arena, "@%.*s", STR_FMT(name));
	m->index = c->s->map_count++;
	*last = m;
	return m;
}

/* What can be a key, an element, or the value of a map or variable. */
int check_storable(struct check *c, const struct expr *e, const char *what)
{
	const struct type *t = &e->shape.type;

	if (e->is_whole)
		return check_error(c, e, "no-value", "'args' as a whole can only be printed");
	if (t->kind == TYPE_NONE)
		return check_error(c, e, "no-value", "this has no value to be used as %s", what);
	if (type_is_aggregate(t))
		return check_error(c, e, "wrong-type", "%s cannot be %s", what,
				   check_type_text(c, t));
	return 0;
}

/* The type of all keys together: one key's own, a tuple for several. */
static int key_type(struct check *c, struct expr *e, struct type *out)
{
	struct type *elements;

	if (e->arg_count < 2) {
		*out = e->arg_count ? e->args[0]->shape.type : (struct type){.kind = TYPE_NONE};
		return 0;
	}
	elements = arena_array(&c->s->arena, struct type, e->arg_count);
	if (!elements)
		return -ENOMEM;
	for (unsigned i = 0; i < e->arg_count; i++)
		elements[i] = e->args[i]->shape.type;
	*out = (struct type){
		.kind = TYPE_TUPLE, .elements = elements, .element_count = e->arg_count};
	return 0;
}

static int key_mismatch(struct check *c, const struct expr *e, const struct type *key)
{
	struct map *m = e->map;
	struct diag *d = c->d;

	if (m->key.kind == TYPE_NONE)
		check_error(c, e, "key-mismatch", "'%.*s' has no key elsewhere, but one here",
			    STR_FMT(m->name));
	else if (key->kind == TYPE_NONE)
		check_error(c, e, "key-mismatch", "'%.*s' needs a key of type %s", STR_FMT(m->name),
			    check_type_text(c, &m->key));
	else
		check_error(c, e, "key-mismatch", "'%.*s' has keys of type %s, not %s",
			    STR_FMT(m->name), check_type_text(c, &m->key), check_type_text(c, key));
	diag_hint(d, "the first use fixes the key: '%.*s'", (int)m->key_mark.len,
		  c->s->text.ptr + m->key_mark.at);
	return -EINVAL;
}

int check_map_key(struct check *c, struct expr *e)
{
	struct type key;
	struct map *m = check_map(c, e->text);
	int err = m ? 0 : -ENOMEM;

	e->map = m;
	for (unsigned i = 0; i < e->arg_count && !err; i++) {
		err = check_expr(c, e->args[i]);
		if (!err)
			err = check_storable(c, e->args[i], "a key");
	}
	if (!err)
		err = key_type(c, e, &key);
	if (err)
		return err;
	if (!m->has_key) {
		m->has_key = true;
		m->key = key;
		m->key_mark = e->mark;
		c->changed = true;
	} else if (check_merge(c, &m->key, &key)) {
		return key_mismatch(c, e, &key);
	}
	if (e->arg_count == 1)
		check_widen(c, e->args[0], &m->key);
	for (unsigned i = 0; e->arg_count > 1 && i < e->arg_count; i++)
		check_widen(c, e->args[i], &m->key.elements[i]);
	return 0;
}

static int check_map_read(struct check *c, struct expr *e)
{
	int err = check_map_key(c, e);
	struct type *value;

	if (err)
		return err;
	value = &e->map->value;
	e->shape = shape_int(true);
	if (!e->map->has_value) {
		/* A later clause may store something: the last pass knows, and speaks. */
		return check_error(c, e, "undefined-map",
				   "'%.*s' is read, but nothing is ever stored in it",
				   STR_FMT(e->map->name));
	}
	if (value->kind == TYPE_STATS || value->kind == TYPE_HIST || value->kind == TYPE_LHIST)
		return check_error(c, e, "wrong-type", "the %s in '%.*s' can be printed, not read",
				   value->kind == TYPE_STATS ? "statistics" : "histogram",
				   STR_FMT(e->map->name));
	if (type_is_aggregate(value))
		e->shape = shape_int(value->kind != TYPE_COUNT && value->is_signed);
	else
		e->shape = shape_of(*value);
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
	diag_hint(c->d, "str($%llu) takes it as text", (unsigned long long)e->number);
	return -EINVAL;
}

struct variable *check_find_variable(const struct check *c, struct str name)
{
	for (struct variable *v = c->v->variables; v; v = v->next)
		if (str_eq(v->name, name))
			return v;
	return NULL;
}

static int check_variable(struct check *c, struct expr *e)
{
	e->variable = check_find_variable(c, e->text);
	if (!e->variable || e->variable->pass != c->pass)
		return check_error(c, e, "undefined-variable",
				   "variable '$%.*s' is used before it has a value",
				   STR_FMT(e->text));
	e->shape = e->variable->shape;
	return 0;
}

static bool is_unsigned(const struct expr *e)
{
	return !e->shape.type.is_signed && e->shape.type.size == 8;
}

/* As in C: unsigned when a side is a full-width unsigned, but a constant that is not negative takes
 * the sign of the other side. */
static bool signed_result(const struct expr *a, const struct expr *b)
{
	bool a_unsigned = is_unsigned(a), b_unsigned = is_unsigned(b);

	if (a->is_const && (int64_t)a->value >= 0)
		return !b_unsigned;
	if (b->is_const && (int64_t)b->value >= 0)
		return !a_unsigned;
	return !a_unsigned && !b_unsigned;
}

static bool is_comparison(enum operator op)
{
	return op >= OPERATOR_EQ && op <= OPERATOR_GE;
}

static bool sign_matters(enum operator op)
{
	return (op >= OPERATOR_LT && op <= OPERATOR_GE) || op == OPERATOR_DIV || op == OPERATOR_MOD;
}

static void warn_signs(struct check *c, const struct expr *e)
{
	const struct expr *a = e->args[0], *b = e->args[1];

	if (!sign_matters(e->op) || is_unsigned(a) == is_unsigned(b) || signed_result(a, b) ||
	    (a->is_const && (int64_t)a->value >= 0) || (b->is_const && (int64_t)b->value >= 0))
		return;
	/* An extended small unsigned is not negative, so nothing can go wrong. */
	if (!(is_unsigned(a) ? b : a)->shape.type.is_signed)
		return;
	diag_warn_at(
		c->d, "mixed-signs", script_span(c->s, e->mark),
		"'%s' takes a negative number for a large one here: the other side is unsigned",
		operator_text(e->op));
	diag_hint(c->d, "cast one side: (int64) or (uint64)");
}

static uint64_t fold_divide(enum operator op, bool is_signed, uint64_t a, uint64_t b)
{
	bool is_div = op == OPERATOR_DIV;

	if (!b)
		return 0;
	if (!is_signed)
		return is_div ? a / b : a % b;
	if ((int64_t)b == -1)
		return is_div ? 0 - a : 0;
	return is_div ? (uint64_t)((int64_t)a / (int64_t)b) : (uint64_t)((int64_t)a % (int64_t)b);
}

static bool fold_less(bool is_signed, uint64_t a, uint64_t b)
{
	return is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t fold_binary(enum operator op, bool is_signed, uint64_t a, uint64_t b)
{
	switch (op) {
	case OPERATOR_OR: return a || b;
	case OPERATOR_AND: return a && b;
	case OPERATOR_BOR: return a | b;
	case OPERATOR_XOR: return a ^ b;
	case OPERATOR_BAND: return a & b;
	case OPERATOR_EQ: return a == b;
	case OPERATOR_NE: return a != b;
	case OPERATOR_LT: return fold_less(is_signed, a, b);
	case OPERATOR_LE: return !fold_less(is_signed, b, a);
	case OPERATOR_GT: return fold_less(is_signed, b, a);
	case OPERATOR_GE: return !fold_less(is_signed, a, b);
	case OPERATOR_SHL: return a << (b & 63);
	case OPERATOR_SHR: return is_signed ? (uint64_t)((int64_t)a >> (b & 63)) : a >> (b & 63);
	case OPERATOR_ADD: return a + b;
	case OPERATOR_SUB: return a - b;
	case OPERATOR_MUL: return a * b;
	default: return fold_divide(op, is_signed, a, b);
	}
}

static void type_binary(struct expr *e)
{
	const struct expr *a = e->args[0], *b = e->args[1];
	bool is_signed = signed_result(a, b);

	if (is_comparison(e->op) || e->op == OPERATOR_AND || e->op == OPERATOR_OR)
		e->shape = shape_int(true);
	else if (e->op == OPERATOR_SUB)
		e->shape = shape_int(true);
	else if (e->op == OPERATOR_SHL || e->op == OPERATOR_SHR)
		e->shape = shape_int(is_signed = !is_unsigned(a));
	else
		e->shape = shape_int(is_signed);
	/* Pointer arithmetic keeps the pointer. */
	if ((e->op == OPERATOR_ADD || e->op == OPERATOR_SUB) && a->shape.pointers &&
	    !b->shape.pointers)
		e->shape = a->shape;
	else if (e->op == OPERATOR_ADD && b->shape.pointers && !a->shape.pointers)
		e->shape = b->shape;
	e->is_signed = is_signed;
	e->is_const = a->is_const && b->is_const && !e->shape.pointers;
	if (e->is_const)
		e->value = fold_binary(e->op, is_signed, a->value, b->value);
}

static bool is_text(const struct expr *e)
{
	return e->shape.type.kind == TYPE_STR;
}

/* string == string; probe == "text" */
static int check_text_compare(struct check *c, struct expr *e)
{
	const struct expr *a = e->args[0], *b = e->args[1];
	bool is_name = (a->shape.type.kind == TYPE_NAME && b->kind == EXPR_STRING) ||
		       (b->shape.type.kind == TYPE_NAME && a->kind == EXPR_STRING) ||
		       (a->shape.type.kind == TYPE_NAME && b->shape.type.kind == TYPE_NAME);

	e->shape = shape_int(true);
	if (e->op != OPERATOR_EQ && e->op != OPERATOR_NE)
		return check_error(c, e, "wrong-type", "'%s' does not work on strings",
				   operator_text(e->op));
	if (is_name || (is_text(a) && is_text(b)))
		return 0;
	return check_error(c, e, "wrong-type", "cannot compare %s with %s",
			   check_type_text(c, &a->shape.type), check_type_text(c, &b->shape.type));
}

static int check_binary(struct check *c, struct expr *e)
{
	char what[40];
	int err = check_expr(c, e->args[0]);

	if (!err)
		err = check_expr(c, e->args[1]);
	if (err)
		return err;
	for (unsigned i = 0; i < 2; i++)
		if (is_text(e->args[i]) || e->args[i]->shape.type.kind == TYPE_NAME)
			return check_text_compare(c, e);
	snprintf(what, sizeof(what), "an operand of '%s'", operator_text(e->op));
	for (unsigned i = 0; i < 2 && !err; i++)
		err = check_int(c, e->args[i], what);
	if (err)
		return err;
	warn_signs(c, e);
	type_binary(e);
	return 0;
}

/* What *p gives: the integer or pointer behind it. */
static int check_load(struct check *c, struct expr *e, const struct shape *p)
{
	if (!p->pointers) {
		check_error(c, e, "not-a-pointer", "this is not a pointer that could be followed");
		diag_hint(c->d, "say what it points to: *(int32*)p");
		return -EINVAL;
	}
	e->shape = *p;
	e->shape.pointers--;
	e->shape.type = e->shape.pointers ? type_int(8, false)
					  : type_int(p->target_size, p->target_is_signed);
	return 0;
}

static int check_unary(struct check *c, struct expr *e)
{
	struct expr *a = e->args[0];
	char what[40];
	int err = check_expr(c, a);

	snprintf(what, sizeof(what), "the operand of '%s'", operator_text(e->op));
	if (!err)
		err = check_int(c, a, what);
	if (err)
		return err;
	if (e->op == OPERATOR_LOAD)
		return check_load(c, e, &a->shape);
	e->shape = shape_int(e->op != OPERATOR_BNOT || !is_unsigned(a));
	e->is_const = a->is_const;
	e->value = e->op == OPERATOR_NOT    ? !a->value
		   : e->op == OPERATOR_BNOT ? ~a->value
					    : 0 - a->value;
	return 0;
}

static int check_index(struct check *c, struct expr *e)
{
	int err = check_expr(c, e->args[0]);

	if (!err)
		err = check_expr(c, e->args[1]);
	if (!err)
		err = check_int(c, e->args[0], "what is indexed");
	if (!err)
		err = check_int(c, e->args[1], "an index");
	return err ? err : check_load(c, e, &e->args[0]->shape);
}

static int check_step(struct check *c, struct expr *e)
{
	struct expr *target = e->args[0];
	int err;

	if (target->kind != EXPR_MAP && target->kind != EXPR_VARIABLE)
		return check_error(c, e, "bad-target", "'%s' works on variables and maps only",
				   operator_text(e->op));
	if (target->kind == EXPR_MAP) {
		err = check_map_key(c, target);
		if (err)
			return err;
		if (!target->map->has_value) {
			target->map->has_value = true;
			target->map->value = type_int(8, true);
			target->map->value_mark = e->mark;
			c->changed = true;
		}
		target->shape = shape_of(target->map->value);
	} else {
		err = check_variable(c, target);
		if (err)
			return err;
		if (target->variable->is_loop)
			return check_error(c, e, "bad-target",
					   "the loop's own '$%.*s' is read-only",
					   STR_FMT(target->text));
	}
	e->shape = target->shape;
	return check_int(c, target,
			 e->op == OPERATOR_INC ? "what '++' works on" : "what '--' works on");
}

static uint64_t extend(uint64_t value, unsigned size, bool is_signed)
{
	unsigned shift = 64 - 8 * size;

	value <<= shift;
	return is_signed ? (uint64_t)((int64_t)value >> shift) : value >> shift;
}

static int check_cast(struct check *c, struct expr *e)
{
	struct expr *a = e->args[0];
	int err = check_expr(c, a);

	if (err)
		return err;
	if (a->shape.type.kind == TYPE_FLOAT && e->cast.pointers)
		return check_error(c, e, "float-use", "a float cannot be a pointer");
	if (!is_int(a) && a->shape.type.kind != TYPE_FLOAT)
		return check_error(c, e, "bad-cast", "cannot cast %s to an integer",
				   a->shape.type.kind == TYPE_NONE
					   ? "something without a value"
					   : check_type_text(c, &a->shape.type));
	e->shape = e->cast;
	e->is_const = a->is_const;
	if (e->is_const)
		e->value = extend(a->value, e->cast.type.size, e->cast.type.is_signed);
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

static int ternary_types(struct check *c, struct expr *e, struct expr *a, struct expr *b)
{
	struct type t = a->shape.type;
	bool changed = c->changed;
	int err = check_merge(c, &t, &b->shape.type);

	/* No lasting type has changed by this. */
	c->changed = changed;
	if (err)
		return check_error(c, e, "type-mismatch", "the two results differ: %s and %s",
				   check_type_text(c, &a->shape.type),
				   check_type_text(c, &b->shape.type));
	e->shape = t.kind == TYPE_INT ? shape_int(signed_result(a, b)) : shape_of(t);
	if (a->shape.pointers)
		e->shape = a->shape;
	check_widen(c, a, &t);
	check_widen(c, b, &t);
	return 0;
}

static int check_ternary(struct check *c, struct expr *e)
{
	struct expr *cond = e->args[0], *a = e->args[1] ? e->args[1] : cond, *b = e->args[2];
	int err = check_expr(c, cond);

	if (!err)
		err = check_int(c, cond, "a condition");
	c->block_depth++;
	if (!err && a != cond)
		err = check_expr(c, a);
	if (!err)
		err = check_expr(c, b);
	c->block_depth--;
	if (err)
		return err;
	err = ternary_types(c, e, a, b);
	if (cond->is_const && (cond->value ? a : b)->is_const) {
		e->is_const = true;
		e->value = (cond->value ? a : b)->value;
	}
	return err;
}

static int wrong_count(struct check *c, const struct expr *e, const struct function *f)
{
	size_t least = strcspn(f->args, "[*"), most = strlen(f->args) - !!strchr(f->args, '[');

	if (strchr(f->args, '*'))
		return check_error(c, e, "wrong-arg-count", "'%s' takes at least %zu argument%s",
				   f->name, least, least == 1 ? "" : "s");
	if (least != most)
		return check_error(c, e, "wrong-arg-count",
				   "'%s' takes %zu to %zu arguments, not %u", f->name, least, most,
				   e->arg_count);
	return check_error(c, e, "wrong-arg-count", "'%s' takes %zu argument%s, not %u", f->name,
			   least, least == 1 ? "" : "s", e->arg_count);
}

static int check_map_arg(struct check *c, const struct function *f, struct expr *a, bool any)
{
	if (a->kind != EXPR_MAP)
		return check_error(c, a, "wrong-arg-type", "'%s' wants a map here", f->name);
	if (!any && a->arg_count)
		return check_error(c, a, "wrong-arg-type", "'%s' wants a whole map, without a key",
				   f->name);
	a->map = check_map(c, a->text);
	return a->map ? 0 : -ENOMEM;
}

static int check_arg(struct check *c, const struct function *f, struct expr *a, char letter)
{
	char what[64];
	int err;

	if (letter == 'x')
		return 0;
	if (letter == 'm' || letter == 'M')
		return check_map_arg(c, f, a, letter == 'M');
	if (letter == 's')
		return a->kind == EXPR_STRING
			       ? check_expr(c, a)
			       : check_error(c, a, "wrong-arg-type",
					     "'%s' wants a string in quotes here", f->name);
	err = check_expr(c, a);
	snprintf(what, sizeof(what), "this argument of '%s'", f->name);
	if (err)
		return err;
	switch (letter) {
	case 'i':
	case 'p': return check_int(c, a, what);
	case 'c':
		return is_int(a) && a->is_const
			       ? 0
			       : check_error(c, a, "wrong-arg-type",
					     "'%s' wants a constant number here", f->name);
	case 't':
		return is_text(a) ? 0
				  : check_error(c, a, "wrong-arg-type",
						"'%s' wants a string here, not %s", f->name,
						check_type_text(c, &a->shape.type));
	default: return a->is_whole ? 0 : check_storable(c, a, "an argument");
	}
}

static int check_args(struct check *c, const struct function *f, struct expr *e)
{
	const char *letter = f->args;
	bool optional = false;
	unsigned n = 0;
	int err = 0;

	for (; *letter && !err; letter++) {
		if (*letter == '[') {
			optional = true;
		} else if (*letter == '*') {
			for (; n < e->arg_count && !err; n++)
				err = check_arg(c, f, e->args[n], 'e');
			return err;
		} else if (n == e->arg_count) {
			return optional ? 0 : wrong_count(c, e, f);
		} else {
			err = check_arg(c, f, e->args[n++], *letter);
		}
	}
	if (!err && n < e->arg_count)
		return wrong_count(c, e, f);
	return err;
}

static int unknown_function(struct check *c, const struct expr *e)
{
	const char *guess = function_guess(e->text);

	if (function_is_foreign(e->text))
		return check_error(c, e, "unsupported", "'%.*s' is not supported yet",
				   STR_FMT(e->text));
	check_error(c, e, e->kind == EXPR_CALL ? "unknown-function" : "unknown-name",
		    "unknown %s '%.*s'", e->kind == EXPR_CALL ? "function" : "name",
		    STR_FMT(e->text));
	if (guess)
		diag_hint(c->d, "did you mean '%s'?", guess);
	return -EINVAL;
}

static int check_function(struct check *c, struct expr *e)
{
	const struct function *f = function_find(e->text);
	int err;

	if (!f)
		return unknown_function(c, e);
	e->function = f;
	if (e->kind == EXPR_NAME && !(f->uses & USE_NAME)) {
		check_error(c, e, "not-called", "'%s' is a function", f->name);
		diag_hint(c->d, "write %s(...)", f->name);
		return -EINVAL;
	}
	if ((f->uses & USE_UNSAFE) && !c->s->options.unsafe) {
		check_error(c, e, "unsafe", "'%s' can change the system", f->name);
		diag_hint(c->d, "--unsafe allows it");
		return -EINVAL;
	}
	err = check_args(c, f, e);
	return err ? err : f->check(c, e);
}

static int check_field(struct check *c, struct expr *e)
{
	const struct function *f = function_find(STR("args."));

	e->function = f;
	return f->check(c, e);
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
	e->shape = (struct shape){.pointers = 0};
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
	case EXPR_CALL: return check_function(c, e);
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
