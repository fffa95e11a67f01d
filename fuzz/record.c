/* Hostile record bytes against record_open, record_field and value_decode, for a program with a
 * field of every type. The first byte chooses: a record, or a value of one type. */
#include <stdlib.h>

#include "base/array.h"
#include "program/record.h"

static const struct type pair[] = {
	{.kind = TYPE_INT, .size = 8, .is_signed = true},
	{.kind = TYPE_STR, .size = 16},
};
static const struct type nest[] = {
	{.kind = TYPE_TUPLE, .elements = pair, .element_count = 2},
	{.kind = TYPE_BUF, .size = 8},
	{.kind = TYPE_USTACK, .size = 16},
	{.kind = TYPE_FLOAT, .size = 4},
};
static const struct type types[] = {
	{.kind = TYPE_INT, .size = 4},
	{.kind = TYPE_FLOAT, .size = 8},
	{.kind = TYPE_STR, .size = 64},
	{.kind = TYPE_BUF, .size = 24},
	{.kind = TYPE_NAME},
	{.kind = TYPE_TUPLE, .elements = pair, .element_count = 2},
	{.kind = TYPE_TUPLE, .elements = nest, .element_count = 4},
	{.kind = TYPE_USTACK, .size = 64},
	{.kind = TYPE_KSTACK, .size = 8},
	DISPLAY_TYPE("usym", 2),
	DISPLAY_TYPE("ksym", 2),
	DISPLAY_TYPE("time", 2),
	{.kind = TYPE_COUNT},
	{.kind = TYPE_SUM, .is_signed = true},
	{.kind = TYPE_MIN},
	{.kind = TYPE_MAX, .is_signed = true},
	{.kind = TYPE_AVG, .is_signed = true},
	{.kind = TYPE_AVG},
	{.kind = TYPE_STATS, .is_signed = true},
	{.kind = TYPE_HIST, .bits = 1},
	{.kind = TYPE_LHIST, .min = 0, .max = 10, .step = 3},
};
static const struct format formats[] = {
	{.kind = FORMAT_PRINTF, .fields = types, .field_count = 12},
	{.kind = FORMAT_PRINTF, .fields = types + 2, .field_count = 2},
	{.kind = FORMAT_VALUE, .fields = types + 6, .field_count = 1},
	{.kind = FORMAT_EXIT},
};
static const struct program program = {.formats = formats, .format_count = 4};

/* Every byte a value claims is read. */
static unsigned touch(const struct value *v)
{
	unsigned sum = 0;

	for (size_t i = 0; i < v->bytes.len; i++)
		sum += (unsigned char)v->bytes.ptr[i];
	return sum;
}

static void take_elements(const struct value *v)
{
	struct value element;
	struct cursor c;

	if (touch(v) > 255 * v->bytes.len)
		abort();
	if (!v->type->element_count)
		return;
	c = cursor_of(v->bytes.ptr, v->bytes.len, false);
	for (unsigned i = 0; i < v->type->element_count; i++) {
		if (value_decode(&v->type->elements[i], &c, &element))
			return;
		take_elements(&element);
	}
}

static void try_record(struct str bytes)
{
	struct record r;
	struct value v;

	if (record_open(&program, bytes, &r))
		return;
	format_is_control(r.format);
	for (unsigned i = 0; i < r.format->field_count; i++) {
		if (record_field(&r, &r.format->fields[i], &v))
			return;
		take_elements(&v);
	}
}

/* Two values one behind the other: order must be the same from both sides. */
static void try_values(const struct type *t, struct str bytes)
{
	struct cursor c = cursor_of(bytes.ptr, bytes.len, false);
	struct value a, b;

	if (value_decode(t, &c, &a))
		return;
	take_elements(&a);
	if (value_compare(&a, &a) != 0)
		abort();
	if (value_decode(t, &c, &b))
		return;
	if (value_compare(&a, &b) != -value_compare(&b, &a))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy with nothing behind it, so that a byte too far is seen. */
	char *copy = size ? malloc(size) : NULL;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (data[0] >= COUNT(types))
		try_record(str_of(copy + 1, size - 1));
	else
		try_values(&types[data[0]], str_of(copy + 1, size - 1));
	free(copy);
	return 0;
}
