/* What lies at which offset of a value. Types are checked before: tuples are neither deep
 * nor long. */
#include "program/check.h"

#include <errno.h>

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

static bool is_made_of_words(const struct type *t)
{
	switch (t->kind) {
	case TYPE_INT:
	case TYPE_FLOAT:
	case TYPE_NAME:
	case TYPE_DISPLAY: return true;
	default: return false;
	}
}

int type_part_at(const struct type *t, uint64_t offset, unsigned *part, bool *word)
{
	unsigned number = 0;

	while (t && t->kind == TYPE_TUPLE)
		t = element_at(t, &offset, &number);
	if (!t || offset >= type_memory(t))
		return -EINVAL;
	*word = is_made_of_words(t) && offset % 8 == 0;
	*part = number + (is_made_of_words(t) ? (unsigned)(offset / 8) : 0);
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
