/* buf(array), buf(text, n), str(text, n): the bytes of values instead of those at an address. An
 * array in memory is read as buf(p, n) reads; of other values each byte is added to the buffer. */
#include "script/builtins/bytes.h"

#include "script/check/check.h"
#include "script/check/ctypes.h"
#include "script/check/value_type.h"
#include "script/lower/emit.h"
#include "script/lower/places.h"

#define GATHERED_MOST 128 /* bytes that are added one by one */

bool check_is_array(struct check *c, const struct expr *e, uint64_t *bytes)
{
	const struct ctype *t = !c->err && e->is_place && e->shape.type.ctype && place_in_memory(e)
					? check_ctype(c, e->shape.type.ctype)
					: NULL;

	if (!t || t->kind != CTYPE_ARRAY)
		return false;
	*bytes = check_ctype_size(c, t);
	return true;
}

/* Bytes of a value; 0: its bytes are not what it is made of. */
static uint64_t bytes_of_value(const struct type *t)
{
	if (t->kind == TYPE_TUPLE && t->show == SHOW_ARRAY && t->elements[0].kind == TYPE_INT)
		return (uint64_t)t->element_count * t->elements[0].size;
	return t->kind == TYPE_STR || t->kind == TYPE_BUF ? t->size : 0;
}

/* The bytes that buf() gives of a value: n of them, or all of an array. */
static void check_gathered(struct check *c, struct expr *e, uint64_t bytes)
{
	const struct expr *n = e->arg_count > 1 ? e->args[1] : NULL;
	bool is_text = e->args[0]->shape.type.kind == TYPE_STR;

	if (is_text && !n)
		check_error(c, e, "wrong-arg-count", "'buf' needs a length");
	else if (n && !n->is_const)
		check_error(
			c, n, "wrong-arg-type",
			"the number of bytes of a value that is not in memory must be constant");
	else if (n && n->value < bytes)
		bytes = n->value;
	if (bytes > GATHERED_MOST)
		check_error(c, n ? n : e, "too-long", "'buf' returns at most %d bytes of a value",
			    GATHERED_MOST);
	e->number = bytes;
	e->shape = shape_of(type_text(TYPE_BUF, bytes));
}

bool check_value_bytes(struct check *c, struct expr *e)
{
	struct expr *of = e->args[0];
	uint64_t bytes;

	check_settle(c, of);
	bytes = c->err ? 0 : bytes_of_value(&of->shape.type);
	if (bytes)
		check_gathered(c, e, bytes);
	return bytes;
}

static void get_byte(struct lower *l, uint16_t out, uint16_t text, uint64_t number)
{
	uint16_t at = lower_const(l, number);

	emit_ds(l, OP_BYTE, out, text, 0)->a = at;
}

static void push_byte(struct lower *l, uint16_t byte, uint16_t out)
{
	struct insn *push = lower_op(l, OP_PUSH);

	push->s = out;
	push->a = byte;
}

/* One element, byte by byte. */
static void push_element(struct lower *l, uint16_t element, unsigned size, uint16_t out)
{
	bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	uint16_t byte = lower_reg(l);

	for (unsigned i = 0; i < size; i++) {
		unsigned place = is_big ? size - 1 - i : i;

		emit_dab(l, OP_SHR, byte, element, lower_const(l, 8 * place));
		push_byte(l, byte, out);
	}
}

void lower_value_bytes(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct type *t = &e->args[0]->shape.type;
	unsigned size = t->kind == TYPE_TUPLE ? t->elements[0].size : 1;
	uint16_t from = lower_memory(l, e->args[0], t), one = lower_reg(l);

	emit_si(l, OP_ZERO, out, 0);
	for (uint64_t at = 0; at < e->number; at += size) {
		uint64_t left = e->number - at;
		uint32_t before = l->next_reg;

		if (t->kind == TYPE_TUPLE)
			emit_ds(l, OP_GET, one, from, 8 * (at / size));
		else
			get_byte(l, one, from, at);
		push_element(l, one, left < size ? (unsigned)left : size, out);
		l->next_reg = before;
	}
}

/* How many bytes of the text str() may give. */
static uint64_t most_of_text(const struct expr *e)
{
	const struct expr *n = e->args[1];
	uint64_t size = e->args[0]->shape.type.size;

	return n->is_const && n->value < size ? n->value : size;
}

void check_shortened(struct check *c, struct expr *e)
{
	check_number(c, e->args[1], "the length of 'str'");
	if (!c->err && most_of_text(e) > GATHERED_MOST)
		check_error(c, e->args[0], "too-long",
			    "'str' returns at most the first %d bytes of a string", GATHERED_MOST);
	e->shape = shape_of(type_text(TYPE_STR, most_of_text(e) + 1));
}

void lower_shortened(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *text = e->args[0], *n = e->args[1];
	uint16_t from = lower_memory(l, text, &text->shape.type), byte = lower_reg(l);
	uint16_t length = n->is_const ? REG_NO : lower_word(l, n), is = lower_reg(l);
	struct label end = {0};

	emit_si(l, OP_ZERO, out, 0);
	for (uint64_t i = 0; i < most_of_text(e); i++) {
		uint32_t before = l->next_reg;

		if (length != REG_NO) {
			emit_dab(l, OP_ULT, is, lower_const(l, i), length);
			lower_goto(l, OP_JUMP_NOT, is, &end);
		}
		get_byte(l, byte, from, i);
		lower_goto(l, OP_JUMP_NOT, byte, &end);
		push_byte(l, byte, out);
		l->next_reg = before;
	}
	lower_bind(l, &end);
}
