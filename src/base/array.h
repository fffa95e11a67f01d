/* Arrays that grow, and searching in sorted ones. One that grows is three fields of its owner:
 *
 *	struct mapping *mappings;	malloc'ed; free() it
 *	size_t count, cap;
 *	...
 *	if (array_grow(p->mappings, p->count, p->cap))
 *		return -ENOMEM;
 *	p->mappings[p->count++] = *m;
 *
 * After a failure the array is what it was. Arrays that live in an arena: arena_grow(). */
#ifndef NOPAL_BASE_ARRAY_H
#define NOPAL_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array))) /* elements of one of fixed length */

/* Room for one more element, or for `need` elements in all: 0 or -ENOMEM. */
#define array_grow(items, count, cap)	array_reserve(items, cap, (count) + 1)
#define array_reserve(items, cap, need) array_make_room(&(items), &(cap), (need), sizeof(*(items)))

/* `items` is the address of the pointer, of whatever type. */
int array_make_room(void *items, size_t *cap, size_t need, size_t size);

/* The index of the first element that is not before the key, or `count`. For the first one *after*
 * the key, `is_before` holds for what equals it, too. Inline, for symbols are looked up by the
 * hundred thousand: the comparison becomes part of the loop. */
typedef bool is_before_fn(const void *item, const void *key);

static inline size_t lower_bound(const void *items, size_t count, size_t size,
				 is_before_fn *is_before, const void *key)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (is_before((const char *)items + middle * size, key))
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

#endif
