/* A key of a map: how much of it matters, its hash, and whether an entry has it. */
#ifndef NOPAL_USER_INSIDE_INSIDE_KEY_H
#define NOPAL_USER_INSIDE_INSIDE_KEY_H

#include "user/inside/layout.h"
#include "user/inside/words.h"

static inline uint32_t key_used(const struct map_shape *m, const uint64_t *key)
{
	return m->key_words <= 1 ? m->key_words
				 : form_words(m->key_form, m->key_words, word_load(key));
}

static inline uint64_t key_mix(uint64_t a, uint64_t b)
{
	uint64_t low, high;

	multiply(a, b, &low, &high);
	return low ^ high;
}

static inline uint64_t key_hash(const struct map_shape *m, const uint64_t *key)
{
	uint64_t hash = m->seed;
	uint32_t used = key_used(m, key);

	for (uint32_t i = 0; i < used; i++)
		hash = key_mix(hash ^ key[i], UINT64_C(0x9e3779b97f4a7c15));
	return hash ^ hash >> 29;
}

static inline bool key_is_of(const struct map_shape *m, const struct map_entry *e,
			     const uint64_t *key)
{
	uint32_t used = key_used(m, key);

	for (uint32_t i = 0; i < used; i++)
		if (word_load(&e->words[i]) != key[i])
			return false;
	return true;
}

#endif
