/* Map operations on the maps of another engine (struct interp_store). */
#include "engine/interp/state.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t *words_of(const struct interp_run *r, uint16_t slot)
{
	return slot == SLOT_NO ? NULL : (uint64_t *)(void *)run_slot(r, slot);
}

static uint64_t run_percentile(struct interp_run *r, const struct insn *i)
{
	const struct type *t = &r->e->program->maps[i->map].value;
	uint64_t *words = calloc(1, type_memory(t)), result = 0;

	if (!words)
		r->err = -ENOMEM;
	else if (r->e->store->read_aggregate(r->e->store->self, i->map, words_of(r, i->s), words))
		result = aggregate_percentile(t, words, (uint64_t)i->imm);
	free(words);
	return result;
}

void store_run(struct interp_run *r, const struct insn *i)
{
	const struct interp_store *s = r->e->store;
	uint64_t *regs = r->u->regs, value = i->a == REG_NO ? 0 : regs[i->a], result;
	const uint64_t *key = words_of(r, i->s);

	switch (i->op) {
	case OP_MAP_GET: regs[i->d] = s->get(s->self, i->map, key); break;
	case OP_PERCENTILE: regs[i->d] = run_percentile(r, i); break;
	case OP_MAP_COPY: s->copy(s->self, i->map, key, words_of(r, i->t)); break;
	case OP_MAP_SET: s->set(s->self, i->map, key, value, i->span); break;
	case OP_MAP_PUT: s->put(s->self, i->map, key, words_of(r, i->t), i->span); break;
	case OP_MAP_ADD:
	case OP_MAP_DEL:
		result = i->op == OP_MAP_ADD ? s->add(s->self, i->map, key, value, i->span)
					     : s->del(s->self, i->map, key);
		if (i->d != REG_NO)
			regs[i->d] = result;
		break;
	case OP_MAP_HAS: regs[i->d] = s->has(s->self, i->map, key); break;
	case OP_AGGREGATE: s->aggregate(s->self, i->map, key, value, i->span); break;
	default: r->err = -ENOTSUP; break;
	}
}

/* ---- loops over maps */

static int keep_key(void *arg, struct str key, struct str value)
{
	(void)value;
	buf_str(arg, key);
	return ((struct buf *)arg)->failed ? -ENOMEM : 0;
}

/* The number of keys in *out. */
static uint64_t take_keys(struct interp_run *r, const struct insn *i, size_t size, struct buf *out)
{
	buf_clear(out);
	r->err = r->e->store->each(r->e->store->self, i->map, keep_key, out);
	return r->err || !size ? 0 : out->len / size;
}

/* The number that a script reads of an entry. */
static uint64_t entry_number(struct interp_run *r, const struct insn *i, const uint64_t *key)
{
	const struct type *t = &r->e->program->maps[i->map].value;
	uint64_t *words, result = 0;

	if (!type_is_aggregate(t))
		return r->e->store->get(r->e->store->self, i->map, key);
	words = calloc(1, type_memory(t));
	if (!words)
		r->err = -ENOMEM;
	else if (r->e->store->read_aggregate(r->e->store->self, i->map, key, words))
		result = aggregate_number(t, words);
	free(words);
	return result;
}

bool store_entry(struct interp_run *r, const struct insn *i, uint64_t *left)
{
	const struct interp_store *s = r->e->store;
	struct buf *keys = &r->u->keys[i - r->u->clause->code];
	size_t size = type_memory(&r->e->program->maps[i->map].key);
	const uint64_t *key = words_of(r, i->s);

	if (*left == UINT64_MAX)
		*left = take_keys(r, i, size, keys);
	while (*left && !r->err) {
		memcpy(run_slot(r, i->s), keys->ptr + --*left * size, size);
		if (!s->has(s->self, i->map, key))
			continue; /* removed since */
		if (i->op == OP_EACH_COPY)
			s->copy(s->self, i->map, key, words_of(r, i->t));
		else if (i->d != REG_NO)
			r->u->regs[i->d] = entry_number(r, i, key);
		return !r->err;
	}
	return false;
}
