/* The text of a value that is kept as a number: strerror(n), and probe. Where a script compares it,
 * looks into it or measures it, the value becomes a text: a cast, which has all texts there can be
 * as literals, and finds the one of the number by halves. */
#include "program/spelled.h"

#include <errno.h>

#include "script/inside.h"

#define NAMES_MOST 256 /* of places that a clause is attached to */

/* Are these the names of places, of which a clause knows its own? */
static bool is_place_name(const struct expr *e)
{
	return e->kind == EXPR_NAME && e->function && e->shape.type.kind == TYPE_NAME &&
	       (e->function->number == BUILTIN_PROBE || e->function->number == BUILTIN_FUNC);
}

static uint32_t name_at(const struct expr *e, const struct attachment *p)
{
	return e->function->number == BUILTIN_FUNC ? p->attach.func : p->attach.name;
}

/* How many texts there may be; 0: the value is of another kind. */
static unsigned text_count(const struct variant *v, const struct expr *e)
{
	if (is_place_name(e))
		return (unsigned)v->count;
	return spelled_count(&e->shape.type) ? spelled_count(&e->shape.type) + 1 : 0;
}

/* One of them, by its place in their order; it lives in the arena. */
static struct str text_at(struct script *s, const struct variant *v, const struct expr *e,
			  unsigned i)
{
	struct buf text = BUF_INIT;
	struct str copy;

	if (is_place_name(e))
		return s->names.items[name_at(e, v->attachments[i])];
	spelled_text(&e->shape.type, i, &text);
	copy = text.failed ? str_of(NULL, 0) : arena_str(&s->arena, buf_as_str(&text));
	buf_free(&text);
	return copy;
}

static void refuse_many(struct check *c, const struct expr *e)
{
	check_error(c, e, "too-big", "as a text '%.*s' can have %u names at most, not %zu",
		    STR_FMT(e->text), NAMES_MOST, c->v->count);
	diag_hint(c->d, "compare it with a whole name, or have fewer probes in the clause");
}

bool check_spelled(struct check *c, struct expr *e)
{
	static const struct ctype string = {.kind = CTYPE_NAMED, .name = STR("string")};
	struct expr **args;

	if (c->err || !text_count(c->v, e))
		return false;
	args = arena_array(&c->s->arena, struct expr *, 1);
	if (args)
		args[0] = new_constant(c, e, *e);
	if (!args || !args[0]) {
		c->err = -ENOMEM;
		return false;
	}
	e->kind = EXPR_CAST;
	e->named = &string;
	e->args = args;
	e->arg_count = 1;
	check_expr(c, e);
	return true;
}

bool check_spelled_cast(struct check *c, struct expr *e)
{
	const struct expr *a = e->args[0];
	unsigned count = text_count(c->v, a);
	size_t most = 1;

	if (is_place_name(a) && count > NAMES_MOST)
		refuse_many(c, a);
	for (unsigned i = 0; i < count && !c->err; i++) {
		size_t len = text_at(c->s, c->v, a, i).len;

		most = len > most ? len : most;
	}
	if (count)
		e->shape = shape_of(type_text(TYPE_STR, most));
	return count;
}

/* Those from `from` up to `to`, of which `number` says which it is. */
struct choice {
	const struct expr *of;
	uint16_t number, out;
};

static void emit_text(struct lower *l, const struct choice *c, unsigned i)
{
	emit_si(l, OP_TEXT, c->out,
		lower_intern(l, &l->s->literals, text_at(l->s, l->v, c->of, i)));
}

static void choose_by_halves(struct lower *l, const struct choice *c, unsigned from, unsigned to)
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
static void choose_name(struct lower *l, const struct choice *c)
{
	struct label end = {0};

	for (unsigned i = 0; i < l->v->count; i++) {
		uint16_t same = lower_const(l, name_at(c->of, l->v->attachments[i]));
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

/* The number of a value as spelled_number() has it, and `count` for all that have no text of their
 * own. */
static void clamp(struct lower *l, const struct type *t, uint16_t number)
{
	uint16_t end = lower_const(l, spelled_count(t)), is = lower_reg(l);
	struct label positive = {0}, known = {0};

	if (spelled_number(t, UINT64_MAX) == 1) { /* the sign does not matter */
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

bool lower_spelled(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct type *t = &e->shape.type;
	struct choice choice = {.of = e, .out = out};

	if (!text_count(l->v, e))
		return false;
	if (is_place_name(e)) {
		choice.number = lower_word(l, e);
		choose_name(l, &choice);
		return true;
	}
	choice.number = lower_reg(l);
	emit_ds(l, OP_GET, choice.number, lower_memory(l, e, t), 0);
	clamp(l, t, choice.number);
	choose_by_halves(l, &choice, 0, spelled_count(t) + 1);
	return true;
}
