/* Reading the rings. Nothing that the target wrote is believed: positions and sizes are checked
 * against the tracer's own, a record is copied before its fields are read, and a ring with nonsense
 * in it is given up to its end.
 *
 * Records come out in the order of their time. A drain first reads the clock and then where each
 * ring ends: whatever happened before a record that it takes was in its ring by then. Records with
 * a later time than that stay for the next round, so the order holds from one round to the next.
 * "Then" is SETTLE_NS later: a CPU takes the time of an event while its stores of the event before
 * are not yet visible to others. If the second event is in another ring than the first, it could
 * otherwise be found alone.
 * A record that is not finished is left for later: as long as its thread is at the probe, nothing
 * that follows from it can have been recorded.
 *
 * Its thread may have left it for good: by a jump out of a signal handler. That looks
 * like a handler that takes long. So a record that holds up others, because half of the ring has
 * passed since or too many are not finished, is given up. One exchange of its mark decides whether
 * it counts as lost, or its writer was quicker. */
#include "user/memory/store.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "user/inside/words.h"

#define ONE_DRAIN   (1 << 16) /* records after which a drain returns */
#define ROUNDS	    4	      /* of one drain, for what came meanwhile */
#define GIVE_BACK   8	      /* a ring is given back in this many parts */
#define MISSED_MOST 64	      /* control records made from one count, in one drain */
#define SETTLE_NS   50000     /* until a store is seen by all CPUs; up to 2,700 were measured */

/* One drain on its way. */
struct drain {
	struct native_store *s;
	uint64_t settle;  /* SETTLE_NS in ticks */
	uint64_t now;	  /* TSC when the round began */
	uint64_t horizon; /* TSC: later records are for the next round */
	record_fn *fn;
	void *arg;
	is_alive_fn *is_alive;
	void *alive_arg;
	int given;
	bool is_beginning; /* of a round: the time to ask which threads are alive */
	bool is_young;	   /* it left a record that is only a little later than the horizon */
};

static struct ring_head *ring_head(const struct native_store *s, uint32_t ring)
{
	return (struct ring_head *)(void *)(s->base + ring_at(&s->layout, ring));
}

static char *ring_bytes(const struct native_store *s, uint32_t ring, uint64_t position)
{
	return s->base + ring_data(&s->layout, ring) +
	       (position & (ring_size(&s->layout, ring) - 1));
}

static uint64_t until_end(const struct native_store *s, uint32_t ring, uint64_t position)
{
	uint64_t size = ring_size(&s->layout, ring);

	return size - (position & (size - 1));
}

/* Give back what was read. */
static void set_tail(struct native_store *s, uint32_t ring)
{
	const struct ring_cursor *c = &s->rings[ring];
	uint64_t tail = c->late_count ? c->late[0] : c->tail;

	if (word_load(&ring_head(s, ring)->tail) != tail)
		word_release(&ring_head(s, ring)->tail, tail);
}

/* What is between tail and head makes no sense: go on after it. */
static void give_up(struct native_store *s, uint32_t ring)
{
	struct ring_cursor *c = &s->rings[ring];

	s->damaged++;
	c->late_count = 0;
	c->head -= c->head % GRANULE;
	c->tail = c->head;
	set_tail(s, ring);
}

/* ---- the next record of a ring */

enum next {
	NEXT_RECORD, /* c->record */
	NEXT_SKIP,   /* c->step bytes to skip */
	NEXT_LATE,   /* c->step bytes in which there will be a record */
	NEXT_NONE,
	NEXT_BAD,
};

/* The record of `len` bytes at a position; these are within the ring. */
static enum next look_at_record(struct native_store *s, uint32_t ring, uint64_t at, uint64_t len)
{
	struct ring_cursor *c = &s->rings[ring];
	const char *bytes = ring_bytes(s, ring, at);
	const uint64_t *words = (const uint64_t *)(const void *)bytes;

	if (len < sizeof(struct ring_record) + sizeof(struct record_head))
		return NEXT_BAD;
	c->tsc = word_load(&words[1]);
	c->record = str_of(bytes + sizeof(struct ring_record), len - sizeof(struct ring_record));
	return NEXT_RECORD;
}

/* Rings of CPUs: what is below `head` is complete. */
static enum next next_of_cpu(struct native_store *s, uint32_t ring)
{
	struct ring_cursor *c = &s->rings[ring];
	uint64_t word, most = c->head - c->tail, left = until_end(s, ring, c->tail);

	if (!most)
		return NEXT_NONE;
	word = word_load((const uint64_t *)(const void *)ring_bytes(s, ring, c->tail));
	c->step = (uint32_t)word;
	if (!c->step || c->step % 8 || c->step > most || c->step > left)
		return NEXT_BAD;
	return word >> 32 & RING_PAD ? NEXT_SKIP : look_at_record(s, ring, c->tail, c->step);
}

static uint64_t *mark_at(const struct native_store *s, uint32_t ring, uint64_t position)
{
	char *marks = s->base + ring_at(&s->layout, ring) + LAYOUT_PAGE;

	return (uint64_t *)(void *)marks + (position & (s->layout.shared_size - 1)) / GRANULE;
}

/* A record is not finished. Is it waited for? */
static bool is_waited_for(const struct drain *d, uint32_t ring, uint64_t at, uint64_t mark)
{
	uint32_t thread =
		mark >> MARK_THREAD_SHIFT & ((1u << (MARK_LAP_SHIFT - MARK_THREAD_SHIFT)) - 1);

	if (d->s->is_ending || d->s->rings[ring].tail - at > d->s->layout.shared_size / 2)
		return false;
	return !d->is_beginning || !thread || !d->is_alive || d->is_alive(d->alive_arg, thread);
}

/* Count a record that is not finished as lost. False: it has just been finished. */
static bool lose_record(struct native_store *s, uint32_t ring, uint64_t at)
{
	uint64_t *word = mark_at(s, ring, at), mark = word_load(word);

	if ((mark & 3) != MARK_BUSY || !word_swap(word, mark, mark | MARK_PAD))
		return false;
	s->unfinished++;
	return true;
}

/* Is a record, or its copy, what its writer put at this position? */
static bool is_whole(const char *bytes, uint64_t at, uint64_t len)
{
	const uint64_t *words = (const uint64_t *)(const void *)bytes;
	uint64_t sum = ring_check(at, len);

	for (uint64_t i = 1; i < len / 8; i++)
		sum = ring_check(sum, word_load(&words[i]));
	return word_load(&words[0]) == (len | sum << 32);
}

/* A writer that came late has left something else there. */
static enum next lose_spoilt(struct native_store *s)
{
	s->unfinished++;
	return NEXT_SKIP;
}

/* The other rings: each record has a mark. */
static enum next next_of_shared(const struct drain *d, uint32_t ring, uint64_t at)
{
	struct native_store *s = d->s;
	struct ring_cursor *c = &s->rings[ring];
	uint64_t mark = word_acquire(mark_at(s, ring, at));
	uint64_t lap = (at / s->layout.shared_size + 1) << MARK_LAP_SHIFT;

	if ((mark & UINT64_MAX << MARK_LAP_SHIFT) != lap)
		return c->head == at ? NEXT_NONE : NEXT_BAD;
	c->step = (mark >> 2 & MARK_GRANULES) * GRANULE;
	if (!c->step || c->step > until_end(s, ring, at))
		return NEXT_BAD;
	switch (mark & 3) {
	case MARK_PAD: return NEXT_SKIP;
	case MARK_BUSY:
		if (is_waited_for(d, ring, at, mark))
			return NEXT_LATE;
		if (lose_record(s, ring, at))
			return NEXT_SKIP;
		word_acquire(mark_at(s, ring, at)); /* its writer was quicker */
		break;
	case MARK_DONE: break;
	default: return NEXT_BAD;
	}
	mark = word_load((const uint64_t *)(const void *)ring_bytes(s, ring, at));
	if ((uint32_t)mark % 8 || (uint32_t)mark > c->step ||
	    look_at_record(s, ring, at, (uint32_t)mark) != NEXT_RECORD)
		return lose_spoilt(s);
	/* The record's time, too, may be something else: one that never comes. */
	if (c->tsc > d->horizon && !is_whole(ring_bytes(s, ring, at), at, (uint32_t)mark))
		return lose_spoilt(s);
	return NEXT_RECORD;
}

/* The owner of the record at the tail may not have moved `head` over it yet. */
static void help_owner(struct native_store *s, uint32_t ring)
{
	struct ring_cursor *c = &s->rings[ring];
	uint64_t *head = &ring_head(s, ring)->head;

	if (word_load(head) == c->tail)
		word_swap(head, c->tail, c->tail + c->step);
	if (c->head - c->tail < c->step)
		c->head = c->tail + c->step;
}

static void drop_late(struct ring_cursor *c, uint32_t number)
{
	c->late_count--;
	for (uint32_t i = number; i < c->late_count; i++)
		c->late[i] = c->late[i + 1];
}

/* Has a late record been finished? */
static bool find_late(const struct drain *d, uint32_t ring)
{
	struct ring_cursor *c = &d->s->rings[ring];

	for (uint32_t i = 0; i < c->late_count;) {
		switch (next_of_shared(d, ring, c->late[i])) {
		case NEXT_LATE: i++; break;
		case NEXT_RECORD: c->taken = i; return true;
		default: drop_late(c, i); break;
		}
	}
	return false;
}

static enum next next_at_tail(const struct drain *d, uint32_t ring)
{
	struct native_store *s = d->s;
	struct ring_cursor *c = &s->rings[ring];
	enum next next;

	if (ring < s->layout.cpus)
		return next_of_cpu(s, ring);
	next = next_of_shared(d, ring, c->tail);
	if (next == NEXT_LATE && c->late_count == RING_LATE) {
		if (!lose_record(s, ring, c->late[0]))
			return NEXT_NONE; /* the next round takes it */
		drop_late(c, 0);
	}
	if (next != NEXT_NONE && next != NEXT_BAD)
		help_owner(s, ring);
	return next;
}

static bool is_for_this_round(struct drain *d, uint64_t tsc)
{
	d->is_young |= tsc > d->horizon && tsc <= d->now;
	return tsc <= d->horizon;
}

/* Find the next record of a ring; false: there is none in this round. */
static bool find_record(struct drain *d, uint32_t ring)
{
	struct native_store *s = d->s;
	struct ring_cursor *c = &s->rings[ring];

	if (find_late(d, ring))
		return is_for_this_round(d, c->tsc);
	c->taken = RING_LATE;
	for (;;) {
		switch (next_at_tail(d, ring)) {
		case NEXT_RECORD: return is_for_this_round(d, c->tsc);
		case NEXT_LATE: c->late[c->late_count++] = c->tail; break;
		case NEXT_SKIP: break;
		case NEXT_BAD: give_up(s, ring); return false;
		case NEXT_NONE: return false;
		}
		c->tail += c->step;
	}
}

/* ---- which ring has the oldest record: a heap */

static bool is_before(const struct native_store *s, uint32_t a, uint32_t b)
{
	return s->rings[s->heap[a]].tsc < s->rings[s->heap[b]].tsc;
}

static void swap_rings(struct native_store *s, uint32_t a, uint32_t b)
{
	uint32_t ring = s->heap[a];

	s->heap[a] = s->heap[b];
	s->heap[b] = ring;
}

static void heap_add(struct native_store *s, uint32_t ring)
{
	uint32_t at = s->heap_count++;

	s->heap[at] = ring;
	for (; at && is_before(s, at, (at - 1) / 2); at = (at - 1) / 2)
		swap_rings(s, at, (at - 1) / 2);
}

/* The first ring has another record now. */
static void heap_sink(struct native_store *s)
{
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < s->heap_count) {
		if (child + 1 < s->heap_count && is_before(s, child + 1, child))
			child++;
		if (!is_before(s, child, at))
			return;
		swap_rings(s, at, child);
		at = child;
	}
}

static void heap_drop(struct native_store *s)
{
	s->heap[0] = s->heap[--s->heap_count];
	heap_sink(s);
}

/* ---- a round */

/* The clock, read after all loads before it and before all after it. */
static uint64_t ordered_tsc(void)
{
	uint64_t tsc;

#if defined(__x86_64__)
	__asm__ volatile("lfence" ::: "memory");
	tsc = read_tsc();
	__asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
	/* A record with the same tick may come after. */
	__asm__ volatile("dsb ish" ::: "memory");
	tsc = read_tsc() - 1;
	__asm__ volatile("isb" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	tsc = read_tsc();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
	return tsc;
}

static void begin_round(struct drain *d)
{
	struct native_store *s = d->s;

	d->is_young = false;
	s->heap_count = 0;
	for (uint32_t i = 0; i < ring_count(&s->layout); i++) {
		struct ring_cursor *c = &s->rings[i];

		c->head = word_acquire(&ring_head(s, i)->head);
		if (c->head - c->tail > ring_size(&s->layout, i) ||
		    c->head % (i < s->layout.cpus ? 8 : GRANULE))
			give_up(s, i);
	}
	d->is_beginning = true;
	for (uint32_t i = 0; i < ring_count(&s->layout); i++)
		if (find_record(d, i))
			heap_add(s, i);
	d->is_beginning = false;
}

/* Hand over the record of the first ring. */
static int give_record(struct drain *d)
{
	struct native_store *s = d->s;
	uint32_t ring = s->heap[0];
	struct ring_cursor *c = &s->rings[ring];
	uint64_t before = c->tail, part = ring_size(&s->layout, ring) / GIVE_BACK;
	uint64_t len = c->record.len + sizeof(struct ring_record);
	uint64_t at = c->taken < RING_LATE ? c->late[c->taken] : before;
	struct ring_record head;
	int err = 0;

	if (array_reserve(s->bounce, s->bounce_size, len))
		return -ENOMEM;
	memcpy(s->bounce, c->record.ptr - sizeof(struct ring_record), len);
	d->given++;
	if (c->taken < RING_LATE)
		drop_late(c, c->taken);
	else
		c->tail += c->step;
	memcpy(&head, s->bounce, sizeof(head));
	s->time = clock_line_ns(&s->clock.line, head.tsc);
	if (ring < s->layout.cpus || is_whole(s->bounce, at, len))
		err = d->fn(d->arg, str_of(s->bounce + sizeof(struct ring_record),
					   len - sizeof(struct ring_record)));
	else
		lose_spoilt(s);
	if (c->tail / part != before / part)
		set_tail(s, ring);
	if (find_record(d, ring))
		heap_sink(s);
	else
		heap_drop(s);
	return err;
}

static int take_round(struct drain *d)
{
	struct native_store *s = d->s;
	int err = 0;

	begin_round(d);
	while (s->heap_count && !err && d->given < ONE_DRAIN)
		err = give_record(d);
	for (uint32_t i = 0; i < ring_count(&s->layout); i++)
		set_tail(s, i);
	return err;
}

static int drain_round(struct drain *d)
{
	d->now = ordered_tsc();
	d->horizon = d->now - d->settle;
	return take_round(d);
}

/* Take what the last round found too young, too. */
static int drain_young(struct drain *d)
{
	while (ordered_tsc() - d->now < d->settle)
		usleep(SETTLE_NS / 1000);
	d->horizon = d->now;
	return take_round(d);
}

/* Control records that found no room are only counted: make them from the counts. */
static int give_missed(struct drain *d)
{
	struct native_store *s = d->s;
	uint64_t *counts = (uint64_t *)(void *)(s->base + s->layout.missed_at);
	int err = 0;

	for (uint32_t i = 0; i < s->layout.format_count && i < s->program->format_count; i++) {
		uint64_t count = word_load(&counts[i]);
		struct record_head head = {.size = sizeof(head), .format = (uint16_t)i};

		if (!count || !format_is_control(&s->program->formats[i]))
			continue;
		if (count > MISSED_MOST)
			count = MISSED_MOST;
		word_add(&counts[i], -count);
		for (; count && !err; count--, d->given++)
			err = d->fn(d->arg, str_of((const char *)&head, sizeof(head)));
	}
	return err;
}

/* Frames of threads that were killed are free. */
static void free_frames(const struct drain *d)
{
	const struct layout *l = &d->s->layout;
	char *at = d->s->base + l->scratch_at;

	for (uint32_t i = 0; d->is_alive && i < l->scratch_count; i++) {
		struct scratch_head *f = (struct scratch_head *)(void *)at;
		uint64_t thread = word_load(&f->thread);

		if (thread && thread <= UINT32_MAX && !d->is_alive(d->alive_arg, (uint32_t)thread))
			word_swap(&f->thread, thread, 0);
		at += sizeof(*f) + l->scratch_size;
	}
}

int native_ring_drain(struct native_store *s, record_fn *fn, void *arg, is_alive_fn *is_alive,
		      void *alive_arg)
{
	struct drain d = {.s = s,
			  .settle = clock_line_ticks(&s->clock.line, SETTLE_NS),
			  .fn = fn,
			  .arg = arg,
			  .is_alive = is_alive,
			  .alive_arg = alive_arg};
	int err = 0, before = -1;

	for (int i = 0; i < ROUNDS && !err && d.given != before && d.given < ONE_DRAIN; i++) {
		before = d.given;
		err = drain_round(&d);
	}
	if (!err && d.is_young && d.given < ONE_DRAIN)
		err = drain_young(&d);
	s->time = 0;
	if (!err)
		err = give_missed(&d);
	free_frames(&d);
	return err ? err : d.given;
}

void native_ring_end(struct native_store *s)
{
	s->is_ending = true;
}
