/* Decoding records and values. All bytes come through a cursor; a length that does not fit its type
 * is -EPROTO, never trusted. */
#include "program/record.h"

#include <errno.h>

static struct cursor native_cursor(struct str bytes)
{
	return cursor_of(bytes.ptr, bytes.len, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

int record_open(const struct program *p, struct str bytes, struct record *out)
{
	struct cursor c = native_cursor(bytes);
	struct record_head head;

	if (!cursor_u32(&c, &head.size) || !cursor_u16(&c, &head.format) ||
	    !cursor_u16(&c, &head.flags))
		return -EPROTO;
	if (head.size != bytes.len || head.size % 8 || head.flags || head.format >= p->format_count)
		return -EPROTO;
	out->format = &p->formats[head.format];
	out->rest = c;
	return 0;
}

/* Text or a stack: in a record the bytes that are used and their padding, in memory all. */
static int decode_bytes(const struct type *t, struct cursor *c, bool packed, struct value *v)
{
	bool is_stack = type_is_stack(t);
	uint32_t count, other; /* bytes and flags, or addresses and pid */
	uint64_t used;

	if (!cursor_u32(c, &count) || !cursor_u32(c, &other))
		return -EPROTO;
	used = is_stack ? UINT64_C(8) * count : count;
	if (used > t->size ||
	    !cursor_bytes(c, packed ? (used + 7) & ~UINT64_C(7) : t->size, &v->bytes))
		return -EPROTO;
	v->bytes.len = used;
	v->flags = is_stack ? other >> STACK_PID_BITS : other;
	if (is_stack)
		v->extra = other & ((1u << STACK_PID_BITS) - 1);
	return 0;
}

static int decode_value(const struct type *t, struct cursor *c, bool packed, struct value *out)
{
	struct value v = {.type = t};
	int err = 0;

	switch (t->kind) {
	case TYPE_NONE: break;
	case TYPE_INT:
	case TYPE_FLOAT:
	case TYPE_NAME: err = cursor_u64(c, &v.bits) ? 0 : -EPROTO; break;
	case TYPE_DISPLAY:
		err = cursor_u64(c, &v.bits) && (t->size < 16 || cursor_u64(c, &v.extra)) &&
				      (t->size < 24 || cursor_u64(c, &v.third))
			      ? 0
			      : -EPROTO;
		break;
	case TYPE_STR:
	case TYPE_BUF:
	case TYPE_USTACK:
	case TYPE_KSTACK:
	case TYPE_LSTACK: err = decode_bytes(t, c, packed, &v); break;
	default: err = cursor_bytes(c, type_memory(t), &v.bytes) ? 0 : -EPROTO; break;
	}
	if (!err)
		*out = v;
	return err;
}

int record_field(struct record *r, const struct type *t, struct value *out)
{
	return decode_value(t, &r->rest, true, out);
}

int value_decode(const struct type *t, struct cursor *from, struct value *out)
{
	return decode_value(t, from, false, out);
}

static int compare_u64(uint64_t a, uint64_t b, bool is_signed)
{
	const uint64_t flip = is_signed ? UINT64_C(1) << 63 : 0;

	a ^= flip;
	b ^= flip;
	return a < b ? -1 : a > b;
}

/* Numbers in order, then everything that is not a number. */
static int compare_float(const struct value *a, const struct value *b)
{
	double x = float_of_bits(a->bits, a->type->size), y = float_of_bits(b->bits, b->type->size);

	if (x != x || y != y)
		return (x != x) - (y != y);
	return x < y ? -1 : x > y;
}

static int compare_tuple(const struct value *a, const struct value *b)
{
	struct cursor ca = native_cursor(a->bytes), cb = native_cursor(b->bytes);
	struct value x, y;
	int order = 0;

	for (unsigned i = 0; i < a->type->element_count && !order; i++) {
		if (value_decode(&a->type->elements[i], &ca, &x) ||
		    value_decode(&a->type->elements[i], &cb, &y))
			return 0;
		order = value_compare(&x, &y);
	}
	return order;
}

uint64_t value_word(const struct value *v, size_t i)
{
	uint64_t word = 0;

	if (v->bytes.len / 8 > i)
		memcpy(&word, v->bytes.ptr + 8 * i, sizeof(word));
	return word;
}

int value_compare(const struct value *a, const struct value *b)
{
	int order;

	switch (a->type->kind) {
	case TYPE_NONE: return 0;
	case TYPE_INT: return compare_u64(a->bits, b->bits, a->type->is_signed);
	case TYPE_FLOAT: return compare_float(a, b);
	case TYPE_STR:
	case TYPE_BUF:
	case TYPE_USTACK:
	case TYPE_KSTACK:
	case TYPE_LSTACK:
		order = str_cmp(a->bytes, b->bytes);
		order = order ? order : compare_u64(a->extra, b->extra, false);
		return order ? order : compare_u64(a->flags, b->flags, false);
	case TYPE_NAME:
	case TYPE_DISPLAY:
		order = compare_u64(a->bits, b->bits, false);
		order = order ? order : compare_u64(a->extra, b->extra, false);
		return order ? order : compare_u64(a->third, b->third, false);
	case TYPE_TUPLE: return compare_tuple(a, b);
	default:
		return compare_u64(aggregate_number(a->type, a->bytes.ptr),
				   aggregate_number(b->type, b->bytes.ptr), a->type->is_signed);
	}
}
