/* Growing by doubling. */
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 8

int array_make_room(void *items, size_t *cap, size_t need, size_t size)
{
	size_t more = *cap ? *cap : FIRST_CAP, bytes;
	void *old, *bigger;

	if (need <= *cap)
		return 0;
	while (more < need && more <= SIZE_MAX / 2)
		more *= 2;
	memcpy(&old, items, sizeof(old)); /* a pointer of another type may not be read as void * */
	if (more < need || __builtin_mul_overflow(more, size, &bytes))
		return -ENOMEM;
	bigger = realloc(old, bytes);
	if (!bigger)
		return -ENOMEM;
	memcpy(items, &bigger, sizeof(bigger));
	*cap = more;
	return 0;
}
