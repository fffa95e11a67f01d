/* A set of 64-bit keys. Two images share a key once in 2^64 pairs; a set that has grown too large
 * is emptied, which only means that files are looked at again. */
#include "session/later.h"

#include <stdlib.h>

#include "base/array.h"

#define SEEN_MOST (1u << 19)

static uint64_t mix(uint64_t key)
{
	key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
	key = (key ^ key >> 27) * 0x94d049bb133111ebu;
	return key ^ key >> 31;
}

uint64_t seen_key(const struct image_event *e)
{
	uint64_t key =
		mix(e->inode ^ mix(e->generation ^ mix((uint64_t)e->major << 32 | e->minor)));

	return key ? key : 1;
}

bool seen_has(const struct seen *s, uint64_t key)
{
	hash_each(i, &s->by_key, key)
		if (s->keys[i] == key)
			return true;
	return false;
}

bool seen_add(struct seen *s, uint64_t key)
{
	if (seen_has(s, key))
		return false;
	if (s->count == SEEN_MOST)
		seen_free(s);
	if (!array_grow(s->keys, s->count, s->cap) && !hash_add(&s->by_key, key, s->count))
		s->keys[s->count++] = key;
	return true;
}

void seen_free(struct seen *s)
{
	free(s->keys);
	hash_free(&s->by_key);
	*s = (struct seen){0};
}
