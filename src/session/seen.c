/* A set of 64-bit keys with open addressing. Two images share a key once in 2^64 pairs; a table
 * that has grown too large is emptied, which only means that files are looked at again. */
#include "session/seen.h"

#include <stdlib.h>

#define FIRST_CAP 256
#define LAST_CAP  (1u << 20)

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

/* The place of `key`, or the free place where it belongs. */
static size_t find(const struct seen *s, uint64_t key)
{
	size_t at = key & (s->cap - 1);

	while (s->keys[at] && s->keys[at] != key)
		at = (at + 1) & (s->cap - 1);
	return at;
}

static bool grow(struct seen *s)
{
	struct seen bigger = {.cap = s->cap ? s->cap * 2 : FIRST_CAP};

	if (bigger.cap > LAST_CAP)
		bigger.cap = FIRST_CAP;
	bigger.keys = calloc(bigger.cap, sizeof(*bigger.keys));
	if (!bigger.keys)
		return false;
	for (size_t i = 0; i < s->cap && bigger.cap > s->cap; i++)
		if (s->keys[i]) {
			bigger.keys[find(&bigger, s->keys[i])] = s->keys[i];
			bigger.count++;
		}
	free(s->keys);
	*s = bigger;
	return true;
}

bool seen_has(const struct seen *s, uint64_t key)
{
	return s->cap && s->keys[find(s, key)];
}

bool seen_add(struct seen *s, uint64_t key)
{
	size_t at;

	if (s->count * 2 >= s->cap && !grow(s))
		return true;
	at = find(s, key);
	if (s->keys[at])
		return false;
	s->keys[at] = key;
	s->count++;
	return true;
}

void seen_free(struct seen *s)
{
	free(s->keys);
	*s = (struct seen){0};
}
