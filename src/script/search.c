/* Functions that look into texts: strstr strcontains strcap. */
#include "script/inside.h"

/* Bytes that the text of `e` may have. */
static uint64_t most_bytes(const struct expr *e)
{
	return e->kind == EXPR_STRING ? e->text.len : e->shape.type.size;
}

/* Rounds of a search: one for each byte compared, at worst. A search that is part of a loop takes
 * what the loop leaves to it; when that is not enough, the engine counts the loop as cut short. */
static uint64_t search_rounds(const struct lower *l, const struct expr *e)
{
	uint64_t text = most_bytes(e->args[0]), wanted = most_bytes(e->args[1]);
	uint64_t worst = (text + 1) * (wanted + 1), left = PROGRAM_MAX_ROUNDS / l->rounds;

	return worst < left || !left ? worst : left;
}

/* strstr(text, wanted): `found` bytes of `wanted` are at `at` of the text so far. The byte after
 * them decides: one more is found, or the search goes on after `at`. */
static void lower_strstr(struct lower *l, const struct expr *e, uint16_t out)
{
	uint16_t text = lower_memory(l, e->args[0], &e->args[0]->shape.type);
	uint16_t wanted = lower_memory(l, e->args[1], &e->args[1]->shape.type);
	uint16_t end = lower_reg(l), all = lower_reg(l), at = lower_const(l, 0);
	uint16_t found = lower_const(l, 0), one = lower_const(l, 1), none = lower_const(l, 0);
	uint16_t byte = lower_reg(l), other = lower_reg(l);
	struct label differ = {0}, missing = {0};
	struct loop loop;

	emit_ds(l, OP_LENGTH, end, text, 0);
	emit_ds(l, OP_LENGTH, all, wanted, 0);
	emit_di(l, OP_CONST, out, UINT64_MAX);
	loop_open(l, e->mark, search_rounds(l, e), &loop);
	emit_operator(l, OPERATOR_LT, false, found, all, byte);
	lower_goto(l, OP_JUMP_IF, byte, &missing);
	emit_dai(l, OP_MOV, out, at, 0);
	lower_goto(l, OP_JUMP, REG_NO, l->leave);
	lower_bind(l, &missing);
	emit_operator(l, OPERATOR_ADD, false, at, found, byte);
	emit_operator(l, OPERATOR_LT, false, byte, end, other);
	lower_goto(l, OP_JUMP_NOT, other, l->leave);
	emit_ds(l, OP_BYTE, byte, text, 0)->a = byte;
	emit_ds(l, OP_BYTE, other, wanted, 0)->a = found;
	emit_operator(l, OPERATOR_NE, false, byte, other, byte);
	lower_goto(l, OP_JUMP_IF, byte, &differ);
	emit_operator(l, OPERATOR_ADD, false, found, one, found);
	lower_goto(l, OP_JUMP, REG_NO, l->again);
	lower_bind(l, &differ);
	emit_dai(l, OP_MOV, found, none, 0);
	emit_operator(l, OPERATOR_ADD, false, at, one, at);
	loop_close(l, &loop);
}

static void lower_strcontains(struct lower *l, const struct expr *e, uint16_t out)
{
	lower_strstr(l, e, out);
	emit_operator(l, OPERATOR_LE, true, lower_const(l, 0), out, out);
}

/* strcap(text): with the NUL that a literal has */
static void check_strcap(struct check *c, struct expr *e)
{
	const struct expr *a = e->args[0];

	(void)c;
	e->shape = shape_int(true);
	e->is_const = true;
	e->value = a->kind == EXPR_STRING ? a->text.len + 1 : a->shape.type.size;
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function search_rows[] = {
	{ "strstr", "tt", GROUP_FUNCTION, 0, 0, RESULT_S64, NULL, lower_strstr, 0,
	  "where a text contains another, or -1", "print(strstr(str(arg0), \"=\"));" },
	{ "strcontains", "tt", GROUP_FUNCTION, 0, 0, RESULT_BOOL, NULL, lower_strcontains, 0,
	  "does a text contain another?", "if (strcontains(str(arg0), \"SELECT\")) { @ = count(); }" },
	{ "strcap", "t", GROUP_FUNCTION, 0, 0, NO_RESULT, check_strcap, NULL, 0,
	  "the bytes that a text may have", "print(strcap(comm));" },
	{ .name = NULL },
};
/* clang-format on */
