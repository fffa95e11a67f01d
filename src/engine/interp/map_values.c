/* Maps and records: where the interpreter keeps them, and the operations on them. */
#include "engine/interp/state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* ---- tables */

#define ABSENT SIZE_MAX

void table_init(struct table *t, const struct map_def *map)
{
	*t = (struct table){.key_size = type_memory(&map->key),
			    .value_size = type_memory(&map->value),
			    .max_entries = map->max_entries,
			    .forgets = map->forgets};
}

void table_free(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->entries[i]);
	free(t->entries);
	hash_free(&t->by_key);
	*t = (struct table){.key_size = t->key_size,
			    .value_size = t->value_size,
			    .max_entries = t->max_entries,
			    .forgets = t->forgets};
}

static uint64_t hash_of(const struct table *t, const char *key)
{
	return hash_bytes(0, key, t->key_size);
}

static size_t find_key(const struct table *t, const char *key)
{
	hash_each(i, &t->by_key, hash_of(t, key))
		if (!memcmp(t->entries[i], key, t->key_size))
			return i;
	return ABSENT;
}

static uint64_t *last_use(const struct table *t, size_t at)
{
	return (uint64_t *)(void *)(t->entries[at] + t->key_size + t->value_size);
}

/* The value of a key, or NULL. */
static char *table_find(struct table *t, const char *key)
{
	size_t at = find_key(t, key);

	if (at == ABSENT)
		return NULL;
	*last_use(t, at) = ++t->uses;
	return t->entries[at] + t->key_size;
}

/* The last entry takes the place of the one that goes. It was added before, so there is room. */
static bool table_remove(struct table *t, const char *key)
{
	size_t at = find_key(t, key), last = t->count - 1;

	if (at == ABSENT)
		return false;
	hash_remove(&t->by_key, hash_of(t, key), at);
	free(t->entries[at]);
	if (at != last) {
		hash_remove(&t->by_key, hash_of(t, t->entries[last]), last);
		hash_add(&t->by_key, hash_of(t, t->entries[last]), at);
		t->entries[at] = t->entries[last];
	}
	t->count--;
	return true;
}

static void table_forget(struct table *t)
{
	size_t oldest = 0;

	for (size_t i = 1; i < t->count; i++)
		if (*last_use(t, i) < *last_use(t, oldest))
			oldest = i;
	table_remove(t, t->entries[oldest]);
}

/* The value of a key, added with zeroes when it is not there. NULL with *err -ENOSPC when the table
 * is full, -ENOMEM. */
static char *table_take(struct table *t, const char *key, int *err)
{
	char *value = table_find(t, key), *entry;

	if (value)
		return value;
	if (t->forgets && t->count >= t->max_entries)
		table_forget(t);
	entry = t->count < t->max_entries ? calloc(1, t->key_size + t->value_size + 8) : NULL;
	*err = t->count >= t->max_entries ? -ENOSPC : -ENOMEM;
	if (!entry || array_grow(t->entries, t->count, t->cap) ||
	    hash_add(&t->by_key, hash_of(t, key), t->count)) {
		free(entry);
		return NULL;
	}
	*err = 0;
	memcpy(entry, key, t->key_size);
	t->entries[t->count++] = entry;
	*last_use(t, t->count - 1) = ++t->uses;
	return entry + t->key_size;
}

/* ---- operations on maps */

static struct table *table_of(const struct interp_run *r, const struct insn *i)
{
	return &r->e->tables[i->map];
}

static const struct type *value_type(const struct interp_run *r, const struct insn *i)
{
	return &r->e->program->maps[i->map].value;
}

static const char *key_of(const struct interp_run *r, const struct insn *i)
{
	return i->s == SLOT_NO ? "" : run_slot(r, i->s);
}

/* The value to write; NULL when the map is full, which is counted. */
static char *take_value(struct interp_run *r, const struct insn *i)
{
	int err = 0;
	char *value = table_take(table_of(r, i), key_of(r, i), &err);

	if (err == -ENOSPC) {
		count_fault(r, FAULT_MAP_FULL);
		r->e->stats.lost_updates++;
	} else if (err) {
		r->err = err;
	}
	return value;
}

static uint64_t number_at(const struct type *t, const void *value)
{
	return type_is_aggregate(t) ? aggregate_number(t, value) : *(const uint64_t *)value;
}

uint64_t map_get(struct interp_run *r, const struct insn *i)
{
	const void *value = table_find(table_of(r, i), key_of(r, i));

	return value ? number_at(value_type(r, i), value) : 0;
}

uint64_t map_percentile(struct interp_run *r, const struct insn *i)
{
	const void *value = table_find(table_of(r, i), key_of(r, i));

	return value ? aggregate_percentile(value_type(r, i), value, (uint64_t)i->imm) : 0;
}

void map_copy(struct interp_run *r, const struct insn *i)
{
	size_t size = type_memory(run_type(r, i->t));
	const char *value = table_find(table_of(r, i), key_of(r, i));

	if (value)
		memcpy(run_slot(r, i->t), value, size);
	else
		memset(run_slot(r, i->t), 0, size);
}

void map_set(struct interp_run *r, const struct insn *i)
{
	char *value = take_value(r, i);

	if (value)
		*(uint64_t *)value = r->u->regs[i->a];
}

void map_put(struct interp_run *r, const struct insn *i)
{
	char *value = take_value(r, i);

	if (value)
		memcpy(value, run_slot(r, i->t), type_memory(run_type(r, i->t)));
}

void map_add(struct interp_run *r, const struct insn *i)
{
	uint64_t *value = (uint64_t *)take_value(r, i), before = value ? *value : 0;

	if (value)
		*value += r->u->regs[i->a];
	if (i->d != REG_NO)
		r->u->regs[i->d] = before;
}

void map_del(struct interp_run *r, const struct insn *i)
{
	bool was_there = table_remove(table_of(r, i), key_of(r, i));

	if (i->d != REG_NO)
		r->u->regs[i->d] = was_there;
}

bool map_has(struct interp_run *r, const struct insn *i)
{
	return table_find(table_of(r, i), key_of(r, i)) != NULL;
}

bool map_entry(struct interp_run *r, const struct insn *i, uint64_t *left)
{
	const struct table *t = table_of(r, i);
	const char *entry;

	if (r->e->store)
		return store_entry(r, i, left);
	if (*left > t->count)
		*left = t->count;
	if (!*left)
		return false;
	entry = t->entries[--*left];
	memcpy(run_slot(r, i->s), entry, t->key_size);
	if (i->op == OP_EACH_COPY)
		memcpy(run_slot(r, i->t), entry + t->key_size, t->value_size);
	else if (i->d != REG_NO)
		r->u->regs[i->d] = number_at(value_type(r, i), entry + t->key_size);
	return true;
}

void map_aggregate(struct interp_run *r, const struct insn *i)
{
	char *value = take_value(r, i);

	if (value)
		aggregate_take(value_type(r, i), value, i->a == REG_NO ? 0 : r->u->regs[i->a]);
}

/* ---- records */

/* Add a copy of a record. 0, also when it is lost and counted; -ENOMEM. */
static int queue_add(struct queue *q, struct str record, bool control)
{
	struct queued *r;

	if (!control && record.len > q->capacity - q->data_bytes) {
		q->lost++;
		return 0;
	}
	r = malloc(sizeof(*r) + record.len);
	if (!r)
		return -ENOMEM;
	r->next = NULL;
	r->control = control;
	r->len = record.len;
	memcpy(r->bytes, record.ptr, record.len);
	if (q->last)
		q->last->next = r;
	else
		q->first = r;
	q->last = r;
	if (!control)
		q->data_bytes += record.len;
	return 0;
}

struct queued *queue_take(struct queue *q)
{
	struct queued *r = q->first;

	if (!r)
		return NULL;
	q->first = r->next;
	if (!q->first)
		q->last = NULL;
	if (!r->control)
		q->data_bytes -= r->len;
	return r;
}

void queue_free(struct queue *q)
{
	struct queued *r;

	while ((r = queue_take(q)))
		free(r);
}

/* A slot as a field: text and stacks only as long as they are. */
static void add_slot(struct interp_run *r, uint16_t slot)
{
	const struct type *t = run_type(r, slot);
	const char *from = run_slot(r, slot);
	size_t size = type_memory(t);

	if (t->kind == TYPE_STR || t->kind == TYPE_BUF)
		size = sizeof(struct text_head) + ((const struct text_head *)from)->len;
	if (type_is_stack(t))
		size = sizeof(struct stack_head) + 8 * ((const struct stack_head *)from)->count;
	buf_add(&r->e->record, from, size);
	buf_fill(&r->e->record, '\0', -size % 8);
}

void emit_record(struct interp_run *r, const struct insn *i)
{
	const struct format *f = &r->u->p->formats[i->imm];
	struct buf *b = &r->e->record;
	struct record_head head = {.format = (uint16_t)i->imm};

	buf_clear(b);
	buf_add(b, &head, sizeof(head));
	for (unsigned n = 0; n < i->field_count; n++) {
		if (i->fields[n].slot == SLOT_NO)
			buf_add(b, &r->u->regs[i->fields[n].reg], 8);
		else
			add_slot(r, i->fields[n].slot);
	}
	if (b->failed) {
		r->err = -ENOMEM;
		return;
	}
	head.size = (uint32_t)b->len;
	memcpy(b->ptr, &head, sizeof(head));
	if (r->e->store)
		r->e->store->emit(r->e->store->self, buf_as_str(b), format_is_control(f),
				  f->kind == FORMAT_EXIT);
	else
		r->err = queue_add(&r->e->queue, buf_as_str(b), format_is_control(f));
	r->e->stopped |= f->kind == FORMAT_EXIT;
}
