/* Expressions -> code. Numbers are made in registers, texts and the like in slots; registers and
 * slots of a statement are free again behind it.
 *
 * Comes in: an expression that check_expr() has typed. Goes out: instructions that leave its value
 * in the register or slot asked for. Operators have a file of their own. */
#include "script/lower_expr.h"

#include <errno.h>

#include "script/builtins.h"

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
		lower_move(l, out, e->variable->reg);
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
		lower_set(l, reg, e->value);
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
