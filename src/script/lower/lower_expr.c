/* Expressions -> code.
 *
 * Comes in: an expression that check_expr() has typed. Goes out: instructions that leave its value
 * in the register or slot asked for. Operators have a file of their own. */
#include "script/lower/lower.h"

#include "script/check/map.h"
#include "script/check/value_type.h"
#include "script/lower/emit.h"
#include "script/lower/places.h"
#include "script/parse/builtin.h"

static uint64_t element_offset(const struct type *tuple, uint64_t number)
{
	uint64_t offset = 0;

	for (uint64_t i = 0; i < number; i++)
		offset += type_memory(&tuple->elements[i]);
	return offset;
}

/* text[n] */
static void lower_byte_of(struct lower *l, const struct expr *e, uint16_t out)
{
	uint16_t text = lower_memory(l, e->args[0], &e->args[0]->shape.type);
	uint16_t at = lower_word(l, e->args[1]);

	emit_ds(l, OP_BYTE, out, text, 0)->a = at;
	emit_dai(l, OP_SEXT, out, out, 1);
}

static void lower_element(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct type *tuple = &e->args[0]->shape.type;
	uint64_t offset = element_offset(tuple, e->number);
	uint16_t slot = lower_memory(l, e->args[0], tuple);

	if (type_is_word(&e->shape.type))
		emit_ds(l, OP_GET, out, slot, offset);
	else
		emit_sti(l, OP_PART, out, slot, offset);
}

/* One element of a tuple, or one of several keys, to its place in the slot. */
static void lower_part(struct lower *l, const struct expr *e, const struct type *t, uint16_t slot,
		       uint64_t offset)
{
	if (type_is_word(t))
		emit_put(l, slot, offset, lower_word(l, e));
	else
		emit_sti(l, OP_COPY, slot, lower_memory(l, e, t), offset);
}

static void lower_parts(struct lower *l, const struct expr *e, const struct type *tuple,
			uint16_t slot)
{
	if (!e->arg_count)
		emit_put(l, slot, 0,
			 lower_const(l, 1)); /* (): all of them are equal, and none is unset */
	for (unsigned n = 0; n < e->arg_count; n++)
		lower_part(l, e->args[n], &tuple->elements[n], slot, element_offset(tuple, n));
}

/* The elements of one tuple at the beginning of another. */
static void copy_elements(struct lower *l, const struct type *t, uint16_t from, uint16_t to)
{
	uint16_t word = lower_reg(l);
	uint64_t at = 0;

	for (unsigned i = 0; i < t->element_count; i++) {
		const struct type *element = &t->elements[i];

		if (type_is_word(element)) {
			emit_ds(l, OP_GET, word, from, at);
			emit_put(l, to, at, word);
		} else {
			uint16_t part = lower_slot(l, element);

			emit_sti(l, OP_PART, part, from, at);
			emit_sti(l, OP_COPY, to, part, at);
			lower_free_slot(l, part);
		}
		at += type_memory(element);
	}
}

/* A tuple as the only key counts as its elements. */
void lower_key_parts(struct lower *l, const struct expr *map, const struct type *tuple,
		     uint16_t slot)
{
	const struct type *key = &map->map->key;

	if (map->arg_count > 1)
		lower_parts(l, map, tuple, slot);
	else if (key->kind == TYPE_TUPLE && key->show == SHOW_NUMBER)
		copy_elements(l, key, lower_memory(l, map->args[0], key), slot);
	else
		lower_part(l, map->args[0], key, slot, 0);
}

uint16_t lower_key(struct lower *l, const struct expr *map)
{
	const struct type *key = &map->map->key;
	uint16_t slot;

	if (key->kind == TYPE_NONE)
		return SLOT_NO;
	if (map->arg_count == 1 && !type_is_word(key))
		return lower_memory(l, map->args[0], key);
	slot = lower_slot(l, key);
	if (map->arg_count > 1)
		lower_parts(l, map, key, slot);
	else
		lower_part(l, map->args[0], key, slot, 0);
	return slot;
}

void lower_missing(struct lower *l, uint16_t found, int kind)
{
	struct label there = {0};

	lower_goto(l, OP_JUMP_IF, found, &there);
	lower_op(l, OP_FAULT)->imm = kind;
	lower_bind(l, &there);
}

void lower_lookup(struct lower *l, const struct map *m, uint16_t key)
{
	uint16_t found;

	if (!l->s->options.report_missing_keys)
		return;
	found = lower_reg(l);
	emit_map(l, OP_MAP_HAS, m, key)->d = found;
	lower_missing(l, found, FAULT_LOOKUP);
}

static void lower_map_read(struct lower *l, const struct expr *e, uint16_t out)
{
	uint16_t key = lower_key(l, e);

	lower_lookup(l, e->map, key);
	if (type_is_word(&e->shape.type))
		emit_map(l, OP_MAP_GET, e->map, key)->d = out;
	else
		emit_map(l, OP_MAP_COPY, e->map, key)->t = out;
}

/* A function that ends without `return` gives 0, in each round of a loop. */
static void clear_result(struct lower *l, const struct expr *e)
{
	const struct variable *v = e->args[0]->variable;

	if (type_is_word(&v->shape.type))
		emit_di(l, OP_CONST, v->reg, 0);
	else
		emit_si(l, OP_ZERO, v->slot, 0);
}

static void lower_block(struct lower *l, const struct expr *e)
{
	struct label end = {0}, *outer = l->end_function;

	if (!e->is_function) {
		lower_body(l, e->body);
		return;
	}
	if (e->arg_count && e->args[0]->variable)
		clear_result(l, e);
	l->end_function = &end;
	lower_body(l, e->body);
	lower_bind(l, &end);
	l->end_function = outer;
}

/* Any expression with a value, to register or slot `out`. */
static void lower_any(struct lower *l, const struct expr *e, uint16_t out)
{
	bool is_word = type_is_word(&e->shape.type);

	if (e->is_place) {
		lower_place(l, e, out);
		return;
	}
	switch (e->kind) {
	case EXPR_STRING:
		emit_si(l, OP_TEXT, out, lower_intern(l, &l->s->literals, e->text));
		break;
	case EXPR_VARIABLE:
		if (is_word)
			emit_dai(l, OP_MOV, out, e->variable->reg, 0);
		else
			emit_sti(l, OP_COPY, out, e->variable->slot, 0);
		break;
	case EXPR_MAP: lower_map_read(l, e, out); break;
	case EXPR_NAME:
	case EXPR_CALL:
	case EXPR_FIELD: e->function->lower(l, e, out); break;
	case EXPR_UNARY: lower_unary(l, e, out); break;
	case EXPR_STEP: lower_step(l, e, out); break;
	case EXPR_BINARY: lower_binary(l, e, out); break;
	case EXPR_TERNARY: lower_ternary(l, e, out); break;
	case EXPR_BLOCK:
		lower_block(l, e);
		if (e->arg_count)
			lower_value_to(l, e->args[0], out);
		break;
	case EXPR_CAST: lower_cast(l, e, out); break;
	case EXPR_TUPLE: lower_parts(l, e, &l->slots[out].type, out); break;
	case EXPR_INDEX:
		if (e->args[0]->shape.type.kind == TYPE_STR) {
			lower_byte_of(l, e, out);
			break;
		}
		if (e->number == e->args[0]->shape.type.element_count) {
			lower_chosen(l, e, out);
			break;
		}
		lower_element(l, e, out);
		break;
	case EXPR_ELEMENT:
	case EXPR_MEMBER: lower_element(l, e, out); break;
	case EXPR_SIZEOF:
	case EXPR_OFFSETOF:
	case EXPR_INT:
	case EXPR_PARAM:
	case EXPR_PARAMS:      /* constants: see lower_word_to */
	case EXPR_TYPE: break; /* refused */
	}
}

/* Faults in the code of `e` count for its text. */
void lower_memory_to(struct lower *l, const struct expr *e, uint16_t out)
{
	uint32_t outer = l->span;

	if (l->err)
		return;
	l->span = e->span - 1;
	lower_any(l, e, out);
	l->span = outer;
}

/* An unused value is computed all the same: a failed read of memory counts. */
void lower_effect(struct lower *l, const struct expr *e)
{
	if (e->kind == EXPR_STEP)
		lower_step(l, e, REG_NO);
	else if (e->shape.type.kind == TYPE_NONE ||
		 (e->function && (e->function->needs & NEED_NO_REG)))
		lower_memory_to(l, e, REG_NO);
	else
		lower_field(l, e);
}

void lower_word_to(struct lower *l, const struct expr *e, uint16_t reg)
{
	if (e->is_const)
		emit_di(l, OP_CONST, reg, e->value);
	else
		lower_memory_to(l, e, reg);
}

uint16_t lower_word(struct lower *l, const struct expr *e)
{
	uint16_t reg;

	if (e->kind == EXPR_VARIABLE && !l->copy_reads)
		return e->variable->reg;
	reg = lower_reg(l);
	lower_word_to(l, e, reg);
	return reg;
}

uint16_t lower_memory(struct lower *l, const struct expr *e, const struct type *t)
{
	uint16_t slot;

	if (e->kind == EXPR_VARIABLE)
		return e->variable->slot;
	slot = lower_slot(l, t);
	lower_memory_to(l, e, slot);
	return slot;
}

void lower_value_to(struct lower *l, const struct expr *e, uint16_t out)
{
	if (e->shape.type.kind == TYPE_NONE)
		lower_effect(l, e);
	else if (type_is_word(&e->shape.type))
		lower_word_to(l, e, out);
	else
		lower_memory_to(l, e, out);
}

/* ---- Records ---- */

struct field lower_field(struct lower *l, const struct expr *e)
{
	struct field f = {REG_NO, SLOT_NO};

	if (type_is_word(&e->shape.type))
		f.reg = lower_word(l, e);
	else
		f.slot = lower_memory(l, e, &e->shape.type);
	return f;
}
