/* Pages of the shared memory, which the tracer makes before a traced process needs them: no probe
 * should meet them for the first time. And a page belongs to the memory cgroup of who makes it: a
 * program near the limit of its own would be ended for what the tracer counts. What cannot be made
 * now, or is needed sooner, is made by the thread that meets it. */
#include "user/memory/store.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "user/inside/words.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#define PRESENT_BYTES (UINT64_C(16) << 20) /* of all rings */
#define AHEAD_LEAST   (UINT64_C(1) << 20)  /* of a piece, beyond what is used */
#define AHEAD_MOST    (UINT64_C(8) << 20)

uint64_t native_store_first_pages(const struct native_store *s, uint32_t cpu, size_t *size)
{
	const struct layout *l = &s->layout;
	uint64_t most = PRESENT_BYTES / l->cpus & -(uint64_t)LAYOUT_PAGE;

	*size = l->ring_data < LAYOUT_PAGE ? 0 : most < l->ring_size ? most : l->ring_size;
	return ring_at(l, cpu) + l->ring_data;
}

static void make_ring_pages(const struct native_store *s)
{
	for (uint32_t cpu = 0; cpu < s->layout.cpus; cpu++) {
		size_t size;
		uint64_t at = native_store_first_pages(s, cpu, &size);

		madvise(s->base + at, size, MADV_POPULATE_WRITE);
	}
}

/* Make as many pages again as are used, within these bounds. */
static void make_piece(const struct native_store *s, struct native_piece *p, uint64_t used)
{
	uint64_t ahead = used < AHEAD_LEAST ? AHEAD_LEAST : used < AHEAD_MOST ? used : AHEAD_MOST;
	uint64_t want = used + ahead < p->most ? used + ahead : p->most;

	if (want <= p->made)
		return;
	fallocate(s->fd, FALLOC_FL_KEEP_SIZE, (off_t)(p->at + p->made), (off_t)(want - p->made));
	p->made = want;
}

static bool has_pieces(const struct native_store *s, uint32_t map)
{
	return s->pieces[map].entries.size && !s->pieces[map].is_later && !s->shapes[map].is_single;
}

/* Chunks with an entry that was ever used. */
static uint64_t used_chunks(const struct native_store *s, const struct map_shape *m)
{
	uint64_t next = word_load((const uint64_t *)(const void *)(s->base + m->fresh_at));
	uint64_t chunks = (next >> m->chunk_shift) + 1, all = map_chunks(m);

	return chunks < all ? chunks : all;
}

void native_store_stay_ahead(struct native_store *s)
{
	for (uint32_t i = 0; i < s->program->map_count; i++) {
		const struct map_shape *m = &s->shapes[i];
		uint64_t used;

		if (!has_pieces(s, i))
			continue;
		used = used_chunks(s, m);
		make_piece(s, &s->pieces[i].entries, map_entries_size(m, used));
		make_piece(s, &s->pieces[i].cells, map_cells_size(m, used));
	}
}

void native_store_make_pages(struct native_store *s)
{
	fallocate(s->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)s->layout.rings_at);
	make_ring_pages(s);
	native_store_stay_ahead(s);
}
