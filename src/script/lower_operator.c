/* Operators -> code: arithmetic, comparisons, jumps over what is not to be run, ++ and casts. */
#include <errno.h>

#include "script/lower_expr.h"

/* Jump when `e` is true (`when`) or false. && and || stop at the first side that decides. */
int lower_jump(struct lower *l, const struct expr *e, bool when, struct label *to)
{
	bool is_and = e->kind == EXPR_BINARY && e->op == OPERATOR_AND;
	bool is_or = e->kind == EXPR_BINARY && e->op == OPERATOR_OR;
	struct label over = {0};
	uint16_t reg;
	int err;

	if (e->is_const) {
		if (!!e->value == when)
			lower_goto(l, OP_JUMP, REG_NO, to);
		return 0;
	}
	if (e->kind == EXPR_UNARY && e->op == OPERATOR_NOT)
		return lower_jump(l, e->args[0], !when, to);
	if (is_and || is_or) {
		/* The first side decides alone when it is false (&&) or true (||). */
		bool decides = is_or;

		err = lower_jump(l, e->args[0], decides, decides == when ? to : &over);
		if (!err)
			err = lower_jump(l, e->args[1], when, to);
		lower_bind(l, &over);
		return err;
	}
	err = lower_word(l, e, &reg);
	if (!err)
		lower_goto(l, when ? OP_JUMP_IF : OP_JUMP_NOT, reg, to);
	return err;
}

static int lower_logic(struct lower *l, const struct expr *e, uint16_t out)
{
	struct label no = {0}, end = {0};
	int err = lower_jump(l, e, false, &no);

	lower_set(l, out, 1);
	lower_goto(l, OP_JUMP, REG_NO, &end);
	lower_bind(l, &no);
	lower_set(l, out, 0);
	lower_bind(l, &end);
	return err;
}

struct binary_ops {
	enum op is_signed, is_unsigned;
	bool swap;
};

static const struct binary_ops binary_ops[] = {
	[OPERATOR_BOR] = {OP_OR, OP_OR, false},	    [OPERATOR_XOR] = {OP_XOR, OP_XOR, false},
	[OPERATOR_BAND] = {OP_AND, OP_AND, false},  [OPERATOR_EQ] = {OP_EQ, OP_EQ, false},
	[OPERATOR_NE] = {OP_NE, OP_NE, false},	    [OPERATOR_LT] = {OP_SLT, OP_ULT, false},
	[OPERATOR_LE] = {OP_SLE, OP_ULE, false},    [OPERATOR_GT] = {OP_SLT, OP_ULT, true},
	[OPERATOR_GE] = {OP_SLE, OP_ULE, true},	    [OPERATOR_SHL] = {OP_SHL, OP_SHL, false},
	[OPERATOR_SHR] = {OP_SAR, OP_SHR, false},   [OPERATOR_ADD] = {OP_ADD, OP_ADD, false},
	[OPERATOR_SUB] = {OP_SUB, OP_SUB, false},   [OPERATOR_MUL] = {OP_MUL, OP_MUL, false},
	[OPERATOR_DIV] = {OP_SDIV, OP_UDIV, false}, [OPERATOR_MOD] = {OP_SMOD, OP_UMOD, false},
};

void lower_binary_op(struct lower *l, enum operator op, bool is_signed, uint16_t a, uint16_t b,
		     uint16_t out)
{
	const struct binary_ops *ops = &binary_ops[op];
	struct insn *i = lower_op(l, is_signed ? ops->is_signed : ops->is_unsigned);

	i->d = out;
	i->a = ops->swap ? b : a;
	i->b = ops->swap ? a : b;
}

static unsigned pointed_size(const struct type *t)
{
	return t->pointers > 1 ? 8 : t->target_size;
}

uint16_t lower_scaled(struct lower *l, const struct expr *p, const struct expr *n, uint16_t reg)
{
	struct insn *i;
	uint16_t size, out;

	if (!p->shape.type.pointers || n->shape.type.pointers || pointed_size(&p->shape.type) == 1)
		return reg;
	size = lower_const(l, pointed_size(&p->shape.type));
	out = lower_reg(l);
	i = lower_op(l, OP_MUL);
	i->d = out;
	i->a = reg;
	i->b = size;
	return out;
}

/* a == b of names: their numbers; a string that is no name yet becomes one. */
static int name_word(struct lower *l, const struct expr *e, uint16_t *reg)
{
	uint32_t number;

	if (e->kind != EXPR_STRING)
		return lower_word(l, e, reg);
	if (text_number(l->s, &l->s->names, e->text, &number))
		return -ENOMEM;
	*reg = lower_const(l, number);
	return 0;
}

static int lower_name_compare(struct lower *l, const struct expr *e, uint16_t out)
{
	uint16_t a, b;
	int err = name_word(l, e->args[0], &a);

	if (!err)
		err = name_word(l, e->args[1], &b);
	if (!err)
		lower_binary_op(l, e->op, false, a, b, out);
	return err;
}

static int lower_text_compare(struct lower *l, const struct expr *e, uint16_t out)
{
	struct insn *i;
	uint16_t a, b, zero, differ;
	int err = lower_memory(l, e->args[0], &e->args[0]->shape.type, &a);

	if (!err)
		err = lower_memory(l, e->args[1], &e->args[1]->shape.type, &b);
	if (err)
		return err;
	differ = e->op == OPERATOR_NE ? out : lower_reg(l);
	i = lower_op(l, OP_STRCMP);
	i->d = differ;
	i->s = a;
	i->t = b;
	i->imm = -1;
	if (e->op == OPERATOR_NE)
		return 0;
	zero = lower_const(l, 0);
	lower_binary_op(l, OPERATOR_EQ, false, differ, zero, out);
	return 0;
}

int lower_binary(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *a = e->args[0], *b = e->args[1];
	uint16_t left, right;
	int err;

	if (e->op == OPERATOR_AND || e->op == OPERATOR_OR)
		return lower_logic(l, e, out);
	if (a->shape.type.kind == TYPE_NAME || b->shape.type.kind == TYPE_NAME)
		return lower_name_compare(l, e, out);
	if (a->shape.type.kind == TYPE_STR)
		return lower_text_compare(l, e, out);
	err = lower_word(l, a, &left);
	if (!err)
		err = lower_word(l, b, &right);
	if (err)
		return err;
	if (e->op == OPERATOR_ADD || e->op == OPERATOR_SUB) {
		right = lower_scaled(l, a, b, right);
		left = lower_scaled(l, b, a, left);
	}
	lower_binary_op(l, e->op, e->is_signed, left, right, out);
	return 0;
}

static int lower_load(struct lower *l, uint16_t address, const struct shape *result, uint16_t out)
{
	struct insn *i = lower_op(l, OP_LOAD);

	i->d = out;
	i->a = address;
	i->size = (uint8_t)result->type.size;
	i->is_signed = result->type.is_signed;
	return 0;
}

int lower_unary(struct lower *l, const struct expr *e, uint16_t out)
{
	struct insn *i;
	uint16_t a, zero;
	int err = lower_word(l, e->args[0], &a);

	if (err)
		return err;
	if (e->op == OPERATOR_LOAD)
		return lower_load(l, a, &e->shape, out);
	if (e->op == OPERATOR_NOT) {
		zero = lower_const(l, 0);
		lower_binary_op(l, OPERATOR_EQ, false, a, zero, out);
		return 0;
	}
	i = lower_op(l, e->op == OPERATOR_NEG ? OP_NEG : OP_NOT);
	i->d = out;
	i->a = a;
	return 0;
}

int lower_index(struct lower *l, const struct expr *e, uint16_t out)
{
	uint16_t base, index, address;
	int err = lower_word(l, e->args[0], &base);

	if (!err)
		err = lower_word(l, e->args[1], &index);
	if (err)
		return err;
	index = lower_scaled(l, e->args[0], e->args[1], index);
	address = lower_reg(l);
	lower_binary_op(l, OPERATOR_ADD, false, base, index, address);
	return lower_load(l, address, &e->shape, out);
}

/* What ++ adds to it. */
static uint64_t step_of(const struct expr *target)
{
	const struct type *t = &target->shape.type;

	return t->pointers ? pointed_size(t) : 1;
}

/* @m++: added atomically; what the map held before comes back. */
static int lower_map_step(struct lower *l, const struct expr *e, uint16_t out)
{
	bool is_inc = e->op == OPERATOR_INC;
	uint16_t key, by, before;
	struct insn *i;
	int err = lower_key(l, e->args[0], &key);

	if (err)
		return err;
	by = lower_const(l, is_inc ? step_of(e->args[0]) : 0 - step_of(e->args[0]));
	before = out == REG_NO || e->is_postfix ? out : lower_reg(l);
	i = lower_op(l, OP_MAP_ADD);
	i->map = (uint16_t)e->args[0]->map->index;
	i->s = key;
	i->a = by;
	i->d = before;
	if (out != REG_NO && !e->is_postfix)
		lower_binary_op(l, OPERATOR_ADD, false, before, by, out);
	return 0;
}

/* What is put into a variable that was declared with less than 64 bits is cut to these. */
void lower_fit(struct lower *l, const struct variable *v)
{
	const struct type *t = &v->shape.type;
	struct insn *i;

	if (t->kind != TYPE_INT || t->size == 8)
		return;
	i = lower_op(l, t->is_signed ? OP_SEXT : OP_ZEXT);
	i->d = i->a = v->reg;
	i->imm = t->size;
}

int lower_step(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *target = e->args[0];
	uint16_t reg, by;

	if (target->kind == EXPR_MAP)
		return lower_map_step(l, e, out);
	reg = target->variable->reg;
	if (out != REG_NO && e->is_postfix)
		lower_move(l, out, reg);
	by = lower_const(l, step_of(target));
	lower_binary_op(l, e->op == OPERATOR_INC ? OPERATOR_ADD : OPERATOR_SUB, false, reg, by,
			reg);
	lower_fit(l, target->variable);
	if (out != REG_NO && !e->is_postfix)
		lower_move(l, out, reg);
	return 0;
}

int lower_cast(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct type *from = &e->args[0]->shape.type, *to = &e->cast.type;
	uint16_t a;
	struct insn *i;
	int err = lower_word(l, e->args[0], &a);

	if (err)
		return err;
	if (to->show) {
		lower_binary_op(l, OPERATOR_NE, false, a, lower_const(l, 0), out);
		return 0;
	}
	if (from->kind == TYPE_FLOAT) {
		i = lower_op(l, OP_F2I);
		i->d = to->size == 8 ? out : lower_reg(l);
		i->a = a;
		i->imm = from->size;
		a = i->d;
		if (to->size == 8)
			return 0;
	}
	i = lower_op(l, to->size == 8 ? OP_MOV : to->is_signed ? OP_SEXT : OP_ZEXT);
	i->d = out;
	i->a = a;
	i->imm = to->size == 8 ? 0 : to->size;
	return 0;
}

/* One side of a ternary, to a register or a slot. */
static int lower_value_to(struct lower *l, const struct expr *e, uint16_t out)
{
	if (e->shape.type.kind == TYPE_NONE)
		return lower_effect(l, e);
	return type_is_word(&e->shape.type) ? lower_word_to(l, e, out) : lower_memory_to(l, e, out);
}

int lower_ternary(struct lower *l, const struct expr *e, uint16_t out)
{
	struct label other = {0}, end = {0};
	uint16_t cond;
	int err;

	if (e->args[1]) {
		err = lower_jump(l, e->args[0], false, &other);
		if (!err)
			err = lower_value_to(l, e->args[1], out);
	} else {
		err = lower_word(l, e->args[0], &cond);
		if (!err)
			lower_goto(l, OP_JUMP_NOT, cond, &other);
		if (!err)
			lower_move(l, out, cond);
	}
	lower_goto(l, OP_JUMP, REG_NO, &end);
	lower_bind(l, &other);
	if (!err)
		err = lower_value_to(l, e->args[2], out);
	lower_bind(l, &end);
	return err;
}
