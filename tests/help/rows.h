/* The rows of a table one by one, with their addresses. */
#ifndef NOPAL_TESTS_HELP_ROWS_H
#define NOPAL_TESTS_HELP_ROWS_H

#include "base/array.h"
#include "unwind/unwind.h"

static inline bool is_chunk_before(const void *before, const void *row)
{
	return *(const uint32_t *)before < *(const size_t *)row;
}

/* Where a row begins, link-time. */
static inline uint64_t row_address(const struct unwind_table *t, size_t row)
{
	size_t chunk = lower_bound(t->before + 1, t->chunk_count - 1, sizeof(*t->before),
				   is_chunk_before, &row);

	return t->base + ((uint64_t)chunk << UNWIND_CHUNK_SHIFT) + t->rows[row].pc;
}

#endif
