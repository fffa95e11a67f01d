/* The hash table behind the interpreter's maps. */
#include "engine/interp/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void table_init(struct table *t, size_t key_size, size_t value_size, uint32_t max_entries)
{
	*t = (struct table){
		.key_size = key_size, .value_size = value_size, .max_entries = max_entries};
}

void table_free(struct table *t)
{
	struct entry *e = t->oldest;

	while (e) {
		struct entry *newer = e->newer;

		free(e);
		e = newer;
	}
	free(t->buckets);
	table_init(t, t->key_size, t->value_size, t->max_entries);
}

static uint64_t hash_key(const char *key, size_t size)
{
	uint64_t hash = hash_bytes(0, key, size);

	return hash ^ hash >> 32;
}

static struct entry **find_link(struct table *t, const char *key, uint64_t hash)
{
	struct entry **link = &t->buckets[hash & (t->bucket_count - 1)];

	while (*link && ((*link)->hash != hash ||
			 (t->key_size && memcmp((*link)->bytes, key, t->key_size) != 0)))
		link = &(*link)->next_in_bucket;
	return link;
}

char *table_find(struct table *t, const char *key)
{
	struct entry *e;

	if (!t->bucket_count)
		return NULL;
	e = *find_link(t, key, hash_key(key, t->key_size));
	return e ? entry_value(t, e) : NULL;
}

static int grow(struct table *t)
{
	uint32_t count = t->bucket_count ? t->bucket_count * 2 : 16;
	struct entry **buckets;

	if (t->count < t->bucket_count || count < t->bucket_count)
		return 0;
	buckets = calloc(count, sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	for (struct entry *e = t->oldest; e; e = e->newer) {
		struct entry **bucket = &buckets[e->hash & (count - 1)];

		e->next_in_bucket = *bucket;
		*bucket = e;
	}
	free(t->buckets);
	t->buckets = buckets;
	t->bucket_count = count;
	return 0;
}

static struct entry *add(struct table *t, const char *key, uint64_t hash)
{
	struct entry *e = calloc(1, sizeof(*e) + t->key_size + t->value_size);
	struct entry **bucket = &t->buckets[hash & (t->bucket_count - 1)];

	if (!e)
		return NULL;
	e->hash = hash;
	if (t->key_size)
		memcpy(e->bytes, key, t->key_size);
	e->next_in_bucket = *bucket;
	*bucket = e;
	e->older = t->newest;
	if (t->newest)
		t->newest->newer = e;
	else
		t->oldest = e;
	t->newest = e;
	t->count++;
	return e;
}

char *table_take(struct table *t, const char *key, int *err)
{
	char *value = table_find(t, key);
	struct entry *e;

	if (value)
		return value;
	*err = t->count >= t->max_entries ? -ENOSPC : grow(t);
	if (*err)
		return NULL;
	e = add(t, key, hash_key(key, t->key_size));
	if (!e)
		*err = -ENOMEM;
	return e ? entry_value(t, e) : NULL;
}

void table_remove(struct table *t, const char *key)
{
	struct entry **link, *e;

	if (!t->bucket_count)
		return;
	link = find_link(t, key, hash_key(key, t->key_size));
	e = *link;
	if (!e)
		return;
	*link = e->next_in_bucket;
	*(e->older ? &e->older->newer : &t->oldest) = e->newer;
	*(e->newer ? &e->newer->older : &t->newest) = e->older;
	t->count--;
	free(e);
}
