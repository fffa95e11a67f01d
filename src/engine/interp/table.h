/* A map of the interpreter: a hash table from key bytes to value bytes, both of fixed size, that
 * remembers the order in which keys came. It knows nothing of types. */
#ifndef NOPAL_ENGINE_INTERP_TABLE_H
#define NOPAL_ENGINE_INTERP_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct entry {
	struct entry *next_in_bucket;
	struct entry *older, *newer;
	uint64_t hash;
	char bytes[]; /* key, then value */
};

struct table {
	size_t key_size, value_size;
	uint32_t max_entries, count;
	struct entry **buckets;
	uint32_t bucket_count; /* 0 or a power of two */
	struct entry *oldest, *newest;
};

void table_init(struct table *t, size_t key_size, size_t value_size, uint32_t max_entries);
void table_free(struct table *t); /* all entries; the table may be used again */
/* The value of a key, or NULL. */
char *table_find(struct table *t, const char *key);
/* The value of a key, added with zeroes when it is not there. NULL with *err -ENOSPC when the table
 * is full, -ENOMEM. */
char *table_take(struct table *t, const char *key, int *err);
void table_remove(struct table *t, const char *key);

static inline char *entry_value(const struct table *t, struct entry *e)
{
	return e->bytes + t->key_size;
}

#endif
