/* Creating, reading and clearing the kernel maps of a script's maps; see store.h. */
#include "engine/bpf/store.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/bpf/kernel.h"

#define NO_PREALLOC 1u	 /* BPF_F_NO_PREALLOC */
#define BATCH	    256u /* entries read by one system call */
#define SINGLE_KEY  8u	 /* bytes of the key of a map without keys */

uint32_t store_short_size(const struct type *t)
{
	uint32_t full = (uint32_t)type_memory(t), total = 0;

	if (t->kind == TYPE_STR || t->kind == TYPE_BUF)
		return full > STORE_SHORT + 8 ? STORE_SHORT + 8 : full;
	if (t->kind != TYPE_TUPLE)
		return full;
	for (unsigned i = 0; i < t->element_count; i++)
		total += store_short_size(&t->elements[i]);
	return total;
}

uint64_t extreme_mask(const struct type *t)
{
	uint64_t mask = t->is_signed ? UINT64_C(1) << 63 : 0;

	return t->kind == TYPE_MIN ? ~mask : mask;
}

static enum store_kind kind_of(const struct map_def *def)
{
	if (def->key.kind != TYPE_NONE)
		return STORE_HASH;
	if (type_is_aggregate(&def->value))
		return STORE_CPU_CELL;
	return type_memory(&def->value) == 8 ? STORE_CELL : STORE_HASH;
}

/* "@lat" -> "lat": kernel names have letters, digits and _ only. */
static void kernel_name(struct str name, char out[16])
{
	size_t n = 0;

	for (size_t i = 0; i < name.len && n < 15; i++) {
		char c = name.ptr[i];
		bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '_';

		if (fine)
			out[n++] = c;
	}
	out[n] = '\0';
}

static int create(const struct store *s, uint32_t key_size, struct diag *d)
{
	char name[16];
	struct kernel_map m = {.type = BPF_MAP_TYPE_HASH,
			       .key_size = key_size,
			       .value_size = s->value_size,
			       .max_entries = s->def->max_entries ? s->def->max_entries : 1,
			       .flags = NO_PREALLOC,
			       .name = name};
	int fd;

	kernel_name(s->def->name, name);
	if (s->kind != STORE_HASH) {
		m.type = s->kind == STORE_CELL ? BPF_MAP_TYPE_ARRAY : BPF_MAP_TYPE_PERCPU_ARRAY;
		m.key_size = 4;
		m.value_size += 8;
		m.max_entries = 1;
		m.flags = 0;
	}
	fd = kernel_map_create(&m);
	if (fd < 0)
		diag_error(d, fd, "map",
			   "cannot create map '%.*s' (key: %u bytes, value: %u bytes): %s",
			   STR_FMT(s->def->name), m.key_size, m.value_size, strerror(-fd));
	return fd;
}

int store_open(struct store *s, const struct map_def *def, uint32_t used_at, uint64_t *used,
	       struct diag *d)
{
	const struct store_map none = {-1, -1, 0};
	uint32_t key = (uint32_t)type_memory(&def->key);

	*s = (struct store){.def = def, .kind = kind_of(def), .map = none, .long_map = none};
	s->used_at = used_at;
	s->used = used;
	s->value_size = (uint32_t)type_memory(&def->value);
	s->full_key = def->key.kind == TYPE_NONE ? SINGLE_KEY : key;
	s->key_size = def->key.kind == TYPE_NONE ? SINGLE_KEY : store_short_size(&def->key);
	s->map.fd = create(s, s->key_size, d);
	if (s->map.fd < 0)
		return s->map.fd;
	if (s->key_size == s->full_key)
		return 0;
	s->long_map.fd = create(s, s->full_key, d);
	return s->long_map.fd < 0 ? s->long_map.fd : 0;
}

void store_is_not_read(struct store *s)
{
	enum type_kind kind = s->def->value.kind;

	s->by_base = s->kind == STORE_CPU_CELL && kind != TYPE_MIN && kind != TYPE_MAX;
}

void store_close(struct store *s)
{
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
static void reveal(const struct store *s, uint64_t *words)
{
	const struct type *t = &s->def->value;

	if ((t->kind == TYPE_MIN || t->kind == TYPE_MAX) && words[1])
		words[0] ^= extreme_mask(t);
}

/* Merge one CPU's value (still masked) into `sum`. */
static void merge(const struct store *s, uint64_t *sum, const uint64_t *value)
{
	enum type_kind kind = s->def->value.kind;

	if (kind == TYPE_MIN || kind == TYPE_MAX) {
		if (value[1] && value[0] > sum[0])
			sum[0] = value[0];
		sum[1] |= value[1];
		return;
	}
	for (uint32_t i = 0; i < s->value_size / 8; i++)
		sum[i] += value[i];
}

/* What came since the store was cleared or zeroed, in `words`; did anything? */
static bool take_off_base(const struct store *s, uint64_t *words, size_t count)
{
	bool changed = s->base_is_set;

	for (size_t i = 0; i < count; i++) {
		words[i] -= s->base[i];
		changed |= words[i] != 0;
	}
	return changed;
}

static int each_cell(const struct store *s, unsigned cpus, map_entry_fn *fn, void *arg)
{
	size_t stride = s->value_size + 8, copies = s->kind == STORE_CELL ? 1 : cpus;
	unsigned char *all = calloc(copies + 1, stride);
	uint64_t *sum = all ? (void *)(all + copies * stride) : NULL;
	uint64_t is_set = 0;
	uint32_t zero = 0;
	int err;

	if (!all)
		return -ENOMEM;
	err = kernel_map_lookup(s->map.fd, &zero, all);
	if (!err && s->base)
		is_set = take_off_base(s, (void *)all, copies * stride / 8);
	for (size_t i = 0; !err && i < copies; i++) {
		const uint64_t *value = (void *)(all + i * stride);

		is_set |= value[s->value_size / 8];
		merge(s, sum, value);
	}
	reveal(s, sum);
	if (!err && is_set)
		err = fn(arg, str_of("", 0), str_of((char *)sum, s->value_size));
	free(all);
	return err;
}

/* A short key in the layout of a full one. */
static void widen(const struct type *t, const unsigned char **from, unsigned char **to)
{
	size_t full = type_memory(t), part = store_short_size(t);

	if (t->kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < t->element_count; i++)
			widen(&t->elements[i], from, to);
		return;
	}
	memcpy(*to, *from, part);
	memset(*to + part, 0, full - part);
	*from += part;
	*to += full;
}

static int give_entry(const struct store *s, const unsigned char *key, bool is_short,
		      unsigned char *value, unsigned char *wide, map_entry_fn *fn, void *arg)
{
	struct str shown = str_of((const char *)key, s->full_key);

	if (s->def->key.kind == TYPE_NONE) {
		shown.len = 0;
	} else if (is_short) {
		unsigned char *to = wide;

		widen(&s->def->key, &key, &to);
		shown.ptr = (char *)wide;
	}
	reveal(s, (uint64_t *)(void *)value);
	return fn(arg, shown, str_of((char *)value, s->value_size));
}

/* One hash by batches; without preallocation its buckets may be larger than a batch, which the
 * kernel says by ENOSPC: then a larger one is tried. */
static int each_in_hash(const struct store *s, int fd, uint32_t key_size, map_entry_fn *fn,
			void *arg)
{
	bool is_short = key_size != s->full_key, first = true;
	uint32_t room = BATCH, count;
	unsigned char *keys = NULL, *values = NULL, *wide = malloc(s->full_key);
	uint32_t in_batch = 0, out_batch = 0;
	int err = 0, end = 0;

	keys = calloc(room, key_size);
	values = calloc(room, s->value_size);
	while (!err && !end && keys && values && wide) {
		count = room;
		end = kernel_map_batch(fd, first ? NULL : &in_batch, &out_batch, keys, values,
				       &count);
		if (end == -ENOSPC && room < 1u << 20) {
			room *= 2;
			free(keys);
			free(values);
			keys = calloc(room, key_size);
			values = calloc(room, s->value_size);
			end = 0;
			continue;
		}
		if (end && end != -ENOENT)
			break;
		for (uint32_t i = 0; !err && i < count; i++)
			err = give_entry(s, keys + (size_t)i * key_size, is_short,
					 values + (size_t)i * s->value_size, wide, fn, arg);
		in_batch = out_batch;
		first = false;
	}
	if (!keys || !values || !wide)
		err = -ENOMEM;
	free(keys);
	free(values);
	free(wide);
	return err ? err : end == -ENOENT ? 0 : end;
}

int store_each(const struct store *s, unsigned cpus, map_entry_fn *fn, void *arg)
{
	int err;

	if (s->kind != STORE_HASH)
		return each_cell(s, cpus, fn, arg);
	err = each_in_hash(s, s->map.fd, s->key_size, fn, arg);
	if (!err && s->long_map.fd >= 0)
		err = each_in_hash(s, s->long_map.fd, s->full_key, fn, arg);
	return err;
}

/* ---- clearing */

static int write_cell(const struct store *s, unsigned cpus, bool keep_set)
{
	size_t stride = s->value_size + 8, copies = s->kind == STORE_CELL ? 1 : cpus;
	unsigned char *all = calloc(copies, stride);
	uint32_t zero = 0;
	int err;

	if (!all)
		return -ENOMEM;
	err = kernel_map_lookup(s->map.fd, &zero, all);
	for (size_t i = 0; i < copies; i++)
		memset(all + i * stride, 0, keep_set ? s->value_size : stride);
	if (!err)
		err = kernel_map_update(s->map.fd, &zero, all, BPF_ANY);
	free(all);
	return err;
}

/* From now on, what is there does not count. */
static int remember_base(struct store *s, unsigned cpus, bool keep_set)
{
	size_t count = (s->value_size / 8 + 1) * (size_t)cpus;
	uint64_t *now = calloc(count, sizeof(*now));
	bool was_set = false;
	uint32_t zero = 0;
	int err;

	if (!now)
		return -ENOMEM;
	err = kernel_map_lookup(s->map.fd, &zero, now);
	if (err) {
		free(now);
		return err;
	}
	for (size_t i = 0; i < count; i++)
		was_set |= now[i] != (s->base ? s->base[i] : 0);
	s->base_is_set = keep_set && (was_set || s->base_is_set);
	free(s->base);
	s->base = now;
	return 0;
}

/* Every key of a hash gets `fn`; the next key is found before, since the key may be gone after. */
static int each_key(int fd, uint32_t key_size, const struct store *s, bool remove)
{
	unsigned char *key = calloc(2, key_size), *next = key ? key + key_size : NULL;
	void *zeros = calloc(1, s->value_size);
	int err = -ENOMEM, end;

	if (!key || !zeros)
		goto out;
	err = 0;
	end = kernel_map_next(fd, NULL, key);
	while (!end && !err) {
		end = kernel_map_next(fd, key, next);
		err = remove ? kernel_map_delete(fd, key)
			     : kernel_map_update(fd, key, zeros, BPF_EXIST);
		if (!err && remove && s->long_map.fd >= 0)
			__atomic_fetch_sub(s->used, 1, __ATOMIC_RELAXED);
		if (err == -ENOENT)
			err = 0;
		memcpy(key, next, key_size);
	}
	if (!err && end != -ENOENT)
		err = end;
out:
	free(key);
	free(zeros);
	return err;
}

static int rewrite(struct store *s, unsigned cpus, bool remove)
{
	int err;

	if (s->by_base)
		return remember_base(s, cpus, !remove);
	if (s->kind != STORE_HASH)
		return write_cell(s, cpus, !remove);
	err = each_key(s->map.fd, s->key_size, s, remove);
	if (!err && s->long_map.fd >= 0)
		err = each_key(s->long_map.fd, s->full_key, s, remove);
	return err;
}

int store_clear(struct store *s, unsigned cpus)
{
	return rewrite(s, cpus, true);
}

int store_zero(struct store *s, unsigned cpus)
{
	return rewrite(s, cpus, false);
}
