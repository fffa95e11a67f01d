/* Map operations on the maps of another engine (struct interp_store). */
#include "engine/interp/state.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t *words_of(const struct run *r, uint16_t slot)
{
	return slot == SLOT_NO ? NULL : (uint64_t *)(void *)run_slot(r, slot);
}

static uint64_t percentile(struct run *r, const struct insn *i)
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

void store_run(struct run *r, const struct insn *i)
{
	const struct interp_store *s = r->e->store;
	uint64_t *regs = r->u->regs, value = i->a == REG_NO ? 0 : regs[i->a], result;
	const uint64_t *key = words_of(r, i->s);

	switch (i->op) {
	case OP_MAP_GET: regs[i->d] = s->get(s->self, i->map, key); break;
	case OP_PERCENTILE: regs[i->d] = percentile(r, i); break;
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
