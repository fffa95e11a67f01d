/* Expressions -> code. Numbers are made in registers, texts and the like in slots; registers and
 * slots of a statement are free again behind it. */
#include <errno.h>

#include "script/builtins.h"
#include "script/compile.h"

#define MAX_INSNS 65536

struct insn *lower_op(struct lower *l, enum op op)
{
	static const struct insn blank = {
		.d = REG_NO, .a = REG_NO, .b = REG_NO, .s = SLOT_NO, .t = SLOT_NO};
	struct insn *i;

	/* When there is no room, the last instruction is written over and the failure is told at
	 * the end. */
	if (l->count >= MAX_INSNS ||
	    arena_grow(l->arena, (void **)&l->code, l->count, &l->cap, sizeof(*l->code))) {
		l->failed = true;
		i = &l->spare;
	} else {
		i = &l->code[l->count++];
	}
	*i = blank;
	i->op = (uint8_t)op;
	i->place = l->place;
	return i;
}

uint16_t lower_reg(struct lower *l)
{
	if (l->next_reg >= REG_NO - 1) {
		l->failed = true;
		return 0;
	}
	if (l->next_reg + 1 > l->most_regs)
		l->most_regs = l->next_reg + 1;
	return (uint16_t)l->next_reg++;
}

uint16_t lower_const(struct lower *l, uint64_t value)
{
	struct insn *i = lower_op(l, OP_CONST);

	i->imm = (int64_t)value;
	return i->d = lower_reg(l);
}

uint16_t lower_slot(struct lower *l, const struct type *t)
{
	for (size_t i = 0; i < l->slot_count; i++) {
		if (!l->slots[i].is_busy && type_equal(&l->slots[i].type, t)) {
			l->slots[i].is_busy = true;
			l->slots[i].owner = l->depth;
			return (uint16_t)i;
		}
	}
	if (l->slot_count >= SLOT_NO - 1 || arena_grow(l->arena, (void **)&l->slots, l->slot_count,
						       &l->slot_cap, sizeof(*l->slots))) {
		l->failed = true;
		return 0;
	}
	l->slots[l->slot_count] = (struct lower_slot){*t, true, l->depth};
	return (uint16_t)l->slot_count++;
}

void lower_bind(struct lower *l, struct label *label)
{
	uint32_t at = label->last;

	while (at) {
		struct insn *i = &l->code[at - 1];

		at = (uint32_t)i->imm;
		i->imm = (int64_t)l->count;
	}
	label->last = 0;
}

void lower_goto(struct lower *l, enum op op, uint16_t reg, struct label *label)
{
	struct insn *i = lower_op(l, op);

	i->a = reg;
	if (i == &l->spare)
		return;
	i->imm = label->last;
	label->last = (uint32_t)l->count;
}

static void move(struct lower *l, uint16_t to, uint16_t from)
{
	struct insn *i = lower_op(l, OP_MOV);

	i->d = to;
	i->a = from;
}

static void set(struct lower *l, uint16_t to, uint64_t value)
{
	struct insn *i = lower_op(l, OP_CONST);

	i->d = to;
	i->imm = (int64_t)value;
}

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

	set(l, out, 1);
	lower_goto(l, OP_JUMP, REG_NO, &end);
	lower_bind(l, &no);
	set(l, out, 0);
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

static unsigned pointed_size(const struct shape *s)
{
	return s->pointers > 1 ? 8 : s->target_size;
}

/* p + n counts in what p points to. */
static uint16_t scaled(struct lower *l, const struct expr *other, const struct expr *n,
		       uint16_t reg)
{
	struct insn *i;
	uint16_t size, out;

	if (!other->shape.pointers || n->shape.pointers || pointed_size(&other->shape) == 1)
		return reg;
	size = lower_const(l, pointed_size(&other->shape));
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

static int lower_binary(struct lower *l, const struct expr *e, uint16_t out)
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
		right = scaled(l, a, b, right);
		left = scaled(l, b, a, left);
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

static int lower_unary(struct lower *l, const struct expr *e, uint16_t out)
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

static int lower_index(struct lower *l, const struct expr *e, uint16_t out)
{
	uint16_t base, index, address;
	int err = lower_word(l, e->args[0], &base);

	if (!err)
		err = lower_word(l, e->args[1], &index);
	if (err)
		return err;
	index = scaled(l, e->args[0], e->args[1], index);
	address = lower_reg(l);
	lower_binary_op(l, OPERATOR_ADD, false, base, index, address);
	return lower_load(l, address, &e->shape, out);
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
	by = lower_const(l, is_inc ? 1 : UINT64_MAX);
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

static int lower_step(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *target = e->args[0];
	uint16_t reg, by;

	if (target->kind == EXPR_MAP)
		return lower_map_step(l, e, out);
	reg = target->variable->reg;
	if (out != REG_NO && e->is_postfix)
		move(l, out, reg);
	by = lower_const(l, 1);
	lower_binary_op(l, e->op == OPERATOR_INC ? OPERATOR_ADD : OPERATOR_SUB, false, reg, by,
			reg);
	if (out != REG_NO && !e->is_postfix)
		move(l, out, reg);
	return 0;
}

static int lower_cast(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct type *from = &e->args[0]->shape.type, *to = &e->cast.type;
	uint16_t a;
	struct insn *i;
	int err = lower_word(l, e->args[0], &a);

	if (err)
		return err;
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

static int lower_ternary(struct lower *l, const struct expr *e, uint16_t out)
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
			move(l, out, cond);
	}
	lower_goto(l, OP_JUMP, REG_NO, &end);
	lower_bind(l, &other);
	if (!err)
		err = lower_value_to(l, e->args[2], out);
	lower_bind(l, &end);
	return err;
}

static uint64_t element_offset(const struct type *tuple, uint64_t number)
{
	uint64_t offset = 0;

	for (uint64_t i = 0; i < number; i++)
		offset += type_memory(&tuple->elements[i]);
	return offset;
}

static int lower_element(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct type *tuple = &e->args[0]->shape.type;
	bool is_word = type_is_word(&e->shape.type);
	struct insn *i;
	uint16_t slot;
	int err = lower_memory(l, e->args[0], tuple, &slot);

	if (err)
		return err;
	i = lower_op(l, is_word ? OP_GET : OP_PART);
	i->imm = (int64_t)element_offset(tuple, e->number);
	if (is_word) {
		i->d = out;
		i->s = slot;
	} else {
		i->s = out;
		i->t = slot;
	}
	return 0;
}

/* The elements of a tuple, or the keys of a map, one behind the other into a slot. */
static int lower_parts(struct lower *l, struct expr *const *parts, unsigned count,
		       const struct type *t, uint16_t out)
{
	uint64_t offset = 0;
	int err = 0;

	for (unsigned n = 0; n < count && !err; n++) {
		const struct type *element = &t->elements[n];
		bool is_word = type_is_word(element);
		uint16_t from;
		struct insn *i;

		err = is_word ? lower_word(l, parts[n], &from)
			      : lower_memory(l, parts[n], element, &from);
		if (err)
			return err;
		i = lower_op(l, is_word ? OP_PUT : OP_COPY);
		i->s = out;
		i->imm = (int64_t)offset;
		if (is_word)
			i->a = from;
		else
			i->t = from;
		offset += type_memory(element);
	}
	return err;
}

int lower_key(struct lower *l, const struct expr *map, uint16_t *slot)
{
	const struct type *key = &map->map->key;
	uint16_t reg;
	struct insn *i;
	int err;

	*slot = SLOT_NO;
	if (key->kind == TYPE_NONE)
		return 0;
	if (map->arg_count == 1 && !type_is_word(key))
		return lower_memory(l, map->args[0], key, slot);
	*slot = lower_slot(l, key);
	if (map->arg_count > 1)
		return lower_parts(l, map->args, map->arg_count, key, *slot);
	err = lower_word(l, map->args[0], &reg);
	if (err)
		return err;
	i = lower_op(l, OP_PUT);
	i->s = *slot;
	i->a = reg;
	return 0;
}

static int lower_map_read(struct lower *l, const struct expr *e, uint16_t out)
{
	bool is_word = type_is_word(&e->shape.type);
	uint16_t key;
	struct insn *i;
	int err = lower_key(l, e, &key);

	if (err)
		return err;
	i = lower_op(l, is_word ? OP_MAP_GET : OP_MAP_COPY);
	i->map = (uint16_t)e->map->index;
	i->s = key;
	if (is_word)
		i->d = out;
	else
		i->t = out;
	return 0;
}

static int lower_text(struct lower *l, const struct expr *e, uint16_t out)
{
	struct insn *i;
	uint32_t number;

	if (text_number(l->s, &l->s->literals, e->text, &number))
		return -ENOMEM;
	i = lower_op(l, OP_TEXT);
	i->s = out;
	i->imm = number;
	return 0;
}

static int lower_copy(struct lower *l, uint16_t from, uint16_t out)
{
	struct insn *i = lower_op(l, OP_COPY);

	i->s = out;
	i->t = from;
	return 0;
}

/* Any expression with a value, to register or slot `out`. */
static int lower_any(struct lower *l, const struct expr *e, uint16_t out)
{
	switch (e->kind) {
	case EXPR_STRING: return lower_text(l, e, out);
	case EXPR_VARIABLE:
		if (!type_is_word(&e->shape.type))
			return lower_copy(l, e->variable->slot, out);
		move(l, out, e->variable->reg);
		return 0;
	case EXPR_MAP: return lower_map_read(l, e, out);
	case EXPR_NAME:
	case EXPR_CALL:
	case EXPR_FIELD: return e->function->lower(l, e, out);
	case EXPR_UNARY: return lower_unary(l, e, out);
	case EXPR_STEP: return lower_step(l, e, out);
	case EXPR_BINARY: return lower_binary(l, e, out);
	case EXPR_TERNARY: return lower_ternary(l, e, out);
	case EXPR_CAST: return lower_cast(l, e, out);
	case EXPR_TUPLE: return lower_parts(l, e->args, e->arg_count, &l->slots[out].type, out);
	case EXPR_ELEMENT: return lower_element(l, e, out);
	case EXPR_INDEX: return lower_index(l, e, out);
	case EXPR_INT:
	case EXPR_PARAM:
	case EXPR_PARAMS: break; /* constants: see lower_word_to */
	}
	return 0;
}

/* Faults in the code of `e` count for its text. */
static int lower_here(struct lower *l, const struct expr *e, uint16_t out)
{
	uint32_t outer = l->place;
	int err;

	l->place = e->place - 1;
	err = lower_any(l, e, out);
	l->place = outer;
	return err;
}

int lower_effect(struct lower *l, const struct expr *e)
{
	uint16_t ignored;

	if (e->kind == EXPR_STEP)
		return lower_step(l, e, REG_NO);
	if (e->shape.type.kind == TYPE_NONE)
		return lower_here(l, e, REG_NO);
	return type_is_word(&e->shape.type) ? lower_word(l, e, &ignored)
					    : lower_memory(l, e, &e->shape.type, &ignored);
}

int lower_word_to(struct lower *l, const struct expr *e, uint16_t reg)
{
	if (e->is_const) {
		set(l, reg, e->value);
		return 0;
	}
	return lower_here(l, e, reg);
}

int lower_word(struct lower *l, const struct expr *e, uint16_t *reg)
{
	if (e->kind == EXPR_VARIABLE && !l->copy_reads) {
		*reg = e->variable->reg;
		return 0;
	}
	*reg = lower_reg(l);
	return lower_word_to(l, e, *reg);
}

int lower_memory_to(struct lower *l, const struct expr *e, uint16_t slot)
{
	return lower_here(l, e, slot);
}

int lower_memory(struct lower *l, const struct expr *e, const struct type *t, uint16_t *slot)
{
	if (e->kind == EXPR_VARIABLE) {
		*slot = e->variable->slot;
		return 0;
	}
	*slot = lower_slot(l, t);
	return lower_memory_to(l, e, *slot);
}
