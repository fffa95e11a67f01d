/* Maps: all keys of one, as reports want them; and the operations that the interpreter makes, which
 * are those of the traced processes. */
#include "user/memory/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "user/inside/words.h"
#include "user/memory/take.h"

#define CHAIN_MOST  4096u /* entries of one chain: far more than chance puts there */
#define CHAIN_TRIES 1024u /* times a chain that changes is read again */

/* ---- one chain, copied in one piece */

/* Entries are copied as they lie in a report: key, value, each at full size. */
struct chain {
	struct native_store *store;
	const struct map_shape *shape;
	uint64_t *words; /* owned */
	size_t count, room;
};

static size_t entry_words(const struct map_shape *m)
{
	return m->key_words + m->value_words;
}

static const struct map_entry *entry_in(const struct native_store *s, const struct map_shape *m,
					uint64_t index)
{
	return (const struct map_entry *)(const void *)(s->base + map_entry_at(m, index));
}

/* `to` is zeros. */
static void copy_form(uint64_t *to, const uint64_t *from, uint8_t form, uint32_t words)
{
	uint64_t head = words ? word_load(from) : 0;
	uint32_t used = form_words(form, words, head);

	for (uint32_t i = 0; i < used; i++)
		to[i] = i ? word_load(&from[i]) : head;
}

void table_copy_cells(struct native_store *s, const struct map_shape *m, uint64_t index,
		      uint64_t number, uint64_t *to)
{
	for (uint32_t i = 0; i < m->cell_words; i++) {
		bool is_set = inside_cell(&s->hit, m, index, number, i, &to[i]);

		if (join_has_first(m->join))
			to[1] = is_set;
	}
}

void table_copy_value(const struct map_shape *m, const struct map_entry *e, uint64_t *to)
{
	copy_form(to, e->words + m->key_words, m->value_form, m->value_words);
}

static int copy_entry(struct chain *c, uint64_t index, uint64_t number)
{
	const struct map_shape *m = c->shape;
	const struct map_entry *e = entry_in(c->store, m, index);
	size_t words = entry_words(m);
	uint64_t *to;

	if (array_reserve(c->words, c->room, (c->count + 1) * words + 1))
		return -ENOMEM;
	to = c->words + c->count * words;
	memset(to, 0, 8 * words);
	copy_form(to, e->words, m->key_form, m->key_words);
	to += m->key_words;
	if (m->is_word)
		to[0] = word_load(&e->value);
	else if (m->cell_words)
		table_copy_cells(c->store, m, index, number, to);
	else
		table_copy_value(m, e, to);
	c->count++;
	return 0;
}

/* 1: it was the same before and after; 0: again; -ENOMEM. */
static int copy_chain_once(struct chain *c, uint32_t bucket)
{
	const struct map_shape *m = c->shape;
	const uint64_t *word =
		(const uint64_t *)(const void *)(c->store->base + m->buckets_at) + bucket;
	uint64_t head = word_acquire(word), index = head & LINK_NEXT;
	int err;

	c->count = 0;
	for (uint32_t i = 0; index && index < m->entry_count && i < CHAIN_MOST; i++) {
		const struct map_entry *e = entry_in(c->store, m, index);
		uint64_t link = word_acquire(&e->link);

		err = link & LINK_DEAD ? 0 : copy_entry(c, index, word_load(&e->number));
		if (err)
			return err;
		index = link & LINK_NEXT;
	}
	fence_loads();
	return word_load(word) == head;
}

/* A chain that changes all the time, which takes a hostile process, is shown as it was last seen.
 */
static int copy_chain(struct chain *c, uint32_t bucket)
{
	int done = 0;

	for (uint32_t i = 0; i < CHAIN_TRIES && !done; i++)
		done = copy_chain_once(c, bucket);
	return done < 0 ? done : 0;
}

/* The only entry of a map without keys. */
static int copy_single(struct chain *c, uint32_t map)
{
	const struct map_shape *m = c->shape;
	const struct map_entry *e = entry_in(c->store, m, 1);
	int err = 0;

	for (uint32_t i = 0; i < CHAIN_TRIES; i++) {
		uint64_t link = word_acquire(&e->link);

		c->count = 0;
		err = link & LINK_DEAD ? 0 : copy_entry(c, 1, link);
		if (c->count && m->cell_words && !native_taken_rest(c->store, map, link, c->words))
			c->count = 0;
		fence_loads();
		if (err || word_load(&e->link) == link)
			break;
	}
	return err;
}

static int give_chain(const struct chain *c, map_entry_fn *fn, void *arg)
{
	const struct map_shape *m = c->shape;
	int err = 0;

	for (size_t i = 0; i < c->count && !err; i++) {
		const uint64_t *key = c->words + i * entry_words(m), *value = key + m->key_words;

		err = fn(arg, str_of((const char *)key, 8 * (size_t)m->key_words),
			 str_of((const char *)value, 8 * (size_t)m->value_words));
	}
	return err;
}

/* The first bucket from `bucket` on that lies in memory which exists: a map for millions of keys
 * that has a few is mostly holes. */
static uint32_t next_bucket(const struct native_store *s, const struct map_shape *m,
			    uint32_t bucket)
{
	uint64_t at = m->buckets_at + (uint64_t)8 * bucket;
	off_t data = at % LAYOUT_PAGE ? (off_t)at : lseek(s->fd, (off_t)at, SEEK_DATA);

	if (data < 0 && errno == ENXIO)
		return m->bucket_count;
	if (data <= (off_t)at)
		return bucket;
	at = ((uint64_t)data - m->buckets_at) / 8;
	return at < m->bucket_count ? (uint32_t)at : m->bucket_count;
}

static int table_each(void *self, uint32_t map, map_entry_fn *fn, void *arg)
{
	struct native_store *s = self;
	struct chain c = {.store = s, .shape = &s->shapes[map]};
	uint32_t buckets = c.shape->is_single ? 1 : c.shape->bucket_count;
	int err = 0;

	for (uint32_t i = 0; i < buckets && !err; i++) {
		if (!c.shape->is_single)
			i = next_bucket(s, c.shape, i);
		if (i >= buckets)
			break;
		err = c.shape->is_single ? copy_single(&c, map) : copy_chain(&c, i);
		if (!err)
			err = give_chain(&c, fn, arg);
	}
	free(c.words);
	return err;
}

/* ---- clearing: key by key, as a script would */

struct clearing {
	struct native_store *store;
	const struct map_shape *shape;
	bool is_zero; /* keep the keys */
};

static int clear_key(void *arg, struct str key, struct str value)
{
	const struct clearing *c = arg;

	(void)value;
	if (c->is_zero)
		inside_map_zero(&c->store->hit, c->shape, (const uint64_t *)(const void *)key.ptr);
	else
		inside_map_del(&c->store->hit, c->shape, (const uint64_t *)(const void *)key.ptr);
	return 0;
}

static int table_clear(void *self, uint32_t map)
{
	struct native_store *s = self;
	struct clearing c = {s, &s->shapes[map], false};

	return table_each(s, map, clear_key, &c);
}

static int table_zero(void *self, uint32_t map)
{
	struct native_store *s = self;
	struct clearing c = {s, &s->shapes[map], true};

	if (!c.shape->is_single)
		s->taken[map].keeps_key = true;
	return table_each(s, map, clear_key, &c);
}

static int table_take(void *self, uint32_t map, enum format_take what, map_entry_fn *fn, void *arg)
{
	return native_take(self, map, what, fn, arg);
}

struct map_store native_store_maps(struct native_store *s)
{
	return (struct map_store){s, table_each, table_clear, table_zero, table_take};
}

/* ---- the interpreter's operations */

static uint64_t get(void *self, uint32_t map, const uint64_t *key)
{
	struct native_store *s = self;

	return inside_map_get(&s->hit, &s->shapes[map], key);
}

static void copy(void *self, uint32_t map, const uint64_t *key, uint64_t *out)
{
	struct native_store *s = self;

	inside_map_copy(&s->hit, &s->shapes[map], key, out);
}

static bool read_aggregate(void *self, uint32_t map, const uint64_t *key, uint64_t *out)
{
	struct native_store *s = self;
	const struct map_shape *m = &s->shapes[map];
	uint64_t index, number;

	if (!inside_find(&s->hit, m, key, &index, &number))
		return false;
	table_copy_cells(s, m, index, number, out);
	return true;
}

static void set(void *self, uint32_t map, const uint64_t *key, uint64_t value, uint32_t span)
{
	struct native_store *s = self;

	inside_map_set(&s->hit, &s->shapes[map], key, value, span);
}

static void put(void *self, uint32_t map, const uint64_t *key, const uint64_t *value, uint32_t span)
{
	struct native_store *s = self;

	inside_map_put(&s->hit, &s->shapes[map], key, value, span);
}

static uint64_t add(void *self, uint32_t map, const uint64_t *key, uint64_t value, uint32_t span)
{
	struct native_store *s = self;

	return inside_map_add(&s->hit, &s->shapes[map], key, value, span);
}

static bool del(void *self, uint32_t map, const uint64_t *key)
{
	struct native_store *s = self;

	return inside_map_del(&s->hit, &s->shapes[map], key);
}

static bool has(void *self, uint32_t map, const uint64_t *key)
{
	struct native_store *s = self;

	return inside_map_has(&s->hit, &s->shapes[map], key);
}

static void aggregate(void *self, uint32_t map, const uint64_t *key, uint64_t value, uint32_t span)
{
	struct native_store *s = self;

	inside_aggregate(&s->hit, &s->shapes[map], key, value, span);
}

static void fault(void *self, uint32_t span, int kind)
{
	struct native_store *s = self;

	inside_fault(&s->hit, span, (uint64_t)kind);
}

/* A record that is complete: its head, and then one field of words. */
static void emit(void *self, struct str record, bool is_control, bool is_exit)
{
	struct native_store *s = self;
	uint64_t words[(sizeof(struct emit_shape) + sizeof(struct emit_field) + 7) / 8] = {0};
	struct emit_shape *shape = (struct emit_shape *)(void *)words;
	struct record_head head;

	memcpy(&head, record.ptr, sizeof(head));
	shape->format = head.format;
	shape->is_control = is_control;
	shape->is_exit = is_exit;
	shape->field_count = record.len > sizeof(head);
	shape->fields[0] = (struct emit_field){.at = sizeof(head),
					       .words = (uint32_t)(record.len - sizeof(head)) / 8};
	s->hit.tsc = 0;
	inside_emit(&s->hit, shape, record.ptr);
}

struct interp_store table_interp_store(struct native_store *s)
{
	return (struct interp_store){s,	  get, copy,	   read_aggregate, set,	  put, add,
				     del, has, table_each, aggregate,	   fault, emit};
}
