/* Hashing, and one hash table. The table holds indexes of an array that its owner keeps;
 * the keys and the elements are the owner's business:
 *
 *	hash_each(i, &t->by_name, hash_str(t->seed, name))
 *		if (str_eq(t->items[i].name, name))
 *			return &t->items[i];
 *
 * Needs libc only. */
#ifndef NOPAL_BASE_HASH_H
#define NOPAL_BASE_HASH_H

#include "base/str.h"

/* FNV-1a of 64 bits. `seed`: 0 where the hash must be the same in every run; for keys that others
 * choose the address of something, which they do not know, so that they cannot make keys that
 * collide. */
uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len);

static inline uint64_t hash_str(uint64_t seed, struct str s)
{
	return hash_bytes(seed, s.ptr, s.len);
}

struct hash_link;

struct hash {
	struct hash_link *links; /* of each index: its hash, and the next one in its bucket */
	size_t cap;		 /* links */
	uint32_t *buckets;	 /* index of the newest element, HASH_END: none */
	size_t bucket_count;	 /* 0 or a power of two */
	size_t count;
};

#define HASH_END UINT32_MAX

void hash_free(struct hash *h); /* may be used again */
/* Room for the indexes below `count`: adding them cannot fail then. */
int hash_reserve(struct hash *h, size_t count);
/* Add an index that is not in the table. -ENOMEM: it is as it was; -E2BIG: beyond 32 bits. */
int hash_add(struct hash *h, uint64_t hash, size_t index);
/* Take one out again. */
void hash_remove(struct hash *h, uint64_t hash, size_t index);
/* The indexes that were added with a hash, the newest first; HASH_END after the last. */
uint32_t hash_first(const struct hash *h, uint64_t hash);
uint32_t hash_next(const struct hash *h, uint32_t index);

#define hash_each(i, h, hash) \
	for (uint32_t i = hash_first((h), (hash)); i != HASH_END; i = hash_next((h), i))

#endif
