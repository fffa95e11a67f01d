/* Functions that look into texts: strstr strcontains strcap memcmp. */
#include <errno.h>

#include "script/builtins/function.h"
#include "script/check/value_text.h"
#include "script/lower/emit.h"
#include "script/lower/loop.h"

/* A search that is part of a loop takes what the loop leaves to it; when that is not enough, the
 * engine counts the loop as cut short. */
static uint64_t search_rounds(const struct lower *l, const struct expr *e)
{
	uint64_t worst = search_most_rounds(e), left = PROGRAM_MAX_ROUNDS / l->rounds;

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
	e->value = type_capacity(&a->shape.type);
}

/* memcmp(a, b, n): each of the two is a string, a buffer, an array or an address */
static bool has_bytes(const struct type *t)
{
	return t->kind == TYPE_STR || t->kind == TYPE_BUF;
}

/* buf(e), or buf(e, n) */
static struct expr *call_buf(struct check *c, struct expr *e, struct expr *n)
{
	struct expr *call =
		new_constant(c, e, (struct expr){.kind = EXPR_CALL, .text = STR("buf")});
	struct expr **args = arena_array(&c->s->arena, struct expr *, 2);

	if (!call || !args) {
		c->err = -ENOMEM;
		return e;
	}
	args[0] = e;
	args[1] = n;
	call->args = args;
	call->arg_count = n ? 2 : 1;
	return call;
}

/* &$v becomes buf(&$v): the bytes of a number, or of a text */
static struct expr *bytes_behind(struct check *c, struct expr *e)
{
	check_refer(c, e);
	/* a text is as good; other values are refused */
	return e->kind == EXPR_CAST ? call_buf(c, e, NULL) : e;
}

static bool is_array(const struct type *t)
{
	bool is_place = t->kind == TYPE_NONE && t->ctype && t->ctype->kind == CTYPE_ARRAY;

	return is_place || (t->kind == TYPE_TUPLE && t->show == SHOW_ARRAY);
}

/* Arrays become their bytes, and memory of the kernel the bytes there. */
static struct expr *bytes_of(struct check *c, struct expr *e, struct expr *count)
{
	if (is_array(&e->shape.type))
		return call_buf(c, e, NULL);
	if (e->shape.type.kind == TYPE_INT && e->shape.type.is_kernel)
		return call_buf(c, e, count);
	return e;
}

static void check_memcmp(struct check *c, struct expr *e)
{
	for (unsigned i = 0; i < 2; i++) {
		struct expr *a = e->args[i];

		if (expr_refers(a))
			a = e->args[i] = bytes_behind(c, a);
		check_expr(c, a);
		check_enum_text(c, a);
		if (c->err || has_bytes(&a->shape.type))
			continue;
		e->args[i] = bytes_of(c, a, e->args[2]);
		if (e->args[i] != a)
			check_expr(c, e->args[i]);
		else
			check_int(c, a, "this argument of 'memcmp'");
	}
	if (!c->err && e->args[2]->value > PROGRAM_MAX_TEXT)
		check_error(c, e->args[2], "too-long", "'memcmp' compares at most %u bytes",
			    PROGRAM_MAX_TEXT);
}

/* The slot with the bytes, or the register with their address. */
static uint16_t lower_bytes(struct lower *l, const struct expr *e)
{
	const struct type *t = &e->shape.type;

	return has_bytes(t) ? lower_memory(l, e, t) : lower_word(l, e);
}

/* Byte number `at` of what lower_bytes left; after the end of a text it is 0. */
static void lower_byte_at(struct lower *l, const struct expr *e, uint16_t from, uint16_t at,
			  uint16_t out)
{
	static const struct type byte = {.kind = TYPE_INT, .size = 1};

	if (has_bytes(&e->shape.type)) {
		emit_ds(l, OP_BYTE, out, from, 0)->a = at;
		return;
	}
	emit_operator(l, OPERATOR_ADD, false, from, at, out);
	emit_load(l, out, out, &byte);
}

static void lower_memcmp(struct lower *l, const struct expr *e, uint16_t out)
{
	uint16_t a = lower_bytes(l, e->args[0]), b = lower_bytes(l, e->args[1]);
	uint16_t at = lower_const(l, 0), one = lower_const(l, 1), byte = lower_reg(l);
	uint16_t end = lower_const(l, e->args[2]->value), result = lower_const(l, 0);
	struct loop loop;

	loop_open(l, e->mark, e->args[2]->value + 1, &loop);
	emit_operator(l, OPERATOR_LT, false, at, end, byte);
	lower_goto(l, OP_JUMP_NOT, byte, l->leave);
	lower_byte_at(l, e->args[0], a, at, result);
	lower_byte_at(l, e->args[1], b, at, byte);
	emit_operator(l, OPERATOR_SUB, true, result, byte, result);
	lower_goto(l, OP_JUMP_IF, result, l->leave);
	emit_operator(l, OPERATOR_ADD, false, at, one, at);
	loop_close(l, &loop);
	emit_dai(l, OP_MOV, out, result, 0);
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
	{ "memcmp", "xxc", GROUP_FUNCTION, 0, 0, RESULT_S64, check_memcmp, lower_memcmp, 0,
	  "0 when bytes are equal, or their difference", "if (memcmp(arg0, \"GET \", 4) == 0) { exit(); }" },
	{ .name = NULL },
};
/* clang-format on */
