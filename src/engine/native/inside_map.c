/* Maps in shared memory: chains of entries, changed by compare-and-exchange alone. layout.h draws
 * them. What makes it right, each with the place that keeps it:
 *
 * - A key is in a chain at most once. Entries are inserted only at the head of a chain, by
 * exchanging the bucket's word, whose version changes with every insertion; so an insertion fails
 * when another came since the chain was searched, and searches again. (insert)
 * - A search is right if the bucket's word is the same before and after it. An entry that was taken
 *   out of a chain is used again only after the version of its bucket has gone up, so a
 *   thread that walked over it, perhaps into another chain, finds that out and searches again.
 * (find, sweep)
 * - A link never has the same value twice: every change raises its version. So an exchange of a
 *   link, alone or together with the value beside it, happens only if nothing changed since it was
 *   read, in particular its entry still has that key and is not dead. (change, insert, sweep)
 * - An entry is dead from one exchange of its link on, and dead links never change until the entry
 *   is used again. Every thread that finds a dead entry takes it out, and none waits for
 *   the thread that made it dead, which may have been killed. (sweep)
 * - A value of several words is never changed: an entry with the new value takes the place of the
 *   old one, by the exchange that makes the old one dead and points it to the new one. (replace)
 * - A word of an aggregate lies beside the number of its entry's use, and they are exchanged
 *   together. So a late addition to an entry that is gone changes nothing that counts. (take_in)
 *
 * Each retry means that another thread has got on. Retries are counted all the same: memory that a
 * hostile process keeps changing must not keep the tracer here.
 *
 * - One word counts the keys, those on their way in and those on their way out. The map is full
 * when it is even without these. While it is not known, the thread searches again: those on their
 * way in may be the same key, or give up. After a while it goes ahead, since they may have been
 *   killed. (may_insert)
 *
 * A thread that is killed between two of its steps may cost an entry, of which there are more than
 * keys; never a wrong value.
 */
#include "engine/native/inside.h"

#include "engine/native/words.h"
#include "program/numbers.h"
#include "program/record.h"

#define TRIES	    (1u << 14) /* searches in one operation */
#define VALUE_TRIES (1u << 20)
#define STEPS	    (1u << 22) /* entries looked at in one operation */
#define SWEEPS	    64u
#define CROWD_TRIES 64u /* looks for a key that another thread may be inserting */
#define LOOK_AGAIN  32u /* entries after which to look whether the search is still good */

/* ---- words, entries */

static uint64_t *word_at(const struct hit *h, uint64_t at)
{
	return (uint64_t *)(void *)(h->base + at);
}

static struct map_entry *entry_of(const struct hit *h, const struct map_shape *m, uint64_t index)
{
	return (struct map_entry *)(void *)(h->base + map_entry_at(m, index));
}

static uint64_t *key_of(struct map_entry *e)
{
	return e->words;
}

static uint64_t *value_of(const struct map_shape *m, struct map_entry *e)
{
	return e->words + m->key_words;
}

static uint32_t key_used(const struct map_shape *m, const uint64_t *key)
{
	return m->key_words ? form_words(m->key_form, m->key_words, word_load(key)) : 0;
}

static void copy_words(uint64_t *to, const uint64_t *from, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		word_store(&to[i], word_load(&from[i]));
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t low, high;

	multiply(a, b, &low, &high);
	return low ^ high;
}

static uint64_t hash_key(const struct map_shape *m, const uint64_t *key)
{
	uint64_t hash = m->seed;
	uint32_t used = key_used(m, key);

	for (uint32_t i = 0; i < used; i++)
		hash = mix(hash ^ key[i], UINT64_C(0x9e3779b97f4a7c15));
	return hash ^ hash >> 29;
}

static bool has_key(const struct map_shape *m, struct map_entry *e, const uint64_t *key)
{
	uint32_t used = key_used(m, key);

	for (uint32_t i = 0; i < used; i++)
		if (word_load(&key_of(e)[i]) != key[i])
			return false;
	return true;
}

/* ---- searching */

/* One operation on a key, and what the last search found. */
struct search {
	struct hit *h;
	const struct map_shape *m;
	const uint64_t *key;
	uint64_t hash;
	uint64_t *bucket;
	uint64_t head;	 /* the bucket's word that the search is right for */
	uint64_t index;	 /* of the entry; 0: the key is not there */
	uint64_t link;	 /* of the entry */
	uint64_t number; /* of its use */
	bool saw_dead;
	uint32_t tries, steps; /* that are left */
	uint32_t crowded;      /* times there was no room because of keys on their way */
};

static struct search search_for(struct hit *h, const struct map_shape *m, const uint64_t *key)
{
	struct search s = {.h = h, .m = m, .key = key, .tries = TRIES, .steps = STEPS};

	s.hash = hash_key(m, key);
	s.bucket = word_at(h, m->buckets_at) + (s.hash & (m->bucket_count - 1));
	return s;
}

/* May the walk go to another entry? Now and then it looks whether it is still in its chain. */
static bool may_step(struct search *s)
{
	if (!s->steps)
		return false;
	s->steps--;
	return s->steps % LOOK_AGAIN || word_load(s->bucket) == s->head;
}

/* Walk the chain once; false when it changed meanwhile. */
static bool walk(struct search *s)
{
	uint64_t next;

	s->head = word_acquire(s->bucket);
	s->saw_dead = false;
	s->index = 0;
	for (next = s->head & LINK_NEXT; next && next < s->m->entry_count && may_step(s);
	     next = s->link & LINK_NEXT) {
		struct map_entry *e = entry_of(s->h, s->m, next);

		s->link = word_acquire(&e->link);
		if (s->link & LINK_DEAD) {
			s->saw_dead = true;
		} else if (word_load(&e->hash) == s->hash && has_key(s->m, e, s->key)) {
			s->number = word_load(&e->number);
			s->index = next;
			break;
		}
	}
	fence_loads();
	return word_load(s->bucket) == s->head;
}

/* Search until the result is right. False: it never was, see TRIES. */
static bool find(struct search *s)
{
	while (s->tries && s->steps) {
		s->tries--;
		if (walk(s))
			return true;
	}
	s->index = 0;
	return false;
}

static struct map_entry *found(const struct search *s)
{
	return entry_of(s->h, s->m, s->index);
}

/* ---- entries that are in no chain: lists of them, each linked by `link`, and those never used */

static uint64_t *free_list(const struct search *s, uint32_t number)
{
	return word_at(s->h, s->m->free_at + (uint64_t)CACHE_LINE * number);
}

/* 0: the list is empty. */
static uint64_t pop(struct search *s, uint64_t *list)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t top = word_acquire(list), index = top & LINK_NEXT, next;

		if (!index || index >= s->m->entry_count)
			return 0;
		next = word_load(&entry_of(s->h, s->m, index)->link) & LINK_NEXT;
		if (word_swap(list, top, ((top & ~LINK_NEXT) + HEAD_VERSION) | next))
			return index;
	}
	return 0;
}

static uint64_t take_fresh(const struct search *s)
{
	uint64_t *fresh = word_at(s->h, s->m->fresh_at);

	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t index = word_load(fresh);

		if (!index || index >= s->m->entry_count)
			return 0;
		if (word_swap(fresh, index, index + 1))
			return index;
	}
	return 0;
}

/* An entry that is the caller's alone; 0: there is none. */
static uint64_t take_entry(struct search *s)
{
	uint32_t lists = s->m->free_lists, first = this_cpu() & (lists - 1);
	uint64_t index = pop(s, free_list(s, first));

	if (!index)
		index = take_fresh(s);
	for (uint32_t i = 1; !index && i < lists; i++)
		index = pop(s, free_list(s, (first + i) & (lists - 1)));
	return index;
}

/* Give an entry back that is in no chain; the version of its bucket has gone up since it was in
 * one. */
static void give_entry(struct search *s, uint64_t index)
{
	struct map_entry *e = entry_of(s->h, s->m, index);
	uint64_t *list = free_list(s, this_cpu() & (s->m->free_lists - 1));

	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t top = word_load(list), link = word_load(&e->link);

		word_store(&e->link, ((link & ~(LINK_NEXT | LINK_DEAD)) + LINK_VERSION) |
					     LINK_DEAD | (top & LINK_NEXT));
		if (word_swap(list, top, ((top & ~LINK_NEXT) + HEAD_VERSION) | index))
			return;
	}
}

/* ---- taking dead entries out of a chain */

/* Where a chain is being walked: the word that leads to the entry, and its value. */
struct step {
	uint64_t *word;
	uint64_t value;
};

/* Take out the entry that `at` leads to, whose link is `link`. False: something changed. */
static bool take_out(struct search *s, struct step *at, uint64_t link)
{
	uint64_t index = at->value & LINK_NEXT, now;
	bool is_first = at->word == s->bucket;
	uint64_t version = is_first ? HEAD_VERSION : LINK_VERSION;
	uint64_t value = ((at->value & ~LINK_NEXT) + version) | (link & LINK_NEXT);

	/* The chain is still that of this bucket, so `at` is a part of it. */
	fence_loads();
	if (word_load(s->bucket) != s->head || !word_swap(at->word, at->value, value))
		return false;
	at->value = value;
	if (is_first) {
		s->head = value;
		give_entry(s, index);
		return true;
	}
	/* If another thread changes the bucket's word first, that raises its version, too. */
	now = word_acquire(s->bucket);
	s->head = now + HEAD_VERSION;
	is_first = word_swap(s->bucket, now, s->head);
	give_entry(s, index);
	return is_first;
}

/* Take out the dead entries of a chain. False: it changed. */
static bool sweep_once(struct search *s)
{
	struct step at = {.word = s->bucket};

	s->head = at.value = word_acquire(s->bucket);
	while (at.value & LINK_NEXT && (at.value & LINK_NEXT) < s->m->entry_count) {
		struct map_entry *e = entry_of(s->h, s->m, at.value & LINK_NEXT);
		uint64_t link = word_acquire(&e->link);

		if (!may_step(s))
			return false;
		if (!(link & LINK_DEAD))
			at = (struct step){&e->link, link};
		else if (!take_out(s, &at, link))
			return false;
	}
	return true;
}

/* What the search found is no longer known afterwards. */
static void sweep(struct search *s)
{
	for (uint32_t i = 0; i < SWEEPS; i++)
		if (sweep_once(s))
			return;
}

/* Search for a key before changing it. */
static bool find_clean(struct search *s)
{
	if (!find(s))
		return false;
	if (!s->saw_dead)
		return true;
	sweep(s);
	return find(s);
}

/* ---- changing a chain */

static void fill(struct search *s, struct map_entry *e, uint64_t word, const uint64_t *value)
{
	uint64_t number = word_load(&e->number) + 1;

	fence_stores();
	word_release(&e->number, number ? number : 1);
	fence_stores();
	word_store(&e->hash, s->hash);
	word_store(&e->value, word);
	if (s->m->key_words)
		copy_words(key_of(e), s->key, key_used(s->m, s->key));
	if (value)
		copy_words(value_of(s->m, e), value,
			   form_words(s->m->value_form, s->m->value_words, value[0]));
	else if (!s->m->is_word && !s->m->cell_words)
		inside_zero(value_of(s->m, e), s->m->value_words);
	s->number = word_load(&e->number);
}

/* The link of an entry that is about to be in a chain. */
static uint64_t new_link(struct map_entry *e, uint64_t next)
{
	uint64_t link = ((word_load(&e->link) & ~(LINK_NEXT | LINK_DEAD)) + LINK_VERSION) | next;

	word_release(&e->link, link);
	return link;
}

enum result {
	DONE,
	AGAIN, /* it changed since the search */
	FULL,
};

/* One key, one on its way in, one on its way out: what they add to the word at used_at. Keys are at
 * the top: one may be removed before it was counted. */
#define KEY_SHIFT 36
#define IN_SHIFT  18
#define A_KEY	  (UINT64_C(1) << KEY_SHIFT)
#define A_KEY_IN  (UINT64_C(1) << IN_SHIFT)
#define A_KEY_OUT UINT64_C(1)
#define MANY	  (A_KEY_IN - 1)

static uint64_t count_keys(const struct search *s, uint64_t what)
{
	return word_add(word_at(s->h, s->m->used_at), what);
}

/* Is there room for one more key, which is then counted as on its way in? */
static enum result may_insert(struct search *s)
{
	uint64_t used = count_keys(s, A_KEY_IN);
	int64_t keys = (int64_t)used >> KEY_SHIFT, most = s->m->max_entries;

	if (keys + (int64_t)(used >> IN_SHIFT & MANY) < most)
		return DONE;
	if (keys - (int64_t)(used & MANY) < most) {
		if (s->crowded++ == CROWD_TRIES)
			return DONE;
		count_keys(s, -A_KEY_IN);
		return AGAIN;
	}
	count_keys(s, -A_KEY_IN);
	/* It may have been this key that came last. */
	return word_acquire(s->bucket) == s->head ? FULL : AGAIN;
}

/* Insert the key that a search did not find. DONE: s->index is its entry. */
static enum result insert(struct search *s, uint64_t word, const uint64_t *value)
{
	enum result r = may_insert(s);
	uint64_t index, head;
	struct map_entry *e;

	if (r != DONE)
		return r;
	index = take_entry(s);
	if (!index) {
		count_keys(s, -A_KEY_IN);
		return FULL;
	}
	e = entry_of(s->h, s->m, index);
	fill(s, e, word, value);
	s->link = new_link(e, s->head & LINK_NEXT);
	head = ((s->head & ~LINK_NEXT) + HEAD_VERSION) | index;
	if (word_swap(s->bucket, s->head, head)) {
		count_keys(s, A_KEY - A_KEY_IN);
		s->head = head;
		s->index = index;
		return DONE;
	}
	give_entry(s, index);
	count_keys(s, -A_KEY_IN);
	return AGAIN;
}

/* Put an entry with this value in the place of the one that was found; without a value, as a new
 * key has. */
static enum result replace(struct search *s, uint64_t word, const uint64_t *value)
{
	uint64_t index = take_entry(s), next = s->link & LINK_NEXT;
	struct map_entry *e;

	if (!index)
		return FULL;
	e = entry_of(s->h, s->m, index);
	fill(s, e, word, value);
	new_link(e, next);
	if (word_swap(&found(s)->link, s->link,
		      ((s->link & ~LINK_NEXT) + LINK_VERSION) | LINK_DEAD | index)) {
		sweep(s);
		return DONE;
	}
	give_entry(s, index);
	return AGAIN;
}

/* Remove the key that was found. */
static enum result remove_found(struct search *s)
{
	count_keys(s, A_KEY_OUT);
	if (!word_swap(&found(s)->link, s->link, (s->link + LINK_VERSION) | LINK_DEAD)) {
		count_keys(s, -A_KEY_OUT);
		return AGAIN;
	}
	count_keys(s, -A_KEY - A_KEY_OUT);
	sweep(s);
	return DONE;
}

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
	bool less = m->is_signed ? (int64_t)a < (int64_t)b : a < b;

	switch (m->kind) {
	case TYPE_MIN: return less ? a : b;
	case TYPE_MAX: return less ? b : a;
	case TYPE_BIT_OR: return a | b;
	default: return a + b;
	}
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

static uint32_t my_stripe(const struct map_shape *m)
{
	return m->rseq_stripes + (this_cpu() & (m->stripes - m->rseq_stripes - 1));
}

static enum result take_in(struct search *s, uint64_t value)
{
	const struct map_shape *m = s->m;
	struct map_cell *cells =
		(struct map_cell *)(void *)(s->h->base + map_cell_at(m, my_stripe(m), s->index));
	enum result r;

	switch (m->kind) {
	case TYPE_COUNT: return take_in_cell(m, cells, s->number, 1);
	case TYPE_AVG:
	case TYPE_STATS:
		r = take_in_cell(m, &cells[0], s->number, 1);
		return r == DONE ? take_in_cell(m, &cells[1], s->number, value) : r;
	case TYPE_HIST:
		cells += hist_bucket(value, m->is_signed, m->bits);
		return take_in_cell(m, cells, s->number, 1);
	case TYPE_LHIST:
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
static uint64_t read_aggregate(const struct search *s)
{
	const struct map_shape *m = s->m;
	uint64_t first, total;

	merge(s->h, m, s->index, s->number, 0, &first);
	if (m->kind != TYPE_AVG || !first)
		return first;
	merge(s->h, m, s->index, s->number, 1, &total);
	return m->is_signed ? (uint64_t)((int64_t)total / (int64_t)first) : total / first;
}

/* ---- maps without keys that are one entry */

/* Look at the only entry; index is 0 when there is nothing in it. */
static struct search look_single(struct hit *h, const struct map_shape *m)
{
	struct search s = {.h = h, .m = m};

	s.link = s.number = word_acquire(&entry_of(h, m, 1)->link);
	s.index = s.link & LINK_DEAD ? 0 : 1;
	return s;
}

/* A new link of the only entry; true: this call changed it. */
static bool renew_single(struct search *s, bool is_there)
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
	for (uint32_t i = 0; i < VALUE_TRIES; i++) {
		struct search s = look_single(h, m);

		if (!s.index && !renew_single(&s, true))
			continue;
		if (take_in(&s, value) != AGAIN)
			return;
	}
}

/* ---- operations */

static void count_full(struct hit *h, uint64_t span)
{
	struct shared_stats *stats = (struct shared_stats *)(void *)(h->base + h->layout->stats_at);

	word_add(&stats->lost_updates, 1);
	inside_fault(h, span, FAULT_MAP_FULL);
}

static struct search look(struct hit *h, const struct map_shape *m, const uint64_t *key)
{
	struct search s;

	if (m->is_single)
		return look_single(h, m);
	s = search_for(h, m, key);
	find(&s);
	return s;
}

/* A word read between two looks at its link belongs to that use of the entry. */
static bool read_word(const struct search *s, uint64_t *out)
{
	struct map_entry *e = found(s);

	*out = word_acquire(&e->value);
	return word_load(&e->link) == s->link;
}

uint64_t inside_map_get(struct hit *h, const struct map_shape *m, const uint64_t *key)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < TRIES; i++) {
		struct search s = look(h, m, key);

		if (!s.index)
			return 0;
		if (!m->is_word)
			return read_aggregate(&s);
		if (read_word(&s, &value))
			return value;
	}
	return value;
}

/* All of the value of use `number` of an entry. False: the entry is used anew. */
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
		struct search s = look(h, m, key);

		if (!s.index)
			break;
		if (read_value(m, found(&s), s.number, out))
			return;
	}
	inside_zero(out, m->value_words);
}

/* Insert or change, whichever it takes. */
static uint64_t change_key(struct hit *h, const struct map_shape *m, const uint64_t *key,
			   enum change how, uint64_t value, uint64_t span)
{
	struct search s = search_for(h, m, key);
	uint64_t before = 0;
	enum result r = AGAIN;

	while (r != FULL && find_clean(&s)) {
		before = 0;
		if (s.index)
			r = change(found(&s), s.link, how, value, &before);
		else
			r = insert(&s, value, NULL);
		if (r == DONE)
			return before;
	}
	count_full(h, span);
	return 0;
}

void inside_map_set(struct hit *h, const struct map_shape *m, const uint64_t *key, uint64_t value,
		    uint64_t span)
{
	uint64_t before;

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
	struct search s = search_for(h, m, key);
	enum result r = AGAIN;

	while (r != FULL && find_clean(&s)) {
		r = s.index ? replace(&s, 0, value) : insert(&s, 0, value);
		if (r == DONE)
			return;
	}
	count_full(h, span);
}

uint64_t inside_map_del(struct hit *h, const struct map_shape *m, const uint64_t *key)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		struct search s = look(h, m, key);

		if (!s.index)
			return 0;
		if (m->is_single ? renew_single(&s, false) : remove_found(&s) == DONE)
			return 1;
	}
	return 0;
}

uint64_t inside_map_has(struct hit *h, const struct map_shape *m, const uint64_t *key)
{
	return look(h, m, key).index != 0;
}

void inside_aggregate(struct hit *h, const struct map_shape *m, const uint64_t *key, uint64_t value,
		      uint64_t span)
{
	struct search s;
	enum result r = AGAIN;

	if (m->is_single) {
		aggregate_single(h, m, value);
		return;
	}
	s = search_for(h, m, key);
	while (r != FULL && find_clean(&s)) {
		r = DONE;
		if (!s.index)
			r = insert(&s, 0, NULL);
		if (r == DONE)
			r = take_in(&s, value);
		if (r == DONE)
			return;
	}
	count_full(h, span);
}

struct map_place inside_map_place(struct hit *h, const struct map_shape *m, const uint64_t *key,
				  uint64_t span)
{
	struct search s = search_for(h, m, key);
	enum result r = AGAIN;

	while (r != FULL && find_clean(&s)) {
		r = s.index ? DONE : insert(&s, 0, NULL);
		if (r == DONE)
			return (struct map_place){s.index, s.number};
	}
	count_full(h, span);
	return (struct map_place){0, 0};
}

/* Values of a bucket, from all stripes. */
static uint64_t in_bucket(const struct search *s, uint32_t bucket)
{
	uint64_t count;

	merge(s->h, s->m, s->index, s->number, bucket, &count);
	return count;
}

uint64_t inside_percentile(struct hit *h, const struct map_shape *m, const uint64_t *key,
			   uint64_t millionths)
{
	struct search s = look(h, m, key);
	uint64_t total = 0, seen = 0, rank;
	uint32_t bucket = 0;

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
	return m->kind == TYPE_HIST ? middle_of_hist(bucket, m->bits)
				    : middle_of_lhist(bucket, m->min, m->max, m->step);
}

/* ---- for the tracer */

bool inside_find(struct hit *h, const struct map_shape *m, const uint64_t *key, uint64_t *index,
		 uint64_t *number)
{
	struct search s = look(h, m, key);

	*index = s.index;
	*number = s.number;
	return s.index != 0;
}

void inside_map_zero(struct hit *h, const struct map_shape *m, const uint64_t *key)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		struct search s = look(h, m, key);

		if (!s.index)
			return;
		if (m->is_single ? renew_single(&s, true) : replace(&s, 0, NULL) != AGAIN)
			return;
	}
}
