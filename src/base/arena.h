/* An arena: memory for things that live as long as one compilation or one listing, freed all at
 * once. Never free a single piece of it. Without memory calls return NULL, which callers pass on as
 * -ENOMEM; so they do when the budget of the arena is used up, which then says so. */
#ifndef NOPAL_BASE_ARENA_H
#define NOPAL_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/budget.h"
#include "base/str.h"

struct arena_block;

struct arena {
	struct arena_block *blocks; /* newest first */
	size_t used;		    /* bytes handed out, for limits */
	struct budget *budget;	    /* what its memory is taken from; NULL: no limit */
};

/* clang-format off */
#define ARENA_INIT {NULL, 0, NULL}
/* clang-format on */

void arena_free(struct arena *a); /* everything at once; the arena may be used again */
void *arena_alloc(struct arena *a, size_t size);     /* zeroed, aligned to 16 */
char *arena_text(struct arena *a, struct str s);     /* a copy that ends in a NUL */
struct str arena_str(struct arena *a, struct str s); /* a copy; ptr NULL when out of memory */
struct str arena_printf(struct arena *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
struct str arena_vprintf(struct arena *a, const char *format, va_list args);

#define arena_new(a, type)	    ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, count) ((type *)arena_alloc_array((a), (count), sizeof(type)))
void *arena_alloc_array(struct arena *a, size_t count,
			size_t size); /* NULL when the product overflows */

/* Room for one more element of an array that lives in the arena: doubles *items when `count` has
 * reached *cap. 0 or -ENOMEM. The old copy stays in the arena. */
int arena_grow(struct arena *a, void **items, size_t count, size_t *cap, size_t size);

#endif
