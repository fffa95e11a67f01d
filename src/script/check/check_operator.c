/* Operators: types of what unary, binary, ?:, ++ and casts give, as in C, and the results of those
 * whose operands are constants. */
#include "script/check/expr_kinds.h"

#include <errno.h>
#include <stdio.h>

#include "script/check/check.h"
#include "script/check/ctypes.h"
#include "script/check/map.h"
#include "script/check/named.h"
#include "script/check/value_text.h"
#include "script/check/value_type.h"

/* Does it take the sign of the other side? A constant that is not negative does, whatever it is
 * cast to. */
static bool is_flexible(const struct expr *e)
{
	return type_is_flexible(&e->shape.type) || (e->is_const && (int64_t)e->value >= 0);
}

/* C's promotion: an unsigned number of fewer than 8 bytes fits into a signed one. */
static bool is_unsigned(const struct expr *e)
{
	return !e->shape.type.is_signed && !is_flexible(e) && type_shown_bytes(&e->shape.type) == 8;
}

static bool is_negative(const struct expr *e)
{
	return e->is_const && e->shape.type.is_signed && (int64_t)e->value < 0;
}

/* Of two unsigned numbers the result is unsigned. Of one and a signed number it is signed, but
 * unsigned as in C where the first has 8 bytes, unless the other is a negative constant. */
static bool signed_result(const struct expr *a, const struct expr *b)
{
	bool a_signed = a->shape.type.is_signed || is_flexible(a),
	     b_signed = b->shape.type.is_signed || is_flexible(b);

	if (is_negative(a) || is_negative(b))
		return true;
	if (is_unsigned(a) || is_unsigned(b))
		return false;
	if (is_flexible(a) || is_flexible(b))
		return a_signed && b_signed;
	return a_signed || b_signed;
}

bool operator_gives_signed(enum operator op, const struct expr *a, const struct expr *b)
{
	if (op == OPERATOR_SHL || op == OPERATOR_SHR)
		return a->shape.type.is_signed;
	return op == OPERATOR_SUB || signed_result(a, b);
}

/* Numbers are compared as signed unless both are unsigned: a negative number is less than all that
 * is counted. */
static bool compared_as_signed(const struct expr *a, const struct expr *b)
{
	bool is_address = type_target(&a->shape.type) || type_target(&b->shape.type);

	return signed_result(a, b) || (!is_address && !is_flexible(a) && !is_flexible(b) &&
				       is_unsigned(a) != is_unsigned(b));
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
	    is_flexible(a) || is_flexible(b))
		return;
	/* An extended small unsigned is not negative, so nothing can go wrong. */
	if (!(is_unsigned(a) ? b : a)->shape.type.is_signed)
		return;
	diag_warn_at(c->d, "mixed-signs", script_span(c->s, e->mark),
		     is_comparison(e->op)
			     ? "'%s' compares signed with unsigned: values from 2^63 on count as "
			       "negative"
			     : "'%s' of signed and unsigned: negative values count as large",
		     operator_text(e->op));
	diag_hint(c->d, "cast one side: (int64) or (uint64)");
}

/* Constants are folded exactly as engines compute: shifts take 6 bits,
 * everything wraps. INT64_MIN / -1 is answered here, because the CPU traps on it. */
static uint64_t fold_divide(enum operator op, bool is_signed, uint64_t a, uint64_t b)
{
	bool is_div = op == OPERATOR_DIV;

	if (!b)
		return 1;
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

/* A literal, or what is computed of literals. */
static bool is_literal(const struct expr *e)
{
	return e->is_const && e->shape.type.kind == TYPE_INT && e->shape.type.shown &&
	       e->shape.type.show == SHOW_NUMBER;
}

static bool shift_fits(bool is_left, const struct expr *a, uint64_t bits)
{
	if (bits > 63)
		return false;
	return !is_left ||
	       (is_negative(a) ? (int64_t)(a->value << bits) >> bits == (int64_t)a->value
			       : a->value << bits >> bits == a->value);
}

/* A number without a limit for its sign: `size` below or above 0. */
struct exact {
	bool is_negative;
	uint64_t size;
};

static struct exact exact_of(const struct expr *e)
{
	bool negative = is_negative(e);

	return (struct exact){negative, negative ? 0 - e->value : e->value};
}

static bool exact_add(struct exact a, struct exact b, struct exact *out)
{
	out->is_negative = a.size >= b.size ? a.is_negative : b.is_negative;
	if (a.is_negative == b.is_negative)
		return !__builtin_add_overflow(a.size, b.size, &out->size);
	out->size = a.size >= b.size ? a.size - b.size : b.size - a.size;
	return true;
}

static bool exact_multiply(struct exact a, struct exact b, struct exact *out)
{
	out->is_negative = a.is_negative != b.is_negative;
	return !__builtin_mul_overflow(a.size, b.size, &out->size);
}

/* Is the exact result of an operation a number of 64 bits, and does only an unsigned one hold it?
 */
static bool result_fits(enum operator op, const struct expr *left, const struct expr *right,
			bool *wide)
{
	struct exact a = exact_of(left), b = exact_of(right), r;
	bool fits;

	switch (op) {
	case OPERATOR_ADD: fits = exact_add(a, b, &r); break;
	case OPERATOR_SUB:
		b.is_negative = !b.is_negative;
		fits = exact_add(a, b, &r);
		break;
	case OPERATOR_MUL: fits = exact_multiply(a, b, &r); break;
	case OPERATOR_SHL: *wide = !a.is_negative; return shift_fits(true, left, right->value);
	case OPERATOR_SHR: return shift_fits(false, left, right->value);
	default: return true;
	}
	*wide = fits && !r.is_negative && r.size > INT64_MAX;
	return fits && (!r.is_negative || r.size <= UINT64_C(1) << 63);
}

/* Literals give what they would without limits, or an error, as 1 << 64 does. */
static void check_literals(struct check *c, struct expr *e)
{
	const struct expr *a = e->args[0], *b = e->args[1];
	bool wide = false;

	if (c->err || !is_literal(a) || !is_literal(b))
		return;
	if (!result_fits(e->op, a, b, &wide))
		check_error(c, e, "constant-overflow", "the result of '%s' has more than 64 bits",
			    operator_text(e->op));
	else if (wide && (int64_t)e->value < 0)
		e->shape.type.is_signed = false;
}

/* retval - 1 is as much of a register as retval is. */
static bool stays_raw(enum operator op, const struct expr *a, const struct expr *b)
{
	return a->shape.type.is_raw && (b->shape.type.is_raw || b->is_const) &&
	       (op == OPERATOR_ADD || op == OPERATOR_SUB);
}

/* An int function that fails returns -1 in 32 bits: as 64 bits that is a large number. */
static bool misses_negatives(enum operator op, const struct expr *raw, const struct expr *value,
			     bool raw_first)
{
	enum operator less = raw_first ? OPERATOR_LT : OPERATOR_GT,
		      at_least = raw_first ? OPERATOR_GE : OPERATOR_LE;

	if (!raw->shape.type.is_raw || !value->is_const || !is_comparison(op))
		return false;
	return (int64_t)value->value < 0 || (!value->value && (op == less || op == at_least));
}

static bool warn_raw(struct check *c, const struct expr *e)
{
	const struct expr *a = e->args[0], *b = e->args[1];
	bool first = misses_negatives(e->op, a, b, true);
	const struct expr *raw = first ? a : b;

	if (!first && !misses_negatives(e->op, b, a, false))
		return false;
	diag_warn_at(c->d, "raw-register", script_span(c->s, e->mark),
		     "all 64 bits of the register are compared, so a negative int counts as large");
	diag_hint(c->d, "cast it: (int32)%.*s, or (int64)%.*s", (int)raw->mark.len,
		  c->s->text.ptr + raw->mark.at, (int)raw->mark.len, c->s->text.ptr + raw->mark.at);
	return true;
}

/* A difference is signed even of unsigned numbers, so that it is shown as -1 and not as 2^64 - 1; a
 * shift has the sign of what is shifted. With a pointer nothing is folded, since `n` of p + n
 * counts in what p points to, which only lower_scaled() knows. */
static void type_binary(struct expr *e)
{
	const struct expr *a = e->args[0], *b = e->args[1];
	bool is_signed = is_comparison(e->op) ? compared_as_signed(a, b) : signed_result(a, b);

	if (is_comparison(e->op) || e->op == OPERATOR_AND || e->op == OPERATOR_OR)
		e->shape = shape_bool();
	else if (e->op >= OPERATOR_BOR && e->op <= OPERATOR_BAND &&
		 a->shape.type.show == SHOW_BOOL && b->shape.type.show == SHOW_BOOL)
		e->shape = shape_bool();
	else if (e->op == OPERATOR_SUB)
		e->shape = shape_int(true);
	else if (e->op == OPERATOR_SHL || e->op == OPERATOR_SHR)
		e->shape = shape_int(is_signed = a->shape.type.is_signed);
	else
		e->shape = shape_int(is_signed);
	/* Pointer arithmetic keeps the pointer. */
	if ((e->op == OPERATOR_ADD || e->op == OPERATOR_SUB) && type_target(&a->shape.type) &&
	    !type_target(&b->shape.type))
		e->shape = a->shape;
	else if (e->op == OPERATOR_ADD && type_target(&b->shape.type) &&
		 !type_target(&a->shape.type))
		e->shape = b->shape;
	e->shape.type.is_raw = stays_raw(e->op, a, b) || stays_raw(e->op, b, a);
	e->is_signed = is_signed;
	e->is_const = a->is_const && b->is_const && !type_target(&e->shape.type);
	if (e->is_const)
		e->value = fold_binary(e->op, is_signed, a->value, b->value);
}

/* A number beside a text may be its address. */
static void hint_at_text(struct check *c, const struct expr *number)
{
	if (expr_is_int(number) && !number->is_const)
		diag_hint(c->d, "if it is the address of a string: str(%.*s)",
			  (int)number->mark.len, c->s->text.ptr + number->mark.at);
}

/* string == string; probe == "text" */
static void check_text_compare(struct check *c, struct expr *e)
{
	const struct expr *a = e->args[0], *b = e->args[1];
	bool is_name = (a->shape.type.kind == TYPE_NAME && b->kind == EXPR_STRING) ||
		       (b->shape.type.kind == TYPE_NAME && a->kind == EXPR_STRING) ||
		       (a->shape.type.kind == TYPE_NAME && b->shape.type.kind == TYPE_NAME);

	e->shape = shape_bool();
	if (e->op != OPERATOR_EQ && e->op != OPERATOR_NE) {
		check_error(c, e, "wrong-type", "'%s' does not work on strings",
			    operator_text(e->op));
		if (e->op == OPERATOR_ADD)
			diag_hint(c->d, "str_concat(a, b) puts one after the other");
	} else if (!is_name && !(expr_is_text(a) && expr_is_text(b)) && !check_is_open(c, a) &&
		   !check_is_open(c, b)) {
		check_error(c, e, "wrong-type", "cannot compare %s with %s",
			    check_type_text(c, &a->shape.type), check_type_text(c, &b->shape.type));
		hint_at_text(c, expr_is_text(a) ? b : a);
	}
}

/* Can values of these types be the same? Then their parts are compared one by one. */
static bool can_be_equal(const struct type *a, const struct type *b)
{
	if (a->kind != b->kind || a->element_count != b->element_count)
		return false;
	for (unsigned i = 0; i < a->element_count; i++)
		if (!can_be_equal(&a->elements[i], &b->elements[i]))
			return false;
	return a->kind == TYPE_TUPLE || a->kind == TYPE_INT || a->kind == TYPE_STR;
}

/* tuple == tuple, and so structs and arrays */
static void check_tuple_compare(struct check *c, struct expr *e)
{
	const struct type *a = &e->args[0]->shape.type, *b = &e->args[1]->shape.type;

	check_reorder(c, e->args[1], a);
	e->shape = shape_bool();
	if ((e->op != OPERATOR_EQ && e->op != OPERATOR_NE) || !can_be_equal(a, b))
		check_error(c, e, "wrong-type", "'%s' does not work on %s and %s",
			    operator_text(e->op), check_type_text(c, a), check_type_text(c, b));
}

/* Strings in quotes are joined by '+', lose their first bytes by '+ n', and have an order. */
static bool fold_texts(struct check *c, struct expr *e)
{
	const struct expr *a = e->args[0], *b = e->args[1];
	char *text = NULL;
	size_t skip;

	if (a->kind != EXPR_STRING || (b->kind != EXPR_STRING && !b->is_const))
		return false;
	if (b->kind == EXPR_STRING && e->op >= OPERATOR_EQ && e->op <= OPERATOR_GE) {
		e->shape = shape_bool();
		e->is_const = true;
		e->value =
			fold_binary(e->op, true, (uint64_t)(int64_t)str_cmp(a->text, b->text), 0);
		return true;
	}
	if (e->op != OPERATOR_ADD)
		return false;
	e->kind = EXPR_STRING;
	if (b->kind == EXPR_STRING) {
		text = arena_alloc(&c->s->arena, a->text.len + b->text.len + 1);
		if (!text) {
			c->err = -ENOMEM;
			return true;
		}
		memcpy(text, a->text.ptr, a->text.len);
		memcpy(text + a->text.len, b->text.ptr, b->text.len);
		e->text = str_of(text, a->text.len + b->text.len);
	} else {
		skip = b->value < a->text.len ? b->value : a->text.len;
		e->text = str_of(a->text.ptr + skip, a->text.len - skip);
	}
	e->arg_count = 0;
	check_expr(c, e);
	return true;
}

/* A pointer that the script or a type says is one; a register or result may be meant as a number.
 */
static bool is_pointer(const struct expr *e)
{
	return type_target(&e->shape.type) && e->kind != EXPR_NAME;
}

/* p + n, n + p, p - n, and pointers are compared. */
static void check_pointers(struct check *c, const struct expr *e)
{
	bool first = is_pointer(e->args[0]), second = is_pointer(e->args[1]);

	if (c->err || !(first || second) || is_comparison(e->op) || e->op == OPERATOR_AND ||
	    e->op == OPERATOR_OR || (e->op == OPERATOR_ADD && first != second) ||
	    (e->op == OPERATOR_SUB && !second))
		return;
	check_error(c, e, "wrong-type", "'%s' does not work on %s", operator_text(e->op),
		    first && second ? "two pointers" : "a pointer");
	diag_hint(c->d, "cast it to a number: (uint64)p");
}

/* strerror(n) == "..." and func == str(p) compare texts; func == "..." compares names. */
static void spell_sides(struct check *c, struct expr *e)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct expr *other = e->args[1 - i];
		bool is_name = e->args[i]->shape.type.kind == TYPE_NAME;

		if (is_name ? expr_is_text(other) && other->kind != EXPR_STRING
			    : expr_is_text(other) || other->shape.type.kind == TYPE_DISPLAY)
			check_enum_text(c, e->args[i]);
	}
}

/* A word beside a text, which nothing is called: str(arg0) == apple. */
static void check_sides(struct check *c, struct expr *e)
{
	const struct expr *word = e->args[1];

	check_expr(c, e->args[0]);
	if (c->err)
		return;
	check_expr(c, e->args[1]);
	if (c->err && word->kind == EXPR_NAME && expr_is_text(e->args[0]))
		diag_hint(c->d, "a text is written in quotes: \"%.*s\"", STR_FMT(word->text));
}

void check_binary(struct check *c, struct expr *e)
{
	char what[40];

	check_sides(c, e);
	if (c->err || fold_texts(c, e))
		return;
	spell_sides(c, e);
	for (unsigned i = 0; i < 2; i++) {
		if (expr_is_text(e->args[i]))
			check_as_text(c, e->args[1 - i]);
		if (expr_is_text(e->args[i]) || e->args[i]->shape.type.kind == TYPE_NAME) {
			check_text_compare(c, e);
			return;
		}
	}
	if (e->op == OPERATOR_EQ || e->op == OPERATOR_NE) {
		check_settle(c, e->args[0]);
		check_settle(c, e->args[1]);
	}
	if (e->args[0]->shape.type.kind == TYPE_TUPLE &&
	    e->args[1]->shape.type.kind == TYPE_TUPLE) {
		check_tuple_compare(c, e);
		return;
	}
	snprintf(what, sizeof(what), "an operand of '%s'", operator_text(e->op));
	check_int(c, e->args[0], what);
	check_int(c, e->args[1], what);
	check_pointers(c, e);
	if (c->err)
		return;
	if (!warn_raw(c, e))
		warn_signs(c, e);
	if ((e->op == OPERATOR_DIV || e->op == OPERATOR_MOD) && e->args[0]->is_const &&
	    e->args[1]->is_const && !e->args[1]->value)
		check_error(c, e, "division-by-zero", "division by zero");
	type_binary(e);
	check_literals(c, e);
}

void check_unary(struct check *c, struct expr *e)
{
	struct expr *a = e->args[0];
	char what[40];

	if (e->op == OPERATOR_LOAD || e->op == OPERATOR_ADDRESS) {
		check_expr(c, a);
		if (!c->err)
			(e->op == OPERATOR_LOAD ? check_load : check_address)(c, e);
		return;
	}
	snprintf(what, sizeof(what), "the operand of '%s'", operator_text(e->op));
	check_number(c, a, what);
	if (e->op == OPERATOR_NEG && a->kind == EXPR_INT && a->number > (uint64_t)INT64_MAX + 1)
		check_error(c, e, "bad-number", "-%llu is less than the smallest number, -2^63",
			    (unsigned long long)a->number);
	if (c->err)
		return;
	e->shape = e->op == OPERATOR_NOT
			   ? shape_bool()
			   : shape_int(e->op != OPERATOR_BNOT || a->shape.type.is_signed);
	e->is_const = a->is_const;
	e->value = e->op == OPERATOR_NOT    ? !a->value
		   : e->op == OPERATOR_BNOT ? ~a->value
					    : 0 - a->value;
}

void check_step(struct check *c, struct expr *e)
{
	struct expr *target = e->args[0];

	if (target->kind == EXPR_MAP) {
		check_map_key(c, target);
		if (c->err)
			return;
		if (!target->map->has_value) {
			target->map->has_value = true;
			target->map->value = type_int(8, true);
			target->map->value_mark = e->mark;
			c->changed = true;
		}
		target->shape = shape_of(target->map->value);
	} else if (target->kind == EXPR_VARIABLE) {
		check_counted(c, target);
	} else {
		check_error(c, e, "bad-target", "'%s' works on variables and maps only",
			    operator_text(e->op));
	}
	if (!c->err)
		check_in_place(c, target, e->op == OPERATOR_DEC || target->shape.type.is_signed);
	e->shape = target->shape;
	check_int(c, target, e->op == OPERATOR_INC ? "the operand of '++'" : "the operand of '--'");
}

/* A side may be a value or a call without one, but not what only a map or print() takes. */
static void check_side(struct check *c, struct expr *e)
{
	check_expr(c, e);
	check_settle(c, e);
	if (e->is_whole || type_is_aggregate(&e->shape.type))
		check_storable(c, e, "the result of '?:'");
}

static void ternary_types(struct check *c, struct expr *e, struct expr *a, struct expr *b)
{
	struct type t;
	bool changed = c->changed;
	int differ;

	if (expr_is_text(a))
		check_enum_text(c, b);
	else if (expr_is_text(b))
		check_enum_text(c, a);
	else if (!type_equal(&a->shape.type, &b->shape.type) && check_enum_text(c, a))
		check_enum_text(c, b);
	t = a->shape.type;
	differ = check_merge(c, &t, &b->shape.type);

	/* No lasting type has changed by this. */
	c->changed = changed;
	if (differ) {
		check_error(c, e, "type-mismatch",
			    "the two results have different types: %s and %s",
			    check_type_text(c, &a->shape.type), check_type_text(c, &b->shape.type));
		return;
	}
	e->shape = t.kind == TYPE_INT ? shape_int(signed_result(a, b)) : shape_of(t);
	if (type_target(&a->shape.type))
		e->shape = a->shape;
	else if (t.kind == TYPE_INT && t.show != SHOW_NUMBER)
		e->shape = shape_of(t);
	check_widen(c, a, &t);
	check_widen(c, b, &t);
}

void check_ternary(struct check *c, struct expr *e)
{
	struct expr *cond = e->args[0], *a = e->args[1] ? e->args[1] : cond, *b = e->args[2];

	check_condition(c, cond);
	c->block_depth++;
	if (a != cond && !ternary_skips(e, true))
		check_side(c, a);
	if (!ternary_skips(e, false))
		check_side(c, b);
	c->block_depth--;
	if (c->err)
		return;
	if (cond->is_comptime && cond->is_const)
		e->shape = (cond->value ? a : b)->shape;
	else
		ternary_types(c, e, a, b);
	if (cond->is_const && (cond->value ? a : b)->is_const) {
		e->is_const = true;
		e->value = (cond->value ? a : b)->value;
	}
}
