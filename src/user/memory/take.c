/* Taking a map: every entry is given and removed, or its value becomes 0, and each event is either
 * in what was given or in what comes next. Programs do for this nothing that they do not do anyway:
 *
 * - A word is exchanged together with its entry's link; so is the link of a longer value, which
 *   never changes while the link is the same.
 * - A cell that is only changed by exchanging it is exchanged, too, one after the other.
 * - Cells of CPUs are added to without that. Those of a map without keys stay what they are, and
 *   what was given is subtracted from then on. Those of a key are sealed: the key's entry is dead,
 *   and each of its cells gets the number after its own, so that a thread that still comes to it
 * goes and inserts the key again. A sequence that had already compared the number may still add to
 * the cell, or store its own number once more. It is over when every CPU has done something else
 * twice, because a thread that is interrupted by another begins its sequence again. Then what is in
 * the cells is all there will ever be. */
#include "user/memory/take.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "program/numbers.h"
#include "user/inside/inside_chain.h"
#include "user/memory/maps.h"

#define CELL_TRIES    (1u << 16)
#define SEAL_ROUNDS   16u
#define SLOW_GRACE_MS 20

static struct map_cell *cell_at(const struct native_store *s, const struct map_shape *m,
				uint32_t stripe, uint64_t index, uint32_t word)
{
	return (struct map_cell *)(void *)(s->base + map_cell_at(m, stripe, index)) + word;
}

/* Join a cell's value to word `i` of an aggregate as type.h lays it out. */
static void add_cell(const struct map_shape *m, uint64_t *words, uint32_t i, uint64_t value,
		     bool *is_set)
{
	words[i] = *is_set ? join_words(m->join, m->is_signed, words[i], value) : value;
	*is_set = true;
	if (join_has_first(m->join))
		words[1] = 1;
}

/* ---- maps without keys */

/* Is what was given subtracted? Else the cells are exchanged. */
static bool has_base(const struct map_shape *m)
{
	return m->join == JOIN_ADD && m->rseq_stripes;
}

bool native_taken_rest(const struct native_store *s, uint32_t map, uint64_t number, uint64_t *words)
{
	const struct taken *t = &s->taken[map];
	bool any = false;

	if (t->number != number)
		return true;
	for (uint32_t i = 0; i < s->shapes[map].value_words; i++) {
		words[i] -= t->base ? t->base[i] : 0;
		any |= words[i] != 0;
	}
	return any || t->keeps_key;
}

static void exchange_cell(const struct map_shape *m, struct map_cell *cell, uint64_t number,
			  uint64_t *words, uint32_t i, bool *is_set)
{
	for (uint32_t n = 0; n < CELL_TRIES; n++) {
		uint64_t of = word_acquire(&cell->number), value = word_load(&cell->value);

		if (of != number)
			return;
		if (!pair_swap(&cell->value, value, of, 0, 0))
			continue;
		add_cell(m, words, i, value, is_set);
		return;
	}
}

static void exchange_cells(const struct native_store *s, const struct map_shape *m, uint64_t number,
			   uint64_t *words)
{
	memset(words, 0, 8 * (size_t)m->value_words);
	for (uint32_t i = 0; i < m->cell_words; i++) {
		bool is_set = false;

		for (uint32_t stripe = m->rseq_stripes; stripe < m->stripes; stripe++)
			exchange_cell(m, cell_at(s, m, stripe, 1, i), number, words, i, &is_set);
	}
}

/* Aggregates; `words` is the value as it was read, without a base. */
static int take_single_cells(struct native_store *s, uint32_t map, enum format_take what,
			     uint64_t *words, map_entry_fn *fn, void *arg)
{
	const struct map_shape *m = &s->shapes[map];
	struct taken *t = &s->taken[map];
	uint64_t link = word_acquire(&entry_of(&s->hit, m, 1)->link);
	uint64_t *base = has_base(m) ? malloc(8 * (size_t)m->value_words) : NULL;
	bool gives;
	int err = 0;

	if (has_base(m) && !base)
		return -ENOMEM;
	if (link & LINK_DEAD) {
		free(base);
		return 0;
	}
	if (base) {
		table_copy_cells(s, m, 1, link, words);
		memcpy(base, words, 8 * (size_t)m->value_words);
	} else {
		exchange_cells(s, m, link, words);
	}
	gives = native_taken_rest(s, map, link, words);
	if (gives)
		err = fn(arg, str_of("", 0), str_of((char *)words, 8 * (size_t)m->value_words));
	free(t->base);
	*t = (struct taken){
		.number = link, .base = base, .keeps_key = gives && what == TAKE_VALUES};
	return err;
}

/* A number: it is exchanged, and the entry is dead, or not. */
static int take_single_word(struct native_store *s, const struct map_shape *m,
			    enum format_take what, map_entry_fn *fn, void *arg)
{
	struct map_entry *e = entry_of(&s->hit, m, 1);
	uint64_t dead = what == TAKE_ENTRIES ? LINK_DEAD : 0;

	for (uint32_t i = 0; i < CELL_TRIES; i++) {
		uint64_t link = word_acquire(&e->link), value = word_load(&e->value);

		if (link & LINK_DEAD)
			return 0;
		if (pair_swap(&e->link, link, value, (link + LINK_VERSION) | dead, 0))
			return fn(arg, str_of("", 0), str_of((char *)&value, sizeof(value)));
	}
	return -EPROTO;
}

static int take_single(struct native_store *s, uint32_t map, enum format_take what,
		       map_entry_fn *fn, void *arg)
{
	const struct map_shape *m = &s->shapes[map];
	uint64_t *words;
	int err;

	if (m->is_word)
		return take_single_word(s, m, what, fn, arg);
	words = calloc(m->value_words, sizeof(*words));
	err = words ? take_single_cells(s, map, what, words, fn, arg) : -ENOMEM;
	free(words);
	return err;
}

/* ---- keys: those that there are now, each of which is taken once */

struct keys {
	uint64_t *words; /* owned; key_words of each */
	size_t count, room, each;
};

static int keep_key(void *arg, struct str key, struct str value)
{
	struct keys *k = arg;

	(void)value;
	if (array_reserve(k->words, k->room, (k->count + 1) * k->each + 1))
		return -ENOMEM;
	memcpy(k->words + k->count++ * k->each, key.ptr, 8 * k->each);
	return 0;
}

static int give(const struct map_shape *m, const uint64_t *key, const uint64_t *value,
		map_entry_fn *fn, void *arg)
{
	return fn(arg, str_of((const char *)key, 8 * (size_t)m->key_words),
		  str_of((const char *)value, 8 * (size_t)m->value_words));
}

/* Find the key and kill its entry. False: it is not there. */
static bool kill_key(struct chain_search *x, struct native_store *s, const struct map_shape *m,
		     const uint64_t *key, uint64_t *value, bool stays)
{
	chain_search(x, &s->hit, m, key);
	while (chain_find(x) && x->index) {
		const struct map_entry *e = chain_found(x);
		uint64_t word = word_load(&e->value);

		if (m->is_word)
			value[0] = word;
		else if (!m->cell_words)
			table_copy_value(m, e, value);
		if (chain_take(x, word, stays) == DONE)
			return true;
	}
	return false;
}

static int take_values(struct native_store *s, const struct map_shape *m, const struct keys *keys,
		       map_entry_fn *fn, void *arg)
{
	uint64_t *value = calloc(m->value_words + 1, sizeof(*value));
	int err = value ? 0 : -ENOMEM;

	for (size_t i = 0; i < keys->count && !err; i++) {
		const uint64_t *key = keys->words + i * keys->each;
		struct chain_search x;

		memset(value, 0, 8 * (size_t)m->value_words);
		if (kill_key(&x, s, m, key, value, false))
			err = give(m, key, value, fn, arg);
	}
	free(value);
	return err;
}

/* ---- cells of keys */

/* A key whose entry is dead and stays where it is until its cells are read. */
struct sealed {
	struct chain_search search;
	uint64_t number;
	bool *counts; /* of each cell, by stripe and word: it was that use's when it was sealed */
};

/* True: the cell was of this use until now. */
static bool seal_cell(struct map_cell *cell, uint64_t number, bool is_of_cpu)
{
	for (uint32_t i = 0; i < CELL_TRIES; i++) {
		uint64_t of = word_acquire(&cell->number), value = word_load(&cell->value);

		if (of > number)
			return false;
		if (is_of_cpu ? word_swap(&cell->number, of, number + 1)
			      : pair_swap(&cell->value, value, of, value, number + 1))
			return of == number;
	}
	return false;
}

/* How many cells of the first `stripes` were open. */
static uint32_t seal(const struct native_store *s, const struct map_shape *m, struct sealed *k,
		     uint32_t stripes)
{
	uint32_t opened = 0;

	for (uint32_t stripe = 0; stripe < stripes; stripe++)
		for (uint32_t i = 0; i < m->cell_words; i++) {
			struct map_cell *cell = cell_at(s, m, stripe, k->search.index, i);
			bool was = seal_cell(cell, k->number, stripe < m->rseq_stripes);

			k->counts[stripe * m->cell_words + i] |= was;
			opened += was;
		}
	return opened;
}

/* Twice: a thread that was interrupted in its sequence by no other thread goes on with it. */
static void wait_for_sequences(void)
{
	for (unsigned i = 0; i < 2; i++)
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
			poll(NULL, 0, SLOW_GRACE_MS);
}

/* Sequences that had begun may have opened a cell again. */
static void wait_until_sealed(const struct native_store *s, const struct map_shape *m,
			      struct sealed *keys, size_t count)
{
	uint32_t opened = 1;

	for (unsigned round = 0; opened && m->rseq_stripes && round < SEAL_ROUNDS; round++) {
		wait_for_sequences();
		opened = 0;
		for (size_t i = 0; i < count; i++)
			opened += seal(s, m, &keys[i], m->rseq_stripes);
	}
}

/* False: a thread had made the key, and nothing was taken in yet. That thread makes it again. */
static bool read_sealed(const struct native_store *s, const struct map_shape *m,
			const struct sealed *k, uint64_t *words)
{
	bool any = false;

	memset(words, 0, 8 * (size_t)m->value_words);
	for (uint32_t i = 0; i < m->cell_words; i++) {
		bool is_set = false;

		for (uint32_t stripe = 0; stripe < m->stripes; stripe++)
			if (k->counts[stripe * m->cell_words + i])
				add_cell(m, words, i,
					 word_load(
						 &cell_at(s, m, stripe, k->search.index, i)->value),
					 &is_set);
		any |= is_set;
	}
	return any;
}

/* Some keys at once. */
static int take_some(struct native_store *s, const struct map_shape *m, const uint64_t *first,
		     struct sealed *keys, size_t count, uint64_t *words, map_entry_fn *fn,
		     void *arg)
{
	bool keeps_keys = s->taken[m->number].keeps_key;
	size_t sealed = 0;
	int err = 0;

	for (size_t i = 0; i < count; i++) {
		struct sealed *k = &keys[sealed];

		if (!kill_key(&k->search, s, m, first + i * m->key_words, NULL, true))
			continue;
		k->number = k->search.number;
		memset(k->counts, 0, (size_t)m->stripes * m->cell_words);
		seal(s, m, k, m->stripes);
		sealed++;
	}
	if (sealed)
		wait_until_sealed(s, m, keys, sealed);
	for (size_t i = 0; i < sealed; i++) {
		struct sealed *k = &keys[i];
		bool has_value = read_sealed(s, m, k, words) || keeps_keys;

		chain_release(&k->search);
		if (has_value && !err)
			err = give(m, k->search.key, words, fn, arg);
	}
	return err;
}

/* How many keys to take at once: those that are inserted again meanwhile must find entries. */
static size_t batch_of(const struct map_shape *m, size_t keys)
{
	size_t most = (m->entry_count - 1 - m->max_entries) / 2;

	return keys < most ? keys + 1 : most;
}

static int take_cells(struct native_store *s, const struct map_shape *m, const struct keys *keys,
		      map_entry_fn *fn, void *arg)
{
	size_t most = batch_of(m, keys->count), cells = (size_t)m->stripes * m->cell_words;
	struct sealed *sealed = calloc(most, sizeof(*sealed));
	bool *counts = calloc(most, cells);
	uint64_t *words = calloc(m->value_words, sizeof(*words));
	int err = sealed && counts && words ? 0 : -ENOMEM;

	for (size_t i = 0; i < most && !err; i++)
		sealed[i].counts = counts + i * cells;
	for (size_t i = 0; i < keys->count && !err; i += most)
		err = take_some(s, m, keys->words + i * keys->each, sealed,
				keys->count - i < most ? keys->count - i : most, words, fn, arg);
	free(sealed);
	free(counts);
	free(words);
	return err;
}

int native_take(struct native_store *s, uint32_t map, enum format_take what, map_entry_fn *fn,
		void *arg)
{
	const struct map_shape *m = &s->shapes[map];
	struct map_store store = native_store_maps(s);
	struct keys keys = {.each = m->key_words};
	int err;

	if (m->is_single)
		return take_single(s, map, what, fn, arg);
	err = map_each(&store, map, keep_key, &keys);
	if (!err)
		err = (m->cell_words ? take_cells : take_values)(s, m, &keys, fn, arg);
	for (size_t i = 0; i < keys.count && !err && what == TAKE_VALUES; i++)
		inside_map_keep(&s->hit, m, keys.words + i * keys.each);
	if (what == TAKE_VALUES)
		s->taken[map].keeps_key = true;
	free(keys.words);
	return err;
}
