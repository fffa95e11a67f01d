/* Maps with stacks of scripts as keys. The kernel keeps such a stack by the addresses of one
 * process, and by positions of which several are one line. Before a map is shown, its stacks become
 * names and lines, and entries that are the same then become one. Only values that can be added
 * are: aggregations, and numbers that clauses only add to. */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "lang/lang.h"

struct merge_entry {
	char *key, *value; /* owned; value is aligned */
};

struct merging {
	struct lang_names *langs;
	const struct map_def *def;
	size_t key_size, value_size;
	struct merge_entry *entries;
	size_t count, cap;
	struct hash by_key;
};

static bool has_script_stack(const struct type *t)
{
	for (unsigned i = 0; t->kind == TYPE_TUPLE && i < t->element_count; i++)
		if (has_script_stack(&t->elements[i]))
			return true;
	return t->kind == TYPE_LSTACK;
}

static void note_sets(const struct program *p, bool *sets)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].insn_count; k++) {
			const struct insn *in = &p->clauses[i].code[k];

			if (in->op == OP_MAP_SET || in->op == OP_MAP_PUT)
				sets[in->map] = true;
		}
}

int session_note_program(struct nopal_trace *t, const struct program *p)
{
	if (!t->langs)
		return 0;
	if (!t->sets) {
		t->sets = arena_array(&t->arena, bool, p->map_count + 1);
		if (!t->sets)
			return -ENOMEM;
		note_sets(t->program, t->sets);
	}
	note_sets(p, t->sets);
	t->newest = p;
	return 0;
}

static bool can_merge(const struct nopal_trace *t, const struct map_def *def, uint32_t map)
{
	return has_script_stack(&def->key) &&
	       (type_is_aggregate(&def->value) || (def->value.kind == TYPE_INT && !t->sets[map]));
}

/* One stack, in the bytes of a key. */
static void unify_stack(struct lang_names *langs, const struct type *t, char *at)
{
	size_t most = t->size / sizeof(struct lang_frame), count;
	struct lang_frame *frames = malloc(t->size);
	struct stack_head head;

	memcpy(&head, at, sizeof(head));
	count = head.count / 2 < most ? head.count / 2 : most;
	if (frames) {
		memcpy(frames, at + sizeof(head), t->size);
		if (lang_names_unify(langs, (pid_t)head.pid, frames, &count)) {
			head = (struct stack_head){.count = (uint32_t)(2 * count)};
			memcpy(at, &head, sizeof(head));
			memset(at + sizeof(head), 0, t->size);
			memcpy(at + sizeof(head), frames, count * sizeof(*frames));
		}
	}
	free(frames);
}

static void unify_key(struct lang_names *langs, const struct type *t, char *at)
{
	if (t->kind == TYPE_LSTACK)
		unify_stack(langs, t, at);
	for (unsigned i = 0; t->kind == TYPE_TUPLE && i < t->element_count; i++) {
		unify_key(langs, &t->elements[i], at);
		at += type_memory(&t->elements[i]);
	}
}

static void add_value(const struct type *t, char *value, const char *more)
{
	uint64_t a, b;

	if (type_is_aggregate(t)) {
		aggregate_merge(t, value, more);
		return;
	}
	memcpy(&a, value, sizeof(a));
	memcpy(&b, more, sizeof(b));
	a += b;
	memcpy(value, &a, sizeof(a));
}

static int take_entry(void *arg, struct str key, struct str value)
{
	struct merging *m = arg;
	struct merge_entry e = {malloc(m->key_size), malloc(m->value_size)};
	uint64_t hash;
	int err = -ENOMEM;

	if (!e.key || !e.value || key.len != m->key_size || value.len < m->value_size)
		goto out;
	memcpy(e.key, key.ptr, m->key_size);
	memcpy(e.value, value.ptr, m->value_size);
	unify_key(m->langs, &m->def->key, e.key);
	hash = hash_bytes((uintptr_t)m, e.key, m->key_size);
	hash_each(i, &m->by_key, hash)
		if (!memcmp(m->entries[i].key, e.key, m->key_size)) {
			add_value(&m->def->value, m->entries[i].value, e.value);
			err = 0;
			goto out;
		}
	if (array_grow(m->entries, m->count, m->cap) || hash_add(&m->by_key, hash, m->count))
		goto out;
	m->entries[m->count++] = e;
	return 0;
out:
	free(e.key);
	free(e.value);
	return err;
}

static int merged_take(void *self, uint32_t map, enum format_take what, map_entry_fn *fn, void *arg)
{
	struct nopal_trace *t = self;
	const struct map_def *def = map < t->newest->map_count ? &t->newest->maps[map] : NULL;
	struct merging m = {.langs = t->langs, .def = def};
	int err;

	if (!def || !can_merge(t, def, map))
		return map_take(&t->engine->maps, map, what, fn, arg);
	m.key_size = type_memory(&def->key);
	m.value_size = type_memory(&def->value);
	err = map_take(&t->engine->maps, map, what, take_entry, &m);
	for (size_t i = 0; i < m.count; i++) {
		if (!err)
			err = fn(arg, str_of(m.entries[i].key, m.key_size),
				 str_of(m.entries[i].value, m.value_size));
		free(m.entries[i].key);
		free(m.entries[i].value);
	}
	free(m.entries);
	hash_free(&m.by_key);
	return err;
}

static int merged_each(void *self, uint32_t map, map_entry_fn *fn, void *arg)
{
	return merged_take(self, map, TAKE_NOTHING, fn, arg);
}

static int merged_clear(void *self, uint32_t map)
{
	return map_clear(&((struct nopal_trace *)self)->engine->maps, map);
}

static int merged_zero(void *self, uint32_t map)
{
	return map_zero(&((struct nopal_trace *)self)->engine->maps, map);
}

const struct map_store *session_maps(struct nopal_trace *t)
{
	if (!t->langs || (!t->newest && session_note_program(t, t->program)))
		return &t->engine->maps;
	t->merged = (struct map_store){t, merged_each, merged_clear, merged_zero, merged_take};
	return &t->merged;
}
