/* Chains of indexes. A link keeps 32 bits of its hash: enough to grow without asking the owner for
 * the keys, and to skip nearly all elements that only share a bucket. */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define FIRST_BUCKETS 16

struct hash_link {
	uint32_t hash;
	uint32_t next;
};

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t hash = 0xcbf29ce484222325ull ^ seed;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ull;
	return hash;
}

void hash_free(struct hash *h)
{
	free(h->links);
	free(h->buckets);
	*h = (struct hash){0};
}

/* The low bits of FNV-1a depend on the low bits of its input only. */
static uint32_t fold_hash(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

static uint32_t *bucket_of(const struct hash *h, uint32_t hash)
{
	return &h->buckets[hash & (h->bucket_count - 1)];
}

static int double_buckets(struct hash *h)
{
	size_t half = h->bucket_count, count = half ? 2 * half : FIRST_BUCKETS;
	uint32_t *bigger = reallocarray(h->buckets, count, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	h->buckets = bigger;
	h->bucket_count = count;
	if (!half)
		memset(bigger, 0xff, count * sizeof(*bigger)); /* HASH_END */
	/* What was in a bucket belongs in the same one, or in the one `half` further on. */
	for (size_t bucket = 0; bucket < half; bucket++) {
		uint32_t *tails[2] = {&bigger[bucket], &bigger[bucket + half]};

		for (uint32_t i = bigger[bucket]; i != HASH_END; i = h->links[i].next) {
			uint32_t **tail = &tails[(h->links[i].hash & half) != 0];

			**tail = i;
			*tail = &h->links[i].next;
		}
		*tails[0] = *tails[1] = HASH_END;
	}
	return 0;
}

int hash_reserve(struct hash *h, size_t count)
{
	int err = array_reserve(h->links, h->cap, count);

	while (!err && h->bucket_count < count)
		err = double_buckets(h);
	return err;
}

int hash_add(struct hash *h, uint64_t hash, size_t index)
{
	uint32_t folded = fold_hash(hash), *bucket;
	int err;

	if (index >= HASH_END)
		return -E2BIG;
	err = array_reserve(h->links, h->cap, index + 1);
	if (!err && h->count >= h->bucket_count)
		err = double_buckets(h);
	if (err)
		return err;
	bucket = bucket_of(h, folded);
	h->links[index] = (struct hash_link){.hash = folded, .next = *bucket};
	*bucket = (uint32_t)index;
	h->count++;
	return 0;
}

void hash_remove(struct hash *h, uint64_t hash, size_t index)
{
	uint32_t *at = h->count ? bucket_of(h, fold_hash(hash)) : NULL;

	while (at && *at != HASH_END && *at != index)
		at = &h->links[*at].next;
	if (!at || *at == HASH_END)
		return;
	*at = h->links[index].next;
	h->count--;
}

static uint32_t skip_others(const struct hash *h, uint32_t i, uint32_t hash)
{
	while (i != HASH_END && h->links[i].hash != hash)
		i = h->links[i].next;
	return i;
}

uint32_t hash_first(const struct hash *h, uint64_t hash)
{
	return h->count ? skip_others(h, *bucket_of(h, fold_hash(hash)), fold_hash(hash))
			: HASH_END;
}

uint32_t hash_next(const struct hash *h, uint32_t index)
{
	return skip_others(h, h->links[index].next, h->links[index].hash);
}
