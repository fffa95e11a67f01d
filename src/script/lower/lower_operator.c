/* Operators -> code: arithmetic, comparisons, jumps over what is not to be run, ++ and casts. */
#include "script/lower/lower.h"

#include "script/check/check.h"
#include "script/check/ctypes.h"
#include "script/lower/emit.h"
#include "script/lower/places.h"

/* Jump when `e` is true (`when`) or false. && and || stop at the first side that decides. */
void lower_jump(struct lower *l, const struct expr *e, bool when, struct label *to)
{
	bool is_and = e->kind == EXPR_BINARY && e->op == OPERATOR_AND;
	bool is_or = e->kind == EXPR_BINARY && e->op == OPERATOR_OR;
	struct label over = {0};

	if (e->is_const) {
		if (!!e->value == when)
			lower_goto(l, OP_JUMP, REG_NO, to);
	} else if (e->kind == EXPR_UNARY && e->op == OPERATOR_NOT) {
		lower_jump(l, e->args[0], !when, to);
	} else if (is_and || is_or) {
		/* The first side decides alone when it is false (&&) or true (||). */
		lower_jump(l, e->args[0], is_or, is_or == when ? to : &over);
		lower_jump(l, e->args[1], when, to);
		lower_bind(l, &over);
	} else {
		lower_goto(l, when ? OP_JUMP_IF : OP_JUMP_NOT, lower_word(l, e), to);
	}
}

/* !a: is it 0? */
static void emit_not(struct lower *l, uint16_t a, uint16_t out)
{
	emit_operator(l, OPERATOR_EQ, false, a, lower_const(l, 0), out);
}

uint64_t lower_pointee_size(const struct lower *l, const struct type *pointer)
{
	const struct ctype *to = ctype_resolve(type_target(pointer));
	uint64_t size = ctype_layout(to, &l->s->tree.types.machine).size;

	return size ? size : 1;
}

uint16_t lower_scaled(struct lower *l, const struct expr *p, const struct expr *n, uint16_t reg)
{
	uint16_t size, out;

	if (!type_target(&p->shape.type) || type_target(&n->shape.type) ||
	    lower_pointee_size(l, &p->shape.type) == 1)
		return reg;
	size = lower_const(l, lower_pointee_size(l, &p->shape.type));
	out = lower_reg(l);
	emit_dab(l, OP_MUL, out, reg, size);
	return out;
}

/* One side of a == b of names: its number; a string that is not a name yet becomes one. */
static uint16_t lower_name(struct lower *l, const struct expr *e)
{
	if (e->kind != EXPR_STRING)
		return lower_word(l, e);
	return lower_const(l, lower_intern(l, &l->s->names, e->text));
}

/* A tuple and where it is: from `offset` of a slot on. */
struct tuple_place {
	const struct type *type;
	uint16_t slot;
	uint64_t offset;
};

/* One part that is a text, copied out. */
static uint16_t lower_text_part(struct lower *l, const struct tuple_place *p)
{
	uint16_t slot = lower_slot(l, p->type);

	emit_sti(l, OP_PART, slot, p->slot, p->offset);
	return slot;
}

/* Jump to `differ` unless all parts are the same. */
static void compare_parts(struct lower *l, struct tuple_place a, struct tuple_place b,
			  struct label *differ)
{
	uint32_t before = l->next_reg;

	if (a.type->kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < a.type->element_count; i++) {
			struct tuple_place x = {&a.type->elements[i], a.slot, a.offset};
			struct tuple_place y = {&b.type->elements[i], b.slot, b.offset};

			compare_parts(l, x, y, differ);
			a.offset += type_memory(x.type);
			b.offset += type_memory(y.type);
		}
	} else if (a.type->kind == TYPE_STR) {
		uint16_t left = lower_text_part(l, &a), right = lower_text_part(l, &b);
		uint16_t other = lower_reg(l);

		emit_strcmp(l, other, left, right, -1);
		lower_goto(l, OP_JUMP_IF, other, differ);
		lower_free_slot(l, left);
		lower_free_slot(l, right);
	} else {
		uint16_t left = lower_reg(l), right = lower_reg(l);

		emit_ds(l, OP_GET, left, a.slot, a.offset);
		emit_ds(l, OP_GET, right, b.slot, b.offset);
		emit_operator(l, OPERATOR_EQ, false, left, right, left);
		lower_goto(l, OP_JUMP_NOT, left, differ);
	}
	l->next_reg = before;
}

static void lower_tuple_compare(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *a = e->args[0], *b = e->args[1];
	struct tuple_place left = {&a->shape.type, lower_memory(l, a, &a->shape.type), 0};
	struct tuple_place right = {&b->shape.type, lower_memory(l, b, &b->shape.type), 0};
	struct label differ = {0}, end = {0};

	compare_parts(l, left, right, &differ);
	emit_di(l, OP_CONST, out, e->op == OPERATOR_EQ);
	lower_goto(l, OP_JUMP, REG_NO, &end);
	lower_bind(l, &differ);
	emit_di(l, OP_CONST, out, e->op == OPERATOR_NE);
	lower_bind(l, &end);
}

void lower_binary(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *a = e->args[0], *b = e->args[1];
	bool is_name = a->shape.type.kind == TYPE_NAME || b->shape.type.kind == TYPE_NAME;
	struct label no = {0}, end = {0};
	uint16_t left, right, differ;

	if (e->op == OPERATOR_AND || e->op == OPERATOR_OR) {
		lower_jump(l, e, false, &no);
		emit_di(l, OP_CONST, out, 1);
		lower_goto(l, OP_JUMP, REG_NO, &end);
		lower_bind(l, &no);
		emit_di(l, OP_CONST, out, 0);
		lower_bind(l, &end);
		return;
	}
	if (a->shape.type.kind == TYPE_TUPLE) {
		lower_tuple_compare(l, e, out);
		return;
	}
	if (!is_name && a->shape.type.kind == TYPE_STR) {
		left = lower_memory(l, a, &a->shape.type);
		right = lower_memory(l, b, &b->shape.type);
		differ = e->op == OPERATOR_NE ? out : lower_reg(l);
		emit_strcmp(l, differ, left, right, -1);
		if (e->op == OPERATOR_EQ)
			emit_not(l, differ, out);
		return;
	}
	left = is_name ? lower_name(l, a) : lower_word(l, a);
	right = is_name ? lower_name(l, b) : lower_word(l, b);
	if (e->op == OPERATOR_ADD || e->op == OPERATOR_SUB) {
		right = lower_scaled(l, a, b, right);
		left = lower_scaled(l, b, a, left);
	}
	emit_operator(l, e->op, !is_name && e->is_signed, left, right, out);
}

void lower_unary(struct lower *l, const struct expr *e, uint16_t out)
{
	uint16_t a;

	if (e->op == OPERATOR_ADDRESS) {
		emit_dai(l, OP_MOV, out, lower_address(l, e->args[0]), 0);
		return;
	}
	a = lower_word(l, e->args[0]);
	if (e->op == OPERATOR_NOT)
		emit_not(l, a, out);
	else
		emit_dai(l, e->op == OPERATOR_NEG ? OP_NEG : OP_NOT, out, a, 0);
}

/* What ++ adds to it. */
static uint64_t step_of(const struct lower *l, const struct expr *target)
{
	return type_target(&target->shape.type) ? lower_pointee_size(l, &target->shape.type) : 1;
}

/* @m++: added atomically; what the map held before comes back. ++@m is computed from that, not read
 * again: another CPU may have added to it since, and two events would get the same number. */
static void lower_map_step(struct lower *l, const struct expr *e, uint16_t out)
{
	bool is_inc = e->op == OPERATOR_INC;
	uint16_t key = lower_key(l, e->args[0]);
	uint16_t by = lower_const(l, is_inc ? step_of(l, e->args[0]) : 0 - step_of(l, e->args[0]));
	uint16_t before = out == REG_NO || e->is_postfix ? out : lower_reg(l);
	struct insn *i = emit_map(l, OP_MAP_ADD, e->args[0]->map, key);

	i->a = by;
	i->d = before;
	if (out != REG_NO && !e->is_postfix)
		emit_operator(l, OPERATOR_ADD, false, before, by, out);
}

/* What is put into a variable that was declared with less than 64 bits is cut to these. */
void lower_fit(struct lower *l, const struct variable *v)
{
	const struct type *t = &v->shape.type;

	if (t->kind == TYPE_INT && t->size < 8)
		emit_dai(l, t->is_signed ? OP_SEXT : OP_ZEXT, v->reg, v->reg, t->size);
}

void lower_step(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *target = e->args[0];
	enum operator op = e->op == OPERATOR_INC ? OPERATOR_ADD : OPERATOR_SUB;
	uint16_t reg;

	if (target->kind == EXPR_MAP) {
		lower_map_step(l, e, out);
		return;
	}
	reg = target->variable->reg;
	if (out != REG_NO && e->is_postfix)
		emit_dai(l, OP_MOV, out, reg, 0);
	emit_operator(l, op, false, reg, lower_const(l, step_of(l, target)), reg);
	lower_fit(l, target->variable);
	if (out != REG_NO && !e->is_postfix)
		emit_dai(l, OP_MOV, out, reg, 0);
}

void lower_cast(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct type *from = &e->args[0]->shape.type, *to = &e->shape.type;
	uint16_t a;

	if (to->kind == TYPE_TUPLE) {
		lower_byte_array(l, e, out);
		return;
	}
	if (to->kind == TYPE_STR) {
		if (!lower_enum_text(l, e->args[0], out))
			lower_memory_to(l, e->args[0], out);
		return;
	}
	if (from->kind == TYPE_STR) {
		a = lower_reg(l);
		emit_ds(l, OP_LENGTH, a, lower_memory(l, e->args[0], from), 0);
	} else if (from->kind == TYPE_TUPLE) {
		a = lower_reg(l);
		lower_joined(l, e->args[0], a);
	} else {
		a = lower_word(l, e->args[0]);
	}
	if (to->show == SHOW_BOOL) { /* the only cast that is not about bytes */
		emit_operator(l, OPERATOR_NE, false, a, lower_const(l, 0), out);
		return;
	}
	if (from->kind == TYPE_FLOAT) {
		uint16_t whole = to->size == 8 ? out : lower_reg(l);

		emit_dai(l, OP_F2I, whole, a, from->size);
		a = whole;
	}
	if (to->size < 8)
		emit_dai(l, to->is_signed ? OP_SEXT : OP_ZEXT, out, a, to->size);
	else if (a != out)
		emit_dai(l, OP_MOV, out, a, 0);
}

void lower_ternary(struct lower *l, const struct expr *e, uint16_t out)
{
	struct label other = {0}, end = {0};
	uint16_t cond;

	if (ternary_skips(e, true) || ternary_skips(e, false)) {
		lower_value_to(l, e->args[ternary_skips(e, true) ? 2 : 1], out);
		return;
	}
	if (e->args[1]) {
		lower_jump(l, e->args[0], false, &other);
		lower_value_to(l, e->args[1], out);
	} else { /* a ?: b, which computes `a` once */
		cond = lower_word(l, e->args[0]);
		lower_goto(l, OP_JUMP_NOT, cond, &other);
		emit_dai(l, OP_MOV, out, cond, 0);
	}
	lower_goto(l, OP_JUMP, REG_NO, &end);
	lower_bind(l, &other);
	lower_value_to(l, e->args[2], out);
	lower_bind(l, &end);
}
