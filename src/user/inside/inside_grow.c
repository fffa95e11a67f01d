/* Mapping more of a map, from inside the traced process. The pieces of the map are parts of the
 * shared memory that have free addresses after them, so they become larger where they are:
 * mremap(2) needs no descriptor for that.
 *
 * The kept page says how many chunks are mapped; there may be more for a moment, since another
 * thread has just grown a piece, or the process is a child of fork that began between the two. */
#include "user/inside/inside.h"

#include "user/inside/words.h"

#define TRIES	  64u
#define NO_MEMORY (-12) /* ENOMEM, and EAGAIN: the kernel could not make it larger */
#define NOT_NOW	  (-11)
/* More than there is room for after any address of ours, so nothing is ever mapped. */
#define TOO_MUCH UINT64_C(0x7fff00000000)

static int64_t resize(const struct hit *h, uint64_t at, uint64_t from, uint64_t to)
{
	return inside_call(h, CALL_MREMAP, (uintptr_t)h->base + at, from, to, 0, 0);
}

/* The kernel looks first whether all of the old size is one mapping (EFAULT), and then whether it
 * can grow. */
static bool is_mapped(const struct hit *h, uint64_t at, uint64_t size)
{
	int64_t done = resize(h, at, size, TOO_MUCH);

	return done == NO_MEMORY || done == NOT_NOW;
}

static bool grow_piece(const struct hit *h, uint64_t at, uint64_t from, uint64_t to)
{
	return from >= to || resize(h, at, from, to) >= 0 || is_mapped(h, at, to);
}

/* False: another thread has done it. */
static bool note_chunks(uint32_t *chunks, uint64_t from, uint64_t to)
{
	uint32_t old = (uint32_t)from;

	return __atomic_compare_exchange_n(chunks, &old, (uint32_t)to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

bool inside_grow(struct hit *h, const struct map_shape *m, uint64_t index)
{
	uint32_t *chunks = &h->kept->chunks[m->number];

	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t from = __atomic_load_n(chunks, __ATOMIC_ACQUIRE);
		uint64_t to = map_next_chunks(m, from);

		if (index >> m->chunk_shift < from)
			return true;
		if (!grow_piece(h, m->entries_at, map_entries_size(m, from),
				map_entries_size(m, to)) ||
		    !grow_piece(h, m->cells_at, map_cells_size(m, from), map_cells_size(m, to)))
			return false;
		note_chunks(chunks, from, to);
	}
	return false;
}
