/* Creating, reading and clearing the kernel maps of a script's maps; see stores.h. */
#include "engine/bpf/run/stores.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "engine/bpf/kernel/make_map.h"

#define BATCH	   256u /* entries read by one system call */
#define BATCH_MOST (1u << 20)
#define SINGLE_KEY 8u /* bytes of the key of a map without keys */

/* What an entry has after its key. */
static uint32_t entry_size(const struct store *s, const struct store_map *map)
{
	return s->value_size + map->stacks_size;
}

static int make_store_map(const struct store *s, struct store_map *map, struct diag *d)
{
	char name[16] = ""; /* "@lat" -> "lat": kernel names have letters, digits and _ only */
	struct str script_name = s->def->name;
	struct kernel_map m = {.type = BPF_MAP_TYPE_HASH,
			       .key_size = map->key_size,
			       .value_size = entry_size(s, map),
			       .max_entries = s->def->max_entries ? s->def->max_entries : 1,
			       .flags = NO_PREALLOC,
			       .name = name};

	for (size_t i = 0, n = 0; i < script_name.len && n < sizeof(name) - 1; i++)
		if (isalnum((unsigned char)script_name.ptr[i]) || script_name.ptr[i] == '_')
			name[n++] = script_name.ptr[i];
	if (s->def->forgets) { /* the kernel has its entries from the beginning */
		m.type = BPF_MAP_TYPE_LRU_HASH;
		m.flags = 0;
	}
	if (s->kind != STORE_HASH) {
		m.type = s->kind == STORE_CELL ? BPF_MAP_TYPE_ARRAY : BPF_MAP_TYPE_PERCPU_ARRAY;
		m.key_size = 4;
		m.value_size += 8;
		m.max_entries = 1;
		m.flags = 0;
	}
	map->fd = map_make(&m, d);
	return map->fd < 0 ? map->fd : 0;
}

/* The kernel map for keys of this length; `is_short`: ... that are all short. */
static struct store_map map_of(const struct type *key, bool is_short)
{
	return (struct store_map){
		.fd = -1,
		.group_fd = -1,
		.is_short = is_short,
		.key_size = key->kind == TYPE_NONE ? SINGLE_KEY : store_key_size(key, is_short),
		.stacks_size = store_stacks_size(key, is_short)};
}

int store_open(struct store *s, const struct map_def *def, bool is_shared, uint32_t used_at,
	       uint64_t *used, struct diag *d)
{
	bool has_keys = def->key.kind != TYPE_NONE;
	enum store_kind kind = STORE_HASH;
	int err;

	if (!has_keys && type_is_aggregate(&def->value) && !is_shared)
		kind = STORE_CPU_CELL;
	else if (!has_keys && !is_shared && TYPE_WORDS & TYPE_BIT(def->value.kind))
		kind = STORE_CELL;
	/* One that forgets is one hash, since the kernel counts its entries. */
	*s = (struct store){.def = def,
			    .kind = kind,
			    .map = map_of(&def->key, !def->forgets),
			    .long_map = map_of(&def->key, false),
			    .used_at = used_at,
			    .used = used,
			    .value_size = (uint32_t)type_memory(&def->value),
			    .full_key = has_keys ? (uint32_t)type_memory(&def->key) : SINGLE_KEY};
	err = make_store_map(s, &s->map, d);
	if (err || (s->map.key_size == s->long_map.key_size &&
		    s->map.stacks_size == s->long_map.stacks_size))
		return err;
	return make_store_map(s, &s->long_map, d);
}

void store_is_not_read(struct store *s)
{
	s->by_base = s->kind == STORE_CPU_CELL && type_adds_up(&s->def->value);
}

void store_close(struct store *s)
{
	if (s->twin)
		store_close(s->twin);
	s->twin = NULL;
	free(s->base);
	s->base = NULL;
	if (s->map.fd >= 0)
		close(s->map.fd);
	if (s->long_map.fd >= 0)
		close(s->long_map.fd);
	s->map.fd = s->long_map.fd = -1;
}

/* ---- reading */

/* Words as they are in the kernel, to words as type.h has them. */
static void unmask_extreme(const struct store *s, uint64_t *words)
{
	const struct type *t = &s->def->value;
	const struct aggregation *a = type_aggregation(t);

	if (a && join_has_first(a->join) && words[1])
		words[0] ^= extreme_mask(t);
}

/* Words of a cell, with the one that says whether it holds anything. */
static size_t cell_words(const struct store *s)
{
	return s->value_size / 8 + 1;
}

static size_t cell_copies(const struct store *s, unsigned cpus)
{
	return s->kind == STORE_CELL ? 1 : cpus;
}

/* The cells of all CPUs, and one more of zeros, for a sum; the caller frees *out. */
static int read_cells(const struct store *s, unsigned cpus, uint64_t **out)
{
	uint64_t *words = calloc((cell_copies(s, cpus) + 1) * cell_words(s), sizeof(*words));
	uint32_t zero = 0;
	int err = words ? kernel_map_lookup(s->map.fd, &zero, words) : -ENOMEM;

	if (err)
		free(words);
	else
		*out = words;
	return err;
}

/* ... as one value. Ruins `words`. */
static int give_cells(const struct store *s, unsigned cpus, uint64_t *words, map_entry_fn *fn,
		      void *arg)
{
	size_t stride = cell_words(s), copies = cell_copies(s, cpus);
	uint64_t *sum = words + copies * stride;
	bool is_set = s->base_is_set;

	/* A program may have added a value, and not yet said that there is one. */
	for (size_t i = 0; i < copies * stride; i++) {
		words[i] -= s->base ? s->base[i] : 0;
		is_set |= words[i] != 0;
	}
	for (size_t i = 0; i < copies; i++) {
		unmask_extreme(s, words + i * stride);
		aggregate_merge(&s->def->value, sum, words + i * stride);
	}
	return is_set ? fn(arg, str_of("", 0), str_of((char *)sum, s->value_size)) : 0;
}

static int each_cell(const struct store *s, unsigned cpus, map_entry_fn *fn, void *arg)
{
	uint64_t *words;
	int err = read_cells(s, cpus, &words);

	if (err)
		return err;
	err = give_cells(s, cpus, words, fn, arg);
	free(words);
	return err;
}

/* What an entry has of a key: the kernel's key, and the stacks after the value. */
struct key_parts {
	const unsigned char *key, *stacks;
	bool is_short;
};

/* ... in the layout of type.h. What follows the last frame of a stack may be anything. */
static void widen_key(const struct type *t, struct key_parts *from, unsigned char **to)
{
	size_t full = type_memory(t), part = store_key_size(t, from->is_short);
	const unsigned char *bytes = from->key;
	struct stack_head head;

	if (t->kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < t->element_count; i++)
			widen_key(&t->elements[i], from, to);
		return;
	}
	from->key += part;
	if (type_is_stack(t)) {
		bytes = from->stacks;
		memcpy(&head, bytes, sizeof(head));
		from->stacks += store_stacks_size(t, from->is_short);
		part = sizeof(head) + 8 * (size_t)head.count;
	}
	memcpy(*to, bytes, part);
	memset(*to + part, 0, full - part);
	*to += full;
}

/* A hash that is read by batches. */
struct reading {
	const struct store *store;
	const struct store_map *map;
	unsigned char *keys, *values, *wide; /* `wide`: one key in its full layout */
	size_t key_room, value_room;
};

static int give_entry(const struct reading *r, uint32_t at, map_entry_fn *fn, void *arg)
{
	const struct store *s = r->store;
	unsigned char *value = r->values + (size_t)at * entry_size(s, r->map), *to = r->wide;
	struct key_parts from = {.key = r->keys + (size_t)at * r->map->key_size,
				 .stacks = value + s->value_size,
				 .is_short = r->map->is_short};
	struct str shown = str_of((const char *)from.key, s->full_key);

	if (s->def->key.kind == TYPE_NONE) {
		shown.len = 0;
	} else if (r->map->key_size != s->full_key || r->map->stacks_size) {
		widen_key(&s->def->key, &from, &to);
		shown.ptr = (char *)r->wide;
	}
	unmask_extreme(s, (uint64_t *)(void *)value);
	return fn(arg, shown, str_of((char *)value, s->value_size));
}

/* The kernel reads whole buckets of the hash. One that is larger than the batch gives -ENOSPC: then
 * a larger batch is tried. */
static int read_batches(struct reading *r, map_entry_fn *fn, void *arg)
{
	uint32_t room = BATCH, in_batch = 0, out_batch = 0, count;
	bool first = true;
	int err = 0, end = 0;

	while (!err && !end) {
		if (array_reserve(r->keys, r->key_room, (size_t)room * r->map->key_size) ||
		    array_reserve(r->values, r->value_room,
				  (size_t)room * entry_size(r->store, r->map)))
			return -ENOMEM;
		count = room;
		end = kernel_map_batch(r->map->fd, first ? NULL : &in_batch, &out_batch, r->keys,
				       r->values, &count);
		if (end == -ENOSPC && room < BATCH_MOST) {
			room *= 2;
			end = 0;
			continue;
		}
		if (end && end != -ENOENT)
			return end;
		for (uint32_t i = 0; !err && i < count; i++)
			err = give_entry(r, i, fn, arg);
		in_batch = out_batch;
		first = false;
	}
	return err;
}

static int each_in_hash(const struct store *s, const struct store_map *map, map_entry_fn *fn,
			void *arg)
{
	struct reading r = {.store = s, .map = map};
	int err;

	if (map->fd < 0) /* there is no second hash */
		return 0;
	r.wide = malloc(s->full_key);
	err = r.wide ? read_batches(&r, fn, arg) : -ENOMEM;
	free(r.keys);
	free(r.values);
	free(r.wide);
	return err;
}

/* What programs use now. */
static struct store *active_of(struct store *s)
{
	return s->twin && *s->turn ? s->twin : s;
}

/* ... of one of two twins. */
static int each_of(const struct store *s, unsigned cpus, map_entry_fn *fn, void *arg)
{
	if (s->kind != STORE_HASH)
		return each_cell(s, cpus, fn, arg);
	return each_in_hash(s, &s->map, fn, arg) ?: each_in_hash(s, &s->long_map, fn, arg);
}

int store_each(struct store *s, unsigned cpus, map_entry_fn *fn, void *arg)
{
	return each_of(active_of(s), cpus, fn, arg);
}

/* ---- clearing */

/* What programs add between the read and the write is lost. So only cells that scripts read, and
 * those that do not add up, are cleared like this; see remember_base(). */
static int write_cells(const struct store *s, unsigned cpus, bool keep_set)
{
	size_t stride = cell_words(s);
	uint32_t zero = 0;
	uint64_t *words;
	int err = read_cells(s, cpus, &words);

	if (err)
		return err;
	for (size_t i = 0; i < cell_copies(s, cpus); i++)
		memset(words + i * stride, 0, 8 * (keep_set ? stride - 1 : stride));
	err = kernel_map_update(s->map.fd, &zero, words, BPF_ANY);
	free(words);
	return err;
}

/* From now on, these words do not count; they become the store's. */
static void set_base(struct store *s, unsigned cpus, uint64_t *now, bool keep_set)
{
	bool was_set = false;

	for (size_t i = 0; i < cell_words(s) * cpus; i++)
		was_set |= now[i] != (s->base ? s->base[i] : 0);
	s->base_is_set = keep_set && (was_set || s->base_is_set);
	free(s->base);
	s->base = now;
}

static int remember_base(struct store *s, unsigned cpus, bool keep_set)
{
	uint64_t *now;
	int err = read_cells(s, cpus, &now);

	if (!err)
		set_base(s, cpus, now, keep_set);
	return err;
}

/* Give what was read, and remember just that. */
static int take_base(struct store *s, unsigned cpus, bool keep_set, map_entry_fn *fn, void *arg)
{
	size_t size = (cpus + 1) * cell_words(s) * sizeof(uint64_t);
	uint64_t *now, *copy = malloc(size);
	int err = copy ? read_cells(s, cpus, &now) : -ENOMEM;

	if (!err) {
		memcpy(copy, now, size);
		err = give_cells(s, cpus, copy, fn, arg);
		set_base(s, cpus, now, keep_set);
	}
	free(copy);
	return err;
}

/* Write zeros to the value of a key, not to the stacks after it. */
static int write_zeros(const struct store *s, const struct store_map *map, const void *key,
		       void *entry)
{
	int err = map->stacks_size ? kernel_map_lookup(map->fd, key, entry) : 0;

	memset(entry, 0, s->value_size);
	return err ?: kernel_map_update(map->fd, key, entry, BPF_EXIST);
}

/* With room for an entry. */
typedef int key_fn(void *arg, const struct store_map *map, const void *key, void *entry);

/* Each key of a hash. The next one is found first, since the kernel cannot find it from a key that
 * is gone. */
static int each_key(const struct store *s, const struct store_map *map, key_fn *fn, void *arg)
{
	unsigned char *key = calloc(2, map->key_size), *next = key ? key + map->key_size : NULL;
	void *entry = calloc(1, entry_size(s, map));
	int err = key && entry ? 0 : -ENOMEM, end = err;

	if (map->fd < 0) /* there is no second hash */
		end = -ENOENT;
	else if (!err)
		end = kernel_map_next(map->fd, NULL, key);
	while (!end && !err) {
		end = kernel_map_next(map->fd, key, next);
		err = fn(arg, map, key, entry);
		memcpy(key, next, map->key_size);
	}
	free(key);
	free(entry);
	return err ? err : end == -ENOENT ? 0 : end;
}

/* A program may have removed the key by now. */
static int remove_key(void *arg, const struct store_map *map, const void *key, void *entry)
{
	const struct store *s = arg;
	int err = kernel_map_delete(map->fd, key);

	(void)entry;
	if (!err && s->long_map.fd >= 0)
		__atomic_fetch_sub(s->used, 1, __ATOMIC_RELAXED);
	return err == -ENOENT ? 0 : err;
}

static int zero_key(void *arg, const struct store_map *map, const void *key, void *entry)
{
	int err = write_zeros(arg, map, key, entry);

	return err == -ENOENT ? 0 : err;
}

static int rewrite_hashes(struct store *s, key_fn *fn)
{
	return each_key(s, &s->map, fn, s) ?: each_key(s, &s->long_map, fn, s);
}

/* Cells that no program reads are cleared by remembering them. */
int store_rewrite(struct store *s, unsigned cpus, bool remove)
{
	s = active_of(s);
	if (s->by_base)
		return remember_base(s, cpus, !remove);
	if (s->kind != STORE_HASH)
		return write_cells(s, cpus, !remove);
	return rewrite_hashes(s, remove ? remove_key : zero_key);
}

/* ---- taking */

struct copying {
	const struct store *from;
	struct store *to; /* its twin */
};

/* With zeros. Of a full map programs count what is lost. */
static int copy_key(void *arg, const struct store_map *map, const void *key, void *entry)
{
	const struct copying *c = arg;
	const struct store_map *into = map == &c->from->map ? &c->to->map : &c->to->long_map;
	int err = kernel_map_lookup(map->fd, key, entry);

	memset(entry, 0, c->from->value_size);
	err = err ?: kernel_map_update(into->fd, key, entry, BPF_NOEXIST);
	if (!err && c->to->long_map.fd >= 0)
		__atomic_fetch_add(c->to->used, 1, __ATOMIC_RELAXED);
	return err == -EEXIST || err == -E2BIG ? 0 : err;
}

/* The keys of one of two twins into the other; not those that it has. */
static int copy_keys(const struct store *from, struct store *to)
{
	struct copying c = {from, to};

	return each_key(from, &from->map, copy_key, &c)
		       ?: each_key(from, &from->long_map, copy_key, &c);
}

static int note_set(void *arg, struct str key, struct str value)
{
	(void)key;
	(void)value;
	*(bool *)arg = true;
	return 0;
}

/* zero(): what is in use has the keys of the other twin, which no program uses. */
static int keep_keys(const struct store *from, struct store *to, unsigned cpus)
{
	if (from->kind == STORE_HASH)
		return copy_keys(from, to);
	to->base_is_set = false;
	return each_cell(from, cpus, note_set, &to->base_is_set);
}

static int empty_store(struct store *s, unsigned cpus)
{
	s->base_is_set = false;
	if (s->kind != STORE_HASH)
		return write_cells(s, cpus, false);
	return rewrite_hashes(s, remove_key);
}

int store_take(struct store *s, unsigned cpus, enum format_take what, map_entry_fn *fn, void *arg,
	       void (*wait)(void *of), void *of)
{
	struct store *old = active_of(s);
	int err;

	if (s->by_base)
		return take_base(s, cpus, what == TAKE_VALUES, fn, arg);
	if (!s->twin)
		return store_each(s, cpus, fn, arg) ?: store_rewrite(s, cpus, what == TAKE_ENTRIES);
	__atomic_store_n(s->turn, old == s, __ATOMIC_SEQ_CST);
	wait(of);
	err = each_of(old, cpus, fn, arg);
	if (!err && what == TAKE_VALUES)
		err = keep_keys(old, active_of(s), cpus);
	return err ?: empty_store(old, cpus);
}
