/* The hash table of a map. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "engine/interp/state.h"

#define ABSENT SIZE_MAX

void table_init(struct table *t, size_t key_size, size_t value_size, uint32_t max_entries)
{
	*t = (struct table){
		.key_size = key_size, .value_size = value_size, .max_entries = max_entries};
}

void table_free(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->entries[i]);
	free(t->entries);
	hash_free(&t->by_key);
	table_init(t, t->key_size, t->value_size, t->max_entries);
}

static uint64_t hash_of(const struct table *t, const char *key)
{
	return hash_bytes(0, key, t->key_size);
}

static size_t find(const struct table *t, const char *key)
{
	hash_each(i, &t->by_key, hash_of(t, key))
		if (!memcmp(t->entries[i], key, t->key_size))
			return i;
	return ABSENT;
}

char *table_find(struct table *t, const char *key)
{
	size_t at = find(t, key);

	return at == ABSENT ? NULL : t->entries[at] + t->key_size;
}

char *table_take(struct table *t, const char *key, int *err)
{
	char *value = table_find(t, key), *entry;

	if (value)
		return value;
	entry = t->count < t->max_entries ? calloc(1, t->key_size + t->value_size) : NULL;
	*err = t->count >= t->max_entries ? -ENOSPC : -ENOMEM;
	if (!entry || array_grow(t->entries, t->count, t->cap) ||
	    hash_add(&t->by_key, hash_of(t, key), t->count)) {
		free(entry);
		return NULL;
	}
	*err = 0;
	memcpy(entry, key, t->key_size);
	t->entries[t->count++] = entry;
	return entry + t->key_size;
}

/* The last entry takes the place of the one that goes. It was added before, so there is room. */
void table_remove(struct table *t, const char *key)
{
	size_t at = find(t, key), last = t->count - 1;

	if (at == ABSENT)
		return;
	hash_remove(&t->by_key, hash_of(t, key), at);
	free(t->entries[at]);
	if (at != last) {
		hash_remove(&t->by_key, hash_of(t, t->entries[last]), last);
		hash_add(&t->by_key, hash_of(t, t->entries[last]), at);
		t->entries[at] = t->entries[last];
	}
	t->count--;
}
