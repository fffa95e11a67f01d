/* The chains of a map's keys, and the entries that are in none: see inside_chain.h. */
#include "user/inside/inside_chain.h"

#include "program/numbers.h"
#include "user/inside/words.h"

#define STEPS	    (1u << 22) /* entries looked at in one operation */
#define SWEEPS	    64u
#define CROWD_TRIES 64u	  /* looks for a key that another thread may be inserting */
#define FEW	    1024  /* keys in a map */
#define REST_MOST   1024u /* entries that are asleep and put down at once */
#define LOOK_AGAIN  32u	  /* entries after which to look whether the search is still good */

static void copy_words(uint64_t *to, const uint64_t *from, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		word_store(&to[i], word_load(&from[i]));
}

bool chain_reach(struct chain_search *s, uint64_t index)
{
	if (is_mapped_entry(s->h, s->m, index))
		return true;
	if (index >= s->m->entry_count)
		return false;
	s->is_beyond = !inside_grow(s->h, s->m, index);
	return !s->is_beyond;
}

/* ---- searching */

void chain_search(struct chain_search *s, struct hit *h, const struct map_shape *m,
		  const uint64_t *key)
{
	s->h = h;
	s->m = m;
	s->key = key;
	s->tries = TRIES;
	s->steps = STEPS;
	s->crowded = 0;
	s->is_beyond = false;
	s->hash = key_hash(m, key);
	s->bucket = bucket_of(h, m, s->hash);
}

/* May the walk go to another entry? Now and then it looks whether it is still in its chain. */
static bool may_step(struct chain_search *s)
{
	if (!s->steps)
		return false;
	s->steps--;
	return s->steps % LOOK_AGAIN || word_load(s->bucket) == s->head;
}

/* Walk the chain once; false when it changed meanwhile. */
static bool walk(struct chain_search *s)
{
	uint64_t next;

	s->head = word_acquire(s->bucket);
	s->saw_dead = s->is_beyond = false;
	s->index = s->asleep = 0;
	for (next = s->head & LINK_NEXT; next && chain_reach(s, next) && may_step(s);
	     next = s->link & LINK_NEXT) {
		struct map_entry *e = entry_of(s->h, s->m, next);

		s->link = word_acquire(&e->link);
		if (link_is_gone(s->link)) {
			s->saw_dead = true;
		} else if (word_load(&e->hash) == s->hash && key_is_of(s->m, e, s->key)) {
			s->number = word_load(&e->number);
			*(s->link & LINK_DEAD ? &s->asleep : &s->index) = next;
			break;
		}
	}
	fence_loads();
	return word_load(s->bucket) == s->head;
}

bool chain_find(struct chain_search *s)
{
	while (s->tries && s->steps) {
		bool is_right = walk(s);

		s->tries--;
		if (is_right && !s->is_beyond)
			return true;
		if (is_right)
			break;
	}
	s->index = s->asleep = 0;
	return false;
}

struct map_entry *chain_found(const struct chain_search *s)
{
	return entry_of(s->h, s->m, s->index);
}

/* ---- entries that are in no chain: lists of them, each linked by `link`, and those never used */

static uint64_t *free_list(const struct chain_search *s, uint32_t number)
{
	return word_at(s->h, s->m->free_at + (uint64_t)CACHE_LINE * number);
}

/* 0: the list is empty. */
static uint64_t pop(struct chain_search *s, uint64_t *list)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t top = word_acquire(list), index = top & LINK_NEXT, next;

		if (!index || !chain_reach(s, index))
			return 0;
		next = word_load(&entry_of(s->h, s->m, index)->link) & LINK_NEXT;
		if (word_swap(list, top, ((top & ~LINK_NEXT) + HEAD_VERSION) | next))
			return index;
	}
	return 0;
}

static uint64_t take_fresh(struct chain_search *s)
{
	uint64_t *fresh = word_at(s->h, s->m->fresh_at);

	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t index = word_load(fresh);

		if (!index || !chain_reach(s, index))
			return 0;
		if (word_swap(fresh, index, index + 1))
			return index;
	}
	return 0;
}

/* An entry that is the caller's alone; 0: there is none. */
static uint64_t take_entry(struct chain_search *s)
{
	uint32_t lists = s->m->free_lists, first = hit_cpu(s->h) & (lists - 1);
	uint64_t index = pop(s, free_list(s, first));

	if (!index)
		index = take_fresh(s);
	for (uint32_t i = 1; !index && i < lists; i++)
		index = pop(s, free_list(s, (first + i) & (lists - 1)));
	return index;
}

/* Give an entry back that is in no chain; the version of its bucket has gone up since it was in
 * one. */
static void give_entry(struct chain_search *s, uint64_t index)
{
	struct map_entry *e = entry_of(s->h, s->m, index);
	uint64_t *list = free_list(s, hit_cpu(s->h) & (s->m->free_lists - 1));

	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t top = word_load(list), link = word_load(&e->link);

		word_store(&e->link, ((link & ~(LINK_VERSION - 1)) + LINK_VERSION) | LINK_DEAD |
					     (top & LINK_NEXT));
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
static bool take_out(struct chain_search *s, struct step *at, uint64_t link)
{
	uint64_t index = at->value & LINK_NEXT, now;
	bool is_first = at->word == s->bucket, is_same;
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
	/* If another thread changes the bucket's word first, that raises its version, too; and then
	 * what comes next may be in another chain by now. */
	now = word_acquire(s->bucket);
	is_same = now == s->head;
	s->head = now + HEAD_VERSION;
	is_same &= word_swap(s->bucket, now, s->head);
	give_entry(s, index);
	return is_same;
}

/* Take out the dead entries of a chain. False: it changed. */
static bool sweep_once(struct chain_search *s)
{
	struct step at = {.word = s->bucket};

	s->head = at.value = word_acquire(s->bucket);
	while (at.value & LINK_NEXT && chain_reach(s, at.value & LINK_NEXT)) {
		struct map_entry *e = entry_of(s->h, s->m, at.value & LINK_NEXT);
		uint64_t link = word_acquire(&e->link);

		if (!may_step(s))
			return false;
		if (!link_is_gone(link))
			at = (struct step){&e->link, link};
		else if (!take_out(s, &at, link))
			return false;
	}
	return true;
}

/* What the search found is no longer known afterwards. */
static void sweep(struct chain_search *s)
{
	for (uint32_t i = 0; i < SWEEPS; i++)
		if (sweep_once(s))
			return;
}

bool chain_find_clean(struct chain_search *s)
{
	if (!chain_find(s))
		return false;
	if (!s->saw_dead)
		return true;
	sweep(s);
	return chain_find(s);
}

/* ---- new keys */

static void fill(struct chain_search *s, struct map_entry *e, uint64_t word, const uint64_t *value)
{
	uint64_t number = word_load(&e->number) + 1;

	fence_stores();
	word_release(&e->number, number ? number : 1);
	fence_stores();
	word_store(&e->hash, s->hash);
	word_store(&e->value, word);
	if (s->m->key_words)
		copy_words(e->words, s->key, key_used(s->m, s->key));
	if (value)
		copy_words(value_of(s->m, e), value,
			   form_words(s->m->value_form, s->m->value_words, value[0]));
	else if (!s->m->is_word && !s->m->cell_words)
		inside_zero(value_of(s->m, e), s->m->value_words);
	s->number = word_load(&e->number);
}

/* The link of an entry that is about to be in a chain. `more`: LINK_STAYS, or 0. */
static uint64_t new_link(struct map_entry *e, uint64_t next, uint64_t more)
{
	uint64_t version = word_load(&e->link) & ~(LINK_VERSION - 1);
	uint64_t link = (version + LINK_VERSION) | more | next;

	word_release(&e->link, link);
	return link;
}

/* One key, one on its way in, one on its way out: what they add to the word at used_at. Keys are at
 * the top: one may be removed before it was counted. */
#define KEY_SHIFT 36
#define IN_SHIFT  18
#define A_KEY	  (UINT64_C(1) << KEY_SHIFT)
#define A_KEY_IN  (UINT64_C(1) << IN_SHIFT)
#define A_KEY_OUT UINT64_C(1)
#define MANY	  (A_KEY_IN - 1)

static uint64_t count_keys(const struct chain_search *s, uint64_t what)
{
	return word_add(word_at(s->h, s->m->used_at), what);
}

/* Is the map full even without the keys that are on their way in or out? */
static bool is_full(const struct chain_search *s, uint64_t used)
{
	int64_t keys = (int64_t)used >> KEY_SHIFT;

	return keys - (int64_t)(used & MANY) >= (int64_t)s->m->max_entries;
}

/* Is there room for one more key, which is then counted as on its way in? */
static enum result may_insert(struct chain_search *s)
{
	uint64_t used = count_keys(s, A_KEY_IN);
	int64_t keys = (int64_t)used >> KEY_SHIFT;

	if (keys + (int64_t)(used >> IN_SHIFT & MANY) < (int64_t)s->m->max_entries)
		return DONE;
	if (!is_full(s, used)) {
		if (s->crowded++ >= CROWD_TRIES)
			return DONE;
		count_keys(s, -A_KEY_IN);
		return AGAIN;
	}
	count_keys(s, -A_KEY_IN);
	/* The key that came last may have been this one. */
	return word_acquire(s->bucket) == s->head ? FULL : AGAIN;
}

/* ---- entries that are asleep */

/* The word at rest_at: something fell asleep; a number of a look for what is asleep; the number of
 * the last look, which found nothing. */
#define NEWS	       UINT64_C(1)
#define LOOKING	       UINT64_C(2)
#define IS_KNOWN(word) (!((word) & (NEWS | LOOKING)))

/* May the key's entry fall asleep? Not in a map that is nearly full; and in one of many keys only
 * if this key has come back once. */
static bool may_sleep(const struct hit *h, const struct map_shape *m, uint64_t link)
{
	int64_t keys = (int64_t)word_load(word_at(h, m->used_at)) >> KEY_SHIFT;

	return m->is_word && keys < (int64_t)(m->max_entries - m->max_entries / 8) &&
	       (keys < FEW || link & LINK_STAYS);
}

/* ORDER: it is asleep before the word at rest_at is looked at, and rest() reads or writes that
 * before it looks for what is asleep. So one of the two sees the other; a thread that is stopped
 * between the two steps here may keep one other key out until it goes on. */
bool chain_sleep(const struct hit *h, const struct map_shape *m, struct map_entry *e, uint64_t link)
{
	uint64_t *word = word_at(h, m->rest_at);

	if (!may_sleep(h, m, link) ||
	    !word_swap(&e->link, link, (link + LINK_VERSION) | LINK_DEAD | LINK_STAYS))
		return false;
	fence_after_swap();
	if (word_load(word) != NEWS)
		word_store(word, NEWS);
	return true;
}

/* Make an entry that is asleep as dead as others. */
static bool put_down(struct chain_search *s, struct map_entry *e, uint64_t link)
{
	bool done;

	count_keys(s, A_KEY_OUT);
	done = word_swap(&e->link, link, (link & ~LINK_STAYS) + LINK_VERSION);
	count_keys(s, done ? -A_KEY - A_KEY_OUT : -A_KEY_OUT);
	return done;
}

/* ... all of one chain. False: the chain changed, and one may not have been seen. */
static bool put_down_once(struct chain_search *s, uint32_t *count)
{
	uint64_t next, link;

	s->head = word_acquire(s->bucket);
	s->is_beyond = false;
	for (next = s->head & LINK_NEXT; next && chain_reach(s, next); next = link & LINK_NEXT) {
		struct map_entry *e = entry_of(s->h, s->m, next);

		if (!may_step(s))
			return false;
		link = word_acquire(&e->link);
		if (link_is_asleep(link))
			*count += put_down(s, e, link);
	}
	if (s->is_beyond) { /* the entry may be asleep, and is not mapped here */
		s->tries = 0;
		return false;
	}
	fence_loads();
	return word_load(s->bucket) == s->head;
}

static bool put_down_chain(struct chain_search *s, uint32_t *count)
{
	uint32_t before = *count;
	bool done = false;

	for (uint32_t i = 0; i < SWEEPS && !done; i++)
		done = put_down_once(s, count);
	if (*count != before)
		sweep(s);
	return done;
}

/* The number of a look for what is asleep: a new one if something fell asleep since the last began;
 * 0: nothing is asleep, or another thread has only just begun. */
static uint64_t begin_rest(uint64_t *word)
{
	uint64_t number = word_acquire(word), mine = read_tsc() << 2 | LOOKING;

	if (number != NEWS)
		return IS_KNOWN(number) ? 0 : number;
	return word_swap(word, number, mine) ? mine : 0;
}

/* The map is full: put down what is asleep. What falls asleep writes NEWS, and who looks for it a
 * number that was never there: if that is still there when all chains were seen and nothing was
 * found, there is nothing. */
static void rest(struct chain_search *s)
{
	uint64_t *word = word_at(s->h, s->m->rest_at), *bucket = s->bucket;
	uint64_t *first = word_at(s->h, s->m->buckets_at), number = begin_rest(word);
	uint32_t found = 0;
	bool all = true;

	if (!number)
		return;
	fence_after_swap();
	for (uint32_t i = 0; i < s->m->bucket_count && found < REST_MOST && all; i++) {
		s->bucket = first + ((s->hash + i) & (s->m->bucket_count - 1));
		all = put_down_chain(s, &found) && s->steps;
		s->steps -= s->steps != 0;
	}
	s->bucket = bucket;
	if (all && !found)
		word_swap(word, number, number & ~LOOKING);
}

bool chain_set(struct map_entry *e, uint64_t link, uint64_t word)
{
	uint64_t awake = link & LINK_DEAD ? (link & ~LINK_DEAD) + LINK_VERSION : link;

	return pair_swap(&e->link, link, word_load(&e->value), awake, word);
}

enum result chain_wake(struct chain_search *s, uint64_t word)
{
	return chain_set(entry_of(s->h, s->m, s->asleep), s->link, word) ? DONE : AGAIN;
}

/* ---- changing a chain */

static enum result insert(struct chain_search *s, uint64_t word, const uint64_t *value)
{
	enum result r = may_insert(s);
	uint64_t index, head, more = 0;
	struct map_entry *e;

	if (r != DONE)
		return r;
	index = take_entry(s);
	if (!index) {
		count_keys(s, -A_KEY_IN);
		return FULL;
	}
	e = entry_of(s->h, s->m, index);
	if (s->m->is_word && word_load(&e->hash) == s->hash && key_is_of(s->m, e, s->key))
		more = LINK_STAYS;
	fill(s, e, word, value);
	s->link = new_link(e, s->head & LINK_NEXT, more);
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

enum result chain_insert(struct chain_search *s, uint64_t word, const uint64_t *value)
{
	const uint64_t *rest_word = word_at(s->h, s->m->rest_at);
	uint64_t before = word_acquire(rest_word);
	enum result r = insert(s, word, value);

	if (r != FULL || s->is_beyond)
		return r;
	/* The map is full when nothing was asleep before, nor fell asleep until it was found
	 * full. */
	if (IS_KNOWN(before) && word_acquire(rest_word) == before)
		return r;
	rest(s);
	return AGAIN;
}

enum result chain_replace(struct chain_search *s, uint64_t word, const uint64_t *value)
{
	uint64_t index = take_entry(s), next = s->link & LINK_NEXT;
	struct map_entry *e;

	if (!index)
		return FULL;
	e = entry_of(s->h, s->m, index);
	fill(s, e, word, value);
	new_link(e, next, 0);
	if (word_swap(&chain_found(s)->link, s->link,
		      ((s->link & ~(LINK_VERSION - 1)) + LINK_VERSION) | LINK_DEAD | index)) {
		sweep(s);
		return DONE;
	}
	give_entry(s, index);
	return AGAIN;
}

enum result chain_take(struct chain_search *s, uint64_t word, bool stays)
{
	uint64_t link = ((s->link & ~LINK_STAYS) + LINK_VERSION) | LINK_DEAD;

	count_keys(s, A_KEY_OUT);
	if (!pair_swap(&chain_found(s)->link, s->link, word, stays ? link | LINK_STAYS : link,
		       word)) {
		count_keys(s, -A_KEY_OUT);
		return AGAIN;
	}
	count_keys(s, -A_KEY - A_KEY_OUT);
	if (!stays)
		sweep(s);
	return DONE;
}

void chain_release(struct chain_search *s)
{
	struct map_entry *e = chain_found(s);
	uint64_t link;

	word_store(&e->number, s->number + 1);
	fence_stores();
	for (uint32_t i = 0; i < TRIES; i++) {
		link = word_acquire(&e->link);
		if (word_swap(&e->link, link, (link & ~LINK_STAYS) + LINK_VERSION))
			break;
	}
	s->steps = STEPS;
	sweep(s);
}

enum result chain_remove(struct chain_search *s)
{
	uint64_t link = ((s->link & ~LINK_STAYS) + LINK_VERSION) | LINK_DEAD;

	if (chain_sleep(s->h, s->m, chain_found(s), s->link))
		return DONE;
	count_keys(s, A_KEY_OUT);
	if (!word_swap(&chain_found(s)->link, s->link, link)) {
		count_keys(s, -A_KEY_OUT);
		return AGAIN;
	}
	count_keys(s, -A_KEY - A_KEY_OUT);
	sweep(s);
	return DONE;
}
