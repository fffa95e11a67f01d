/* The text of a value that is kept as a number -> code: the text of the number is found by halves
 * among all texts there can be. */
#include "script/lower/lower.h"

#include "program/enum_text.h"
#include "script/check/value_text.h"
#include "script/lower/emit.h"

/* Those from `from` up to `to`, of which `number` says which it is. */
struct text_choice {
	const struct expr *of;
	uint16_t number, out;
};

static void emit_text(struct lower *l, const struct text_choice *c, unsigned i)
{
	emit_si(l, OP_TEXT, c->out,
		lower_intern(l, &l->s->literals, value_text_at(l->s, l->v, c->of, i)));
}

static void choose_by_halves(struct lower *l, const struct text_choice *c, unsigned from,
			     unsigned to)
{
	unsigned middle = from + (to - from) / 2;
	uint32_t next_reg = l->next_reg;
	struct label upper = {0}, end = {0};
	uint16_t less;

	if (to - from == 1) {
		emit_text(l, c, from);
		return;
	}
	less = lower_const(l, middle);
	emit_operator(l, OPERATOR_LT, false, c->number, less, less);
	l->next_reg = next_reg;
	lower_goto(l, OP_JUMP_NOT, less, &upper);
	choose_by_halves(l, c, from, middle);
	lower_goto(l, OP_JUMP, REG_NO, &end);
	lower_bind(l, &upper);
	choose_by_halves(l, c, middle, to);
	lower_bind(l, &end);
}

/* The numbers of names are in no order. */
static void choose_name(struct lower *l, const struct text_choice *c)
{
	struct label end = {0};

	for (unsigned i = 0; i < l->v->count; i++) {
		uint16_t same = lower_const(l, place_name_at(c->of, l->v->attachments[i]));
		struct label other = {0};

		emit_operator(l, OPERATOR_EQ, false, c->number, same, same);
		if (i + 1 < l->v->count)
			lower_goto(l, OP_JUMP_NOT, same, &other);
		emit_text(l, c, i);
		if (i + 1 < l->v->count)
			lower_goto(l, OP_JUMP, REG_NO, &end);
		lower_bind(l, &other);
		l->next_reg = same;
	}
	lower_bind(l, &end);
}

/* The number of a value as enum_text_number() has it, and `count` for all that have no text of
 * their own. */
static void clamp_number(struct lower *l, const struct type *t, uint16_t number)
{
	uint16_t end = lower_const(l, enum_text_count(t)), is = lower_reg(l);
	struct label positive = {0}, known = {0};

	if (enum_text_number(t, UINT64_MAX) == 1) { /* the sign does not matter */
		emit_dai(l, OP_SEXT, number, number, 4);
		emit_operator(l, OPERATOR_LT, true, number, lower_const(l, 0), is);
		lower_goto(l, OP_JUMP_NOT, is, &positive);
		emit_dai(l, OP_NEG, number, number, 0);
		lower_bind(l, &positive);
	}
	emit_operator(l, OPERATOR_LT, false, number, end, is);
	lower_goto(l, OP_JUMP_IF, is, &known);
	emit_dai(l, OP_MOV, number, end, 0);
	lower_bind(l, &known);
}

bool lower_enum_text(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct type *t = &e->shape.type;
	struct text_choice choice = {.of = e, .out = out};

	if (!value_text_count(l->v, e))
		return false;
	if (expr_is_place_name(e)) {
		choice.number = lower_word(l, e);
		choose_name(l, &choice);
		return true;
	}
	choice.number = lower_reg(l);
	emit_ds(l, OP_GET, choice.number, lower_memory(l, e, t), 0);
	clamp_number(l, t, choice.number);
	choose_by_halves(l, &choice, 0, enum_text_count(t) + 1);
	return true;
}
