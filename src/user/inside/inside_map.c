/* The operations on maps: on the values of the keys that inside_chain.c finds and inserts. */
#include "user/inside/inside_chain.h"

#include "program/numbers.h"
#include "program/record.h"
#include "user/inside/words.h"

#define SLOW	    __attribute__((noinline)) /* it must not cost its caller registers */
#define VALUE_TRIES (1u << 20)

/* ---- values of one word */

enum change { CHANGE_SET, CHANGE_ADD };

/* *before = the value that was changed. */
static enum result change(struct map_entry *e, uint64_t link, enum change how, uint64_t value,
			  uint64_t *before)
{
	for (uint32_t i = 0; i < VALUE_TRIES; i++) {
		uint64_t old = word_load(&e->value);

		*before = old;
		if (pair_swap(&e->link, link, old, link, how == CHANGE_SET ? value : old + value))
			return DONE;
		if (word_acquire(&e->link) != link)
			return AGAIN;
	}
	return FULL;
}

/* ---- aggregates: cells */

static uint64_t join(const struct map_shape *m, uint64_t a, uint64_t b)
{
	return join_words(m->join, m->is_signed, a, b);
}

/* AGAIN: the cell is in use for a later key, so the entry is gone. */
static enum result take_in_cell(const struct map_shape *m, struct map_cell *cell, uint64_t number,
				uint64_t value)
{
	for (uint32_t i = 0; i < VALUE_TRIES; i++) {
		uint64_t of = word_acquire(&cell->number), old = word_load(&cell->value), new;

		if (of > number)
			return AGAIN;
		new = of == number ? join(m, old, value) : value;
		if (pair_swap(&cell->value, old, of, new, number))
			return DONE;
	}
	return FULL;
}

static uint32_t my_stripe(const struct hit *h, const struct map_shape *m)
{
	return m->rseq_stripes + (hit_cpu(h) & (m->stripes - m->rseq_stripes - 1));
}

/* AGAIN with *counted: the event is counted in the entry that is gone, and only its value is not.
 */
static enum result take_in(struct chain_search *s, uint64_t value, bool *counted)
{
	const struct map_shape *m = s->m;
	struct map_cell *cells =
		(struct map_cell *)(void *)(s->h->base +
					    map_cell_at(m, my_stripe(s->h, m), s->index));
	enum result r;

	switch (m->takes) {
	case TAKES_ONE: return take_in_cell(m, cells, s->number, 1);
	case TAKES_BOTH:
		r = *counted ? DONE : take_in_cell(m, &cells[0], s->number, 1);
		*counted = r == DONE;
		return r == DONE ? take_in_cell(m, &cells[1], s->number, value) : r;
	case TAKES_HIST:
		cells += hist_bucket(value, m->is_signed, m->bits);
		return take_in_cell(m, cells, s->number, 1);
	case TAKES_LHIST:
		cells += bucket_of_lhist((int64_t)value, m->min, m->max, m->step);
		return take_in_cell(m, cells, s->number, 1);
	default: return take_in_cell(m, cells, s->number, value);
	}
}

/* Merge word `word` of the aggregate of use `number` of an entry; false: nothing was taken in. */
static bool merge(const struct hit *h, const struct map_shape *m, uint64_t index, uint64_t number,
		  uint32_t word, uint64_t *out)
{
	bool any = false;

	*out = 0;
	for (uint32_t i = 0; i < m->stripes; i++) {
		const struct map_cell *cell =
			(const struct map_cell *)(const void *)(h->base +
								map_cell_at(m, i, index)) +
			word;
		uint64_t value;

		if (word_acquire(&cell->number) != number)
			continue;
		value = word_acquire(&cell->value);
		if (word_load(&cell->number) != number)
			continue;
		*out = any ? join(m, *out, value) : value;
		any = true;
	}
	return any;
}

bool inside_cell(struct hit *h, const struct map_shape *m, uint64_t index, uint64_t number,
		 uint32_t word, uint64_t *out)
{
	return merge(h, m, index, number, word, out);
}

/* What a script reads. */
static uint64_t read_aggregate(const struct chain_search *s)
{
	const struct map_shape *m = s->m;
	uint64_t first, total;

	merge(s->h, m, s->index, s->number, 0, &first);
	if (m->takes != TAKES_BOTH || !first)
		return first;
	merge(s->h, m, s->index, s->number, 1, &total);
	return m->is_signed ? (uint64_t)((int64_t)total / (int64_t)first) : total / first;
}

/* ---- maps without keys that are one entry */

/* Look at the only entry; index is 0 when there is nothing in it. */
static void look_single(struct chain_search *s, struct hit *h, const struct map_shape *m)
{
	s->h = h;
	s->m = m;
	s->link = s->number = word_acquire(&entry_of(h, m, 1)->link);
	s->index = s->link & LINK_DEAD ? 0 : 1;
}

/* A new link of the only entry; true: this call changed it. */
static bool renew_single(struct chain_search *s, bool is_there)
{
	uint64_t link =
		((s->link & ~(LINK_DEAD | LINK_NEXT)) + LINK_VERSION) | (is_there ? 0 : LINK_DEAD);

	if (!word_swap(&entry_of(s->h, s->m, 1)->link, s->link, link))
		return false;
	s->link = s->number = link;
	s->index = is_there;
	return true;
}

static void change_single(struct hit *h, const struct map_shape *m, enum change how, uint64_t value,
			  uint64_t *before)
{
	struct map_entry *e = entry_of(h, m, 1);

	for (uint32_t i = 0; i < VALUE_TRIES; i++) {
		uint64_t link = word_acquire(&e->link), old = word_load(&e->value), new = link;

		*before = link & LINK_DEAD ? 0 : old;
		if (link & LINK_DEAD)
			new = (link & ~LINK_DEAD) + LINK_VERSION;
		if (pair_swap(&e->link, link, old, new,
			      how == CHANGE_SET ? value : *before + value))
			return;
	}
}

static void aggregate_single(struct hit *h, const struct map_shape *m, uint64_t value)
{
	bool counted = false;

	for (uint32_t i = 0; i < VALUE_TRIES; i++) {
		struct chain_search s;

		look_single(&s, h, m);
		if (!s.index && !renew_single(&s, true))
			continue;
		if (take_in(&s, value, &counted) != AGAIN)
			return;
	}
}

/* ---- operations */

#define NO_SPAN UINT64_MAX /* counted at the last one */

static void count_lost(const struct chain_search *s, uint64_t span)
{
	struct hit *h = s->h;
	struct shared_stats *stats = (struct shared_stats *)(void *)(h->base + h->layout->stats_at);

	word_add(s->is_beyond ? &stats->unmapped : &stats->lost_updates, 1);
	inside_fault(h, span, s->is_beyond ? FAULT_MAP_MEMORY : FAULT_MAP_FULL);
}

static void look(struct chain_search *s, struct hit *h, const struct map_shape *m,
		 const uint64_t *key)
{
	if (m->is_single) {
		look_single(s, h, m);
		return;
	}
	chain_search(s, h, m, key);
	if (!chain_find(s) && s->is_beyond)
		count_lost(s, NO_SPAN);
}

/* A word read between two looks at its link belongs to that use of the entry. */
static bool read_word(const struct chain_search *s, uint64_t *out)
{
	struct map_entry *e = chain_found(s);

	*out = word_acquire(&e->value);
	return word_load(&e->link) == s->link;
}

static SLOW uint64_t get_searching(struct hit *h, const struct map_shape *m, const uint64_t *key)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < TRIES; i++) {
		struct chain_search s;

		look(&s, h, m, key);
		if (!s.index)
			return 0;
		if (!m->is_word)
			return read_aggregate(&s);
		if (read_word(&s, &value))
			return value;
	}
	return value;
}

uint64_t inside_map_get(struct hit *h, const struct map_shape *m, const uint64_t *key)
{
	struct first f = chain_first(h, m, key);
	uint64_t value;

	if (!f.entry || !m->is_word)
		return get_searching(h, m, key);
	value = word_acquire(&f.entry->value);
	if (word_load(&f.entry->link) != f.link)
		return get_searching(h, m, key);
	return f.link & LINK_DEAD ? 0 : value;
}

/* All of the value of use `number` of an entry. False: the entry is used again. */
static bool read_value(const struct map_shape *m, struct map_entry *e, uint64_t number,
		       uint64_t *out)
{
	const uint64_t *from = value_of(m, e);
	uint64_t head = m->value_words ? word_load(from) : 0;
	uint32_t used = form_words(m->value_form, m->value_words, head);

	for (uint32_t i = 0; i < m->value_words; i++)
		out[i] = i == 0 ? head : i < used ? word_load(&from[i]) : 0;
	fence_loads();
	return word_load(&e->number) == number;
}

void inside_map_copy(struct hit *h, const struct map_shape *m, const uint64_t *key, uint64_t *out)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		struct chain_search s;

		look(&s, h, m, key);
		if (!s.index)
			break;
		if (read_value(m, chain_found(&s), s.number, out))
			return;
	}
	inside_zero(out, m->value_words);
}

/* Insert or change, whichever it takes. */
static SLOW uint64_t change_key(struct hit *h, const struct map_shape *m, const uint64_t *key,
				enum change how, uint64_t value, uint64_t span)
{
	uint64_t before = 0;
	enum result r = AGAIN;
	struct chain_search s;

	chain_search(&s, h, m, key);
	while (r != FULL && chain_find_clean(&s)) {
		before = 0;
		if (s.index)
			r = change(chain_found(&s), s.link, how, value, &before);
		else if (s.asleep)
			r = chain_wake(&s, value);
		else
			r = chain_insert(&s, value, NULL);
		if (r == DONE)
			return before;
	}
	count_lost(&s, span);
	return 0;
}

void inside_map_set(struct hit *h, const struct map_shape *m, const uint64_t *key, uint64_t value,
		    uint64_t span)
{
	struct first f = chain_first(h, m, key);
	uint64_t before;

	if (f.entry && chain_set(f.entry, f.link, value))
		return;
	if (m->is_single)
		change_single(h, m, CHANGE_SET, value, &before);
	else
		change_key(h, m, key, CHANGE_SET, value, span);
}

uint64_t inside_map_add(struct hit *h, const struct map_shape *m, const uint64_t *key,
			uint64_t value, uint64_t span)
{
	uint64_t before;

	if (!m->is_single)
		return change_key(h, m, key, CHANGE_ADD, value, span);
	change_single(h, m, CHANGE_ADD, value, &before);
	return before;
}

void inside_map_put(struct hit *h, const struct map_shape *m, const uint64_t *key,
		    const uint64_t *value, uint64_t span)
{
	enum result r = AGAIN;
	struct chain_search s;

	chain_search(&s, h, m, key);
	while (r != FULL && chain_find_clean(&s)) {
		r = s.index ? chain_replace(&s, 0, value) : chain_insert(&s, 0, value);
		if (r == DONE)
			return;
	}
	count_lost(&s, span);
}

static SLOW uint64_t del_searching(struct hit *h, const struct map_shape *m, const uint64_t *key)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		struct chain_search s;

		look(&s, h, m, key);
		if (!s.index)
			return 0;
		if (m->is_single ? renew_single(&s, false) : chain_remove(&s) == DONE)
			return 1;
	}
	return 0;
}

uint64_t inside_map_del(struct hit *h, const struct map_shape *m, const uint64_t *key)
{
	struct first f = chain_first(h, m, key);

	if (f.entry && f.link & LINK_DEAD)
		return 0;
	if (f.entry && chain_sleep(h, m, f.entry, f.link))
		return 1;
	return del_searching(h, m, key);
}

uint64_t inside_map_has(struct hit *h, const struct map_shape *m, const uint64_t *key)
{
	struct chain_search s;

	look(&s, h, m, key);
	return s.index != 0;
}

void inside_aggregate(struct hit *h, const struct map_shape *m, const uint64_t *key, uint64_t value,
		      uint64_t span)
{
	enum result r = AGAIN;
	bool counted = false;
	struct chain_search s;

	if (m->is_single) {
		aggregate_single(h, m, value);
		return;
	}
	chain_search(&s, h, m, key);
	while (r != FULL && chain_find_clean(&s)) {
		r = DONE;
		if (!s.index)
			r = chain_insert(&s, 0, NULL);
		if (r == DONE)
			r = take_in(&s, value, &counted);
		if (r == DONE)
			return;
	}
	count_lost(&s, span);
}

static SLOW struct map_place place_searching(struct hit *h, const struct map_shape *m,
					     const uint64_t *key, uint64_t span)
{
	enum result r = AGAIN;
	struct chain_search s;

	chain_search(&s, h, m, key);
	while (r != FULL && chain_find_clean(&s)) {
		r = s.index ? DONE : chain_insert(&s, 0, NULL);
		if (r == DONE)
			return (struct map_place){s.index, s.number};
	}
	count_lost(&s, span);
	return (struct map_place){0, 0};
}

struct map_place inside_map_place(struct hit *h, const struct map_shape *m, const uint64_t *key,
				  uint64_t span)
{
	struct first f = chain_first(h, m, key);

	if (f.entry && !(f.link & LINK_DEAD))
		return (struct map_place){f.index, f.number};
	return place_searching(h, m, key, span);
}

/* Values of a bucket, from all stripes. */
static uint64_t in_bucket(const struct chain_search *s, uint32_t bucket)
{
	uint64_t count;

	merge(s->h, s->m, s->index, s->number, bucket, &count);
	return count;
}

uint64_t inside_percentile(struct hit *h, const struct map_shape *m, const uint64_t *key,
			   uint64_t millionths)
{
	uint64_t total = 0, seen = 0, rank;
	uint32_t bucket = 0;
	struct chain_search s;

	look(&s, h, m, key);
	for (uint32_t i = 0; s.index && i < m->cell_words; i++)
		total += in_bucket(&s, i);
	if (!total)
		return 0;
	rank = rank_of_percentile(total, millionths);
	for (; bucket < m->cell_words - 1; bucket++) {
		seen += in_bucket(&s, bucket);
		if (seen >= rank)
			break;
	}
	return m->takes == TAKES_HIST ? middle_of_hist(bucket, m->bits)
				      : middle_of_lhist(bucket, m->min, m->max, m->step);
}

/* ---- all keys: bucket by bucket, in each by hash. So what is inserted, replaced or removed
 * meanwhile changes nothing for the others. */

/* The living entry of a bucket with the least hash above `after`; 0: there is none. False: the
 * chain has changed. */
static bool least_above(struct hit *h, const struct map_shape *m, uint64_t bucket, uint64_t after,
			struct map_place *out)
{
	const uint64_t *word = word_at(h, m->buckets_at) + bucket;
	uint64_t head = word_acquire(word), index = head & LINK_NEXT, least = UINT64_MAX;
	struct chain_search s = {.h = h, .m = m};

	*out = (struct map_place){0, 0};
	for (uint32_t i = 0; index && i < m->entry_count && chain_reach(&s, index); i++) {
		struct map_entry *e = entry_of(h, m, index);
		uint64_t link = word_acquire(&e->link), hash = word_load(&e->hash);

		if (!(link & LINK_DEAD) && hash > after && hash <= least &&
		    (hash & (m->bucket_count - 1)) == bucket) {
			*out = (struct map_place){index, word_load(&e->number)};
			least = hash;
		}
		index = link & LINK_NEXT;
	}
	if (s.is_beyond)
		count_lost(&s, NO_SPAN);
	fence_loads();
	return word_load(word) == head;
}

/* The key of use `number` of an entry. False: the entry is used again. */
static bool read_key(const struct map_shape *m, struct map_entry *e, uint64_t number, uint64_t *out)
{
	uint64_t head = word_load(e->words);
	uint32_t used = form_words(m->key_form, m->key_words, head);

	for (uint32_t i = 0; i < m->key_words; i++)
		out[i] = i == 0 ? head : i < used ? word_load(&e->words[i]) : 0;
	fence_loads();
	return word_load(&e->number) == number;
}

/* A key whose hash is 0 would be missed: one of 2^64. */
static uint64_t next_in(struct hit *h, const struct map_shape *m, uint64_t bucket, uint64_t after,
			uint64_t *key)
{
	struct map_place found;

	for (uint32_t i = 0; i < TRIES; i++) {
		struct map_entry *e;
		uint64_t hash;

		if (!least_above(h, m, bucket, after, &found))
			continue;
		if (!found.index)
			return 0;
		e = entry_of(h, m, found.index);
		hash = word_load(&e->hash);
		if (read_key(m, e, found.number, key))
			return hash;
	}
	return 0;
}

uint64_t inside_map_next(struct hit *h, const struct map_shape *m, uint64_t after, uint64_t *key)
{
	uint64_t found = 0;

	for (uint64_t b = after & (m->bucket_count - 1); b < m->bucket_count && !found; b++) {
		found = next_in(h, m, b, after, key);
		after = 0;
	}
	return found;
}

/* ---- for the tracer */

bool inside_find(struct hit *h, const struct map_shape *m, const uint64_t *key, uint64_t *index,
		 uint64_t *number)
{
	struct chain_search s;

	look(&s, h, m, key);
	*index = s.index;
	*number = s.number;
	return s.index != 0;
}

void inside_map_zero(struct hit *h, const struct map_shape *m, const uint64_t *key)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		struct chain_search s;

		look(&s, h, m, key);
		if (!s.index)
			return;
		if (m->is_single ? renew_single(&s, true) : chain_replace(&s, 0, NULL) != AGAIN)
			return;
	}
}

void inside_map_keep(struct hit *h, const struct map_shape *m, const uint64_t *key)
{
	enum result r = AGAIN;
	struct chain_search s;

	chain_search(&s, h, m, key);
	while (r == AGAIN && chain_find_clean(&s) && !s.index)
		r = s.asleep && m->is_word ? chain_wake(&s, 0) : chain_insert(&s, 0, NULL);
}
