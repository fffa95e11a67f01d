/* Places that are left out; see places.h. */
#include "user/run/places.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/file.h"

static bool are_same(const struct attach *a, const struct attach *b)
{
	return a->file && b->file && a->offset == b->offset && a->file->inode == b->file->inode &&
	       a->file->device == b->file->device;
}

static uint64_t hash_of(const struct native_places *places, const struct attach *at)
{
	const uint64_t place[] = {at->file->inode, at->file->device, at->offset};

	return hash_bytes((uintptr_t)places, place, sizeof(place));
}

bool places_have(const struct native_places *places, const struct attach *at)
{
	if (!at->file)
		return false;
	hash_each(i, &places->by_place, hash_of(places, at))
		if (are_same(places->all[i], at))
			return true;
	return false;
}

int places_add(struct native_places *places, const struct attach *at)
{
	int err;

	if (!at->file || places_have(places, at))
		return 0;
	err = array_grow(places->all, places->count, places->cap)
		      ?: hash_add(&places->by_place, hash_of(places, at), places->count);
	if (err)
		return -ENOMEM;
	places->all[places->count++] = at;
	return 0;
}

void places_free(struct native_places *places)
{
	free(places->all);
	hash_free(&places->by_place);
	*places = (struct native_places){0};
}
