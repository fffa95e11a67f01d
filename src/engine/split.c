/* See split.h. A map that is only added to is the same whether one engine adds everything or each
 * adds its part: count(), sum(), hist() are made for that, as every CPU has its part
 * already. A map that a clause reads or deletes from must have one owner. */
#include "engine/split.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "program/op.h"

/* ---- maps that can be shared */

static bool only_adds(const struct clause *c, uint32_t map)
{
	for (uint32_t i = 0; i < c->insn_count; i++)
		if (op_uses_map(c->code[i].op) && c->code[i].map == map &&
		    c->code[i].op != OP_AGGREGATE)
			return false;
	return true;
}

static bool all_only_add(const struct program *p, uint32_t map)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		if (!only_adds(&p->clauses[i], map))
			return false;
	return true;
}

bool *split_maps(struct arena *arena, const struct program *p, bool grows)
{
	bool *shared = arena_array(arena, bool, p->map_count + 1);

	for (uint32_t map = 0; shared && map < p->map_count; map++)
		shared[map] = type_is_aggregate(&p->maps[map].value) && all_only_add(p, map) &&
			      !(grows && p->maps[map].is_read);
	return shared;
}

bool split_may_extend(const struct program *p, const bool *shared)
{
	for (uint32_t map = 0; map < p->map_count; map++)
		if (shared[map] && !all_only_add(p, map))
			return false;
	return true;
}

/* ---- clauses */

bool split_has_own_maps(const struct program *p, const struct clause *c, const bool *shared)
{
	for (uint32_t map = 0; map < p->map_count; map++)
		if (!shared[map] && clause_uses_map(c, map))
			return true;
	return false;
}

static bool can_run_one(const struct engine *first, const struct program *p, const struct clause *c,
			uint32_t attach)
{
	struct clause one = *c;

	one.attaches = &c->attaches[attach];
	one.attach_count = 1;
	return !engine_can_run(first, p, &one, NULL);
}

/* Sort the attachments: those that the engine can run the clause at, and how many, come first. */
static struct attach *sort_attaches(struct arena *arena, const struct engine *first,
				    const struct program *p, const struct clause *c,
				    uint32_t *count)
{
	struct attach *sorted = arena_array(arena, struct attach, c->attach_count + 1);
	uint32_t last = c->attach_count;

	/* That it cannot reach one may keep it from others near it: so each is asked for twice. */
	for (uint32_t i = 0; sorted && i < c->attach_count; i++)
		can_run_one(first, p, c, i);
	*count = 0;
	for (uint32_t i = 0; sorted && i < c->attach_count; i++)
		if (can_run_one(first, p, c, i))
			sorted[(*count)++] = c->attaches[i];
		else
			sorted[--last] = c->attaches[i];
	return sorted;
}

static void add_clause(struct split *s, struct program *to, const struct clause *c, uint32_t origin)
{
	s->origins[to->clause_count] = origin;
	((struct clause *)to->clauses)[to->clause_count++] = *c;
}

static int cut_program(struct split *s, struct arena *arena, const struct engine *first,
		       const struct program *p, const bool *shared, struct program *to,
		       uint32_t number)
{
	struct clause part = p->clauses[number];
	struct attach *sorted;
	uint32_t count;

	if (part.attach_count < 2 || split_has_own_maps(p, &part, shared) ||
	    !engine_can_run(first, p, &part, NULL)) {
		add_clause(s, to, &part, number);
		return 0;
	}
	sorted = sort_attaches(arena, first, p, &part, &count);
	if (!sorted)
		return -ENOMEM;
	part.attaches = sorted;
	if (count && count < part.attach_count) {
		part.attach_count = count;
		add_clause(s, to, &part, number);
		part.attaches = sorted + count;
		part.attach_count = p->clauses[number].attach_count - count;
	}
	add_clause(s, to, &part, number);
	return 0;
}

static struct program *begin_part(struct split *s, struct arena *arena, const struct program *p)
{
	struct program *to = arena_new(arena, struct program);
	struct clause *clauses = arena_array(arena, struct clause, 2 * p->clause_count + 1);

	s->origins = arena_array(arena, uint32_t, 2 * p->clause_count + 1);
	if (!to || !clauses || !s->origins)
		return NULL;
	*to = *p;
	to->clauses = clauses;
	to->clause_count = 0;
	s->program = to;
	return to;
}

int split_program(struct arena *arena, const struct engine *first, const struct program *p,
		  const bool *shared, struct split *out)
{
	struct program *to = begin_part(out, arena, p);
	int err = to ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < p->clause_count; i++)
		err = cut_program(out, arena, first, p, shared, to, i);
	return err;
}

/* ---- reading a shared map */

struct merged_entry {
	struct str key;
	uint64_t *value;
};

struct merged {
	const struct type *type; /* of values */
	struct arena arena;
	struct hash by_key;
	struct merged_entry *entries;
	size_t count, cap;
};

static int keep_entry(struct merged *m, uint64_t hash, struct str key, struct str value)
{
	uint64_t *words = arena_array(&m->arena, uint64_t, value.len / 8 + 1);
	struct merged_entry e = {arena_str(&m->arena, key), words};

	if (!words || (key.len && !e.key.ptr) || array_grow(m->entries, m->count, m->cap) ||
	    hash_add(&m->by_key, hash, m->count))
		return -ENOMEM;
	memcpy(words, value.ptr, value.len);
	m->entries[m->count++] = e;
	return 0;
}

static int merge_entry(void *arg, struct str key, struct str value)
{
	struct merged *m = arg;
	uint64_t hash = hash_str((uintptr_t)m, key), *words;

	hash_each(i, &m->by_key, hash) {
		if (!str_eq(m->entries[i].key, key))
			continue;
		words = arena_array(&m->arena, uint64_t, value.len / 8 + 1);
		if (!words)
			return -ENOMEM;
		memcpy(words, value.ptr, value.len);
		aggregate_merge(m->type, m->entries[i].value, words);
		return 0;
	}
	return keep_entry(m, hash, key, value);
}

int split_map_take(const struct map_store *const *stores, unsigned count, const struct map_def *def,
		   uint32_t map, enum format_take what, map_entry_fn *fn, void *arg)
{
	struct merged m = {.type = &def->value};
	size_t size = type_memory(&def->value);
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++)
		err = map_take(stores[i], map, what, merge_entry, &m);
	for (size_t i = 0; i < m.count && !err; i++)
		err = fn(arg, m.entries[i].key, str_of((const char *)m.entries[i].value, size));
	hash_free(&m.by_key);
	free(m.entries);
	arena_free(&m.arena);
	return err;
}
