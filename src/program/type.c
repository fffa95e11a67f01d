/* Types: equality, the memory a value takes and what lies where in it, names, buckets. */
#include "program/check.h"

#include <errno.h>

#include "base/buf.h"

bool type_equal(const struct type *a, const struct type *b)
{
	if (a->kind != b->kind || a->size != b->size || a->is_signed != b->is_signed ||
	    a->show != b->show || a->bits != b->bits || a->hidden_bits != b->hidden_bits ||
	    a->min != b->min || a->max != b->max || a->step != b->step ||
	    a->element_count != b->element_count ||
	    (a->show == SHOW_ENUM && a->ctype != b->ctype) ||
	    (a->kind == TYPE_DISPLAY && strcmp(a->display, b->display)))
		return false;
	for (unsigned i = 0; i < a->element_count; i++) {
		if (!type_equal(&a->elements[i], &b->elements[i]) ||
		    (a->show == SHOW_RECORD && !str_eq(a->elements[i].name, b->elements[i].name)))
			return false;
	}
	return true;
}

bool type_same_layout(const struct type *a, const struct type *b)
{
	if (a->kind == TYPE_INT && b->kind == TYPE_INT)
		return true;
	if (a->kind != TYPE_TUPLE || b->kind != TYPE_TUPLE)
		return type_equal(a, b);
	if (a->element_count != b->element_count)
		return false;
	for (unsigned i = 0; i < a->element_count; i++)
		if (!type_same_layout(&a->elements[i], &b->elements[i]))
			return false;
	return true;
}

static const struct aggregation aggregations[TYPE_KINDS] = {
#define AGGREGATE(kind, name, suffix, ...) [TYPE_##kind] = {__VA_ARGS__},
#include "program/aggregates.h"
#undef AGGREGATE
};

bool type_is_aggregate(const struct type *t)
{
	return t->kind > TYPE_DISPLAY && (unsigned)t->kind < TYPE_KINDS; /* ORDER: enum type_kind */
}

const struct aggregation *type_aggregation(const struct type *t)
{
	return type_is_aggregate(t) ? &aggregations[t->kind] : NULL;
}

bool type_is_readable(const struct type *t)
{
	return !type_is_aggregate(t) || aggregations[t->kind].is_scalar;
}

bool type_adds_up(const struct type *t)
{
	return !type_is_aggregate(t) || aggregations[t->kind].join == JOIN_ADD;
}

size_t type_memory(const struct type *t)
{
	size_t total = 0;

	switch (t->kind) {
	case TYPE_NONE: return 0;
	case TYPE_INT:
	case TYPE_FLOAT:
	case TYPE_NAME: return 8;
	case TYPE_STR:
	case TYPE_BUF: return sizeof(struct text_head) + t->size;
	case TYPE_USTACK:
	case TYPE_KSTACK:
	case TYPE_LSTACK: return sizeof(struct stack_head) + t->size;
	case TYPE_DISPLAY: return t->size;
	case TYPE_HIST: return sizeof(uint64_t) * hist_buckets(t->bits);
	case TYPE_LHIST: return sizeof(uint64_t) * lhist_buckets(t);
	case TYPE_TUPLE:
		for (unsigned i = 0; i < t->element_count; i++)
			total += type_memory(&t->elements[i]);
		return total;
	default: return type_is_aggregate(t) ? 8 * aggregations[t->kind].words : 0;
	}
}

/* ---- what lies at which offset. Types are checked before: tuples are neither deep nor long. */

unsigned type_parts(const struct type *t)
{
	unsigned total = 0;

	switch (t->kind) {
	case TYPE_NONE: return 0;
	case TYPE_DISPLAY: return t->size / 8;
	case TYPE_TUPLE:
		for (unsigned i = 0; i < t->element_count; i++)
			total += type_parts(&t->elements[i]);
		return total;
	default: return 1;
	}
}

/* The element of a tuple around *offset, which becomes an offset in the element; *part goes up by
 * the parts of the elements before it. */
static const struct type *element_at(const struct type *t, uint64_t *offset, unsigned *part)
{
	for (unsigned i = 0; i < t->element_count; i++) {
		size_t size = type_memory(&t->elements[i]);

		if (*offset < size)
			return &t->elements[i];
		*offset -= size;
		*part += type_parts(&t->elements[i]);
	}
	return NULL;
}

int type_part_at(const struct type *t, uint64_t offset, unsigned *part, bool *word)
{
	unsigned number = 0;
	bool words;

	while (t && t->kind == TYPE_TUPLE)
		t = element_at(t, &offset, &number);
	if (!t || offset >= type_memory(t))
		return -EINVAL;
	words = t->kind == TYPE_DISPLAY || (TYPE_WORDS & TYPE_BIT(t->kind));
	*word = words && offset % 8 == 0;
	*part = number + (words ? (unsigned)(offset / 8) : 0);
	return 0;
}

bool type_holds(const struct type *t, uint64_t offset, const struct type *part)
{
	unsigned ignored = 0;

	for (; t; t = element_at(t, &offset, &ignored)) {
		if (offset == 0 && type_same_layout(t, part))
			return true;
		if (t->kind != TYPE_TUPLE)
			return false;
	}
	return false;
}

double float_of_bits(uint64_t bits, unsigned size)
{
	uint32_t low = (uint32_t)bits;
	double wide;
	float narrow;

	memcpy(&wide, &bits, sizeof(wide));
	memcpy(&narrow, &low, sizeof(narrow));
	return size == 4 ? (double)narrow : wide;
}

/* ---- names */

/* How a kind is written: its name, and what follows. */
enum suffix { PLAIN, BITS, BYTES, FRAMES, PAIRS, OF_INT };

/* clang-format off */
static const struct {
	const char *name;
	enum suffix suffix;
} kinds[] = {
	[TYPE_NONE]    = { "none",    PLAIN  },
	[TYPE_INT]     = { "int",     BITS   },
	[TYPE_FLOAT]   = { "float",   BITS   },
	[TYPE_STR]     = { "string",  BYTES  },
	[TYPE_BUF]     = { "buffer",  BYTES  },
	[TYPE_NAME]    = { "name",    PLAIN  },
	[TYPE_TUPLE]   = { "tuple",   PLAIN  },
	[TYPE_USTACK]  = { "ustack",  FRAMES },
	[TYPE_KSTACK]  = { "kstack",  FRAMES },
	[TYPE_LSTACK]  = { "lstack",  PAIRS  },
	[TYPE_DISPLAY] = { "display", PLAIN  },
#define AGGREGATE(kind, name, suffix, ...) [TYPE_##kind] = { name, suffix },
#include "program/aggregates.h"
#undef AGGREGATE
};
/* clang-format on */

void type_print(const struct type *t, struct buf *out)
{
	if ((unsigned)t->kind >= TYPE_KINDS) {
		buf_printf(out, "?%u", (unsigned)t->kind);
		return;
	}
	if (t->kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < t->element_count; i++) {
			buf_char(out, i ? ',' : '(');
			type_print(&t->elements[i], out);
		}
		buf_text(out, t->element_count ? ")" : "()");
		return;
	}
	if (t->kind == TYPE_INT && !t->is_signed)
		buf_char(out, 'u');
	buf_text(out, t->kind == TYPE_DISPLAY ? t->display : kinds[t->kind].name);
	switch (kinds[t->kind].suffix) {
	case PLAIN: break;
	case BITS: buf_u64(out, 8 * (uint64_t)t->size); break;
	case BYTES: buf_printf(out, "[%u]", t->size); break;
	case FRAMES: buf_printf(out, "[%u]", t->size / 8); break;
	case PAIRS: buf_printf(out, "[%u]", t->size / 16); break;
	case OF_INT: buf_text(out, t->is_signed ? "(int64)" : "(uint64)"); break;
	}
	if (t->kind == TYPE_HIST)
		buf_printf(out, t->is_signed ? "(%u)" : "(%u,unsigned)", t->bits);
	if (t->kind == TYPE_LHIST)
		buf_printf(out, "(%lld,%lld,%lld)", (long long)t->min, (long long)t->max,
			   (long long)t->step);
}

/* ---- buckets of lhist() */

unsigned lhist_buckets(const struct type *t)
{
	return (unsigned)steps_of_lhist(t->min, t->max, t->step) + 2;
}

unsigned lhist_bucket(const struct type *t, int64_t value)
{
	return bucket_of_lhist(value, t->min, t->max, t->step);
}
