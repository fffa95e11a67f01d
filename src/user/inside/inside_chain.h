/* Maps in shared memory: chains of entries, changed by compare-and-exchange alone. layout.h draws
 * them. What makes it right, each with the place that keeps it:
 *
 * - A key is in a chain at most once. Entries are inserted only at the head of a chain, by
 *   exchanging the bucket's word, whose version changes with every insertion; so an insertion fails
 *   when another came since the chain was searched, and searches again. (chain_insert)
 * - A search is right if the bucket's word is the same before and after it. An entry that was taken
 *   out of a chain is used again only after the version of its bucket has gone up, so a
 *   thread that walked over it, perhaps into another chain, finds that out and searches again.
 *   (chain_find, chain_first, sweep)
 * - A link never has the same value twice: every change raises its version. So an exchange of a
 *   link, alone or together with the value beside it, happens only if nothing changed since it was
 *   read, in particular its entry still has that key and is not dead. (change, chain_insert, sweep)
 * - An entry is dead from one exchange of its link on, and dead links never change until the entry
 *   is used again. Every thread that finds a dead entry takes it out, and none waits for
 *   the thread that made it dead, which may have been killed. (sweep)
 * - Keys that come and go, as those of threads do, keep their entry: it stays in its chain when it
 *   is deleted, asleep, in maps of few keys. In others only if the key was deleted before and then
 *   inserted again, with no other between on its CPU. To wake it is one exchange of its link and
 *   value, and to delete it one of its link. It keeps its key, and while it is there no thread
 *   inserts that. Before it is taken out, one exchange of its link makes it as dead as others: from
 *   then on no thread can wake it. That happens when the map is full: entries that are asleep count
 *   as keys until then, and none falls asleep in a map that is nearly full. (chain_wake,
 *   chain_remove, rest)
 * - A value of several words is never changed: an entry with the new value takes the place of the
 *   old one, by the exchange that makes the old one dead and points it to the new one.
 *   (chain_replace)
 * - The tracer takes a map of aggregates key by key. An entry that it has taken is dead and stays,
 *   so no thread uses it again; the key is inserted again in front of it. When the tracer has read
 *   its cells, it makes it as dead as others. (chain_take, chain_release)
 * - A word of an aggregate lies beside the number of its entry's use, and they are exchanged
 *   together. So a late addition to an entry that is gone changes nothing that counts. (take_in)
 *
 * Each retry means that another thread has got on. Retries are counted all the same: memory that a
 * hostile process keeps changing must not keep the tracer here.
 *
 * - One word counts the keys, those on their way in and those on their way out. The map is full
 *   when it is even without these. While it is not known, the thread searches again: those on their
 *   way in may be the same key, or give up. After a while it goes ahead, since they may have been
 *   killed. (may_insert)
 *
 * A thread that is killed between two of its steps may cost an entry, of which there are more than
 * keys; never a wrong value.
 */
#ifndef NOPAL_USER_INSIDE_INSIDE_CHAIN_H
#define NOPAL_USER_INSIDE_INSIDE_CHAIN_H

#include "user/inside/inside.h"
#include "user/inside/inside_key.h"
#include "user/inside/words.h"

#define TRIES (1u << 14) /* searches in one operation */

static inline uint64_t *word_at(const struct hit *h, uint64_t at)
{
	return (uint64_t *)(void *)(h->base + at);
}

/* The CPU that this thread ran on just now, or any other: it only spreads threads. To read it where
 * the kernel writes it is 14 ns faster than to ask the CPU. */
static inline uint32_t hit_cpu(const struct hit *h)
{
	return h->rseq ? *(volatile uint32_t *)(void *)(h->rseq + 4) : this_cpu();
}

static inline struct map_entry *entry_of(const struct hit *h, const struct map_shape *m,
					 uint64_t index)
{
	return (struct map_entry *)(void *)(h->base + map_entry_at(m, index));
}

static inline uint64_t *value_of(const struct map_shape *m, struct map_entry *e)
{
	return e->words + m->key_words;
}

static inline uint64_t *bucket_of(const struct hit *h, const struct map_shape *m, uint64_t hash)
{
	return word_at(h, m->buckets_at) + (hash & (m->bucket_count - 1));
}

/* Is the entry in memory that this process has mapped? */
static inline bool is_mapped_entry(const struct hit *h, const struct map_shape *m, uint64_t index)
{
	return index < m->entry_count &&
	       index >> m->chunk_shift <
		       __atomic_load_n(&h->kept->chunks[m->number], __ATOMIC_RELAXED);
}

/* Does the link say that the entry's key was deleted, and that the entry stays ... */
static inline bool link_is_asleep(uint64_t link)
{
	return (link & (LINK_DEAD | LINK_STAYS)) == (LINK_DEAD | LINK_STAYS);
}

/* ... or that another thread may take it out? */
static inline bool link_is_gone(uint64_t link)
{
	return (link & (LINK_DEAD | LINK_STAYS)) == LINK_DEAD;
}

/* The first entry of a chain, alive or asleep, when it is that of the key. */
struct first {
	struct map_entry *entry;      /* NULL: search for the key */
	uint64_t index, link, number; /* as in struct chain_search */
};

/* Most keys are the first of their chain. This is a search of one step, which is here so that it
 * becomes a part of the operations, all of it in registers. */
static inline __attribute__((always_inline)) struct first chain_first(const struct hit *h,
								      const struct map_shape *m,
								      const uint64_t *key)
{
	struct first f = {NULL, 0, 0, 0}, none = f;
	uint64_t hash, head, *bucket;

	if (!m->key_words)
		return none;
	hash = key_hash(m, key);
	bucket = bucket_of(h, m, hash);
	head = word_acquire(bucket);
	f.index = head & LINK_NEXT;
	if (!f.index || !is_mapped_entry(h, m, f.index))
		return none;
	f.entry = entry_of(h, m, f.index);
	f.link = word_acquire(&f.entry->link);
	if (link_is_gone(f.link) || word_load(&f.entry->hash) != hash ||
	    !key_is_of(m, f.entry, key))
		return none;
	f.number = word_load(&f.entry->number);
	fence_loads();
	return word_load(bucket) == head ? f : none;
}

/* Give an entry, alive or asleep, this value; it lives then. False: its link is another by now. */
bool chain_set(struct map_entry *e, uint64_t link, uint64_t word);
/* Let the entry of a key that is removed fall asleep. False: its link is another, or it must die.
 */
bool chain_sleep(const struct hit *h, const struct map_shape *m, struct map_entry *e,
		 uint64_t link);

/* One operation on a key, and what the last search found. */
struct chain_search {
	struct hit *h;
	const struct map_shape *m;
	const uint64_t *key;
	uint64_t hash;
	uint64_t *bucket;
	uint64_t head;	       /* the bucket's word that the search is right for */
	uint64_t index;	       /* of the entry; 0: the key is not there */
	uint64_t link;	       /* of the entry, or of the one that is asleep */
	uint64_t number;       /* of its use */
	uint64_t asleep;       /* the key's entry, dead, which stays; 0: there is none */
	bool saw_dead;	       /* entries that do not stay */
	bool is_beyond;	       /* an entry that it came to cannot be mapped in this process */
	uint32_t tries, steps; /* that are left */
	uint32_t crowded;      /* times there was no room because of keys on their way */
};

enum result {
	DONE,
	AGAIN, /* it changed since the search */
	FULL,
};

/* Begin an operation. */
void chain_search(struct chain_search *s, struct hit *h, const struct map_shape *m,
		  const uint64_t *key);
/* Search until the result is right. False: it never was, see TRIES. */
bool chain_find(struct chain_search *s);
/* ... before changing the key: no dead entry is left in the chain. */
bool chain_find_clean(struct chain_search *s);
struct map_entry *chain_found(const struct chain_search *s);
/* May the entry with this index be read? If not, there is none, or s->is_beyond. */
bool chain_reach(struct chain_search *s, uint64_t index);

/* Let the entry that was found asleep live again, with this value. */
enum result chain_wake(struct chain_search *s, uint64_t word);
/* Insert the key that a search did not find, not asleep either. DONE: s->index is its entry. */
enum result chain_insert(struct chain_search *s, uint64_t word, const uint64_t *value);
/* Put an entry with this value in the place of the one that was found; without a value, as a new
 * key has. */
enum result chain_replace(struct chain_search *s, uint64_t word, const uint64_t *value);
/* Remove the key that was found. */
enum result chain_remove(struct chain_search *s);
/* ... if its word is `word`, or its value no word. If the entry stays, it is in its chain, dead,
 * until chain_release(). */
enum result chain_take(struct chain_search *s, uint64_t word, bool stays);
/* The cells of the entry that was taken are of a use after its own by now. */
void chain_release(struct chain_search *s);

#endif
