/* Making the shared memory: how much of it, and where everything is. */
#include "user/memory/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/array.h"
#include "user/inside/langs.h"
#include "user/inside/words.h"
#include "user/memory/maps.h"

#ifndef HWCAP2_SME /* of aarch64 */
#define HWCAP2_SME (1 << 23)
#endif
#define MIB ((uint64_t)1 << 20)
#define CONTROL_RING                                                                \
	UINT64_C(2048) /* of a CPU, for control records alone: a page with its head \
			*/
#define LEAST_RING (UINT64_C(1) << 16) /* that can be asked for */
#define MOST_RING  (UINT64_C(1) << 30)

/* The rings of all CPUs together, and the shared ones, unless others are asked for. On any number
 * of CPUs: at most 5 MiB with their heads, and 2.3 MiB with their marks. */
#define CPU_RINGS    (4 * MIB)
#define CPU_LEAST    (UINT64_C(1) << 14)
#define SHARED_RINGS (2 * MIB)
#define SHARED_LEAST (UINT64_C(1) << 18)
#define SHARED_MOST  4u

#define SCRATCH_BYTES (2 * MIB) /* of frames for CPUs, and of all others */
#define SCRATCH_LEAST 16u
#define SCRATCH_USUAL 64u

#define SPARE_MIN      64u /* entries beyond max_entries: those that threads have in hand */
#define SPARE_MAX      1024u
#define ANEW_MAX       16384u
#define STRIPES_MAX    16u
#define FREE_LISTS_MAX 16u
/* CPUs share stripes when the cells of CELL_KEYS keys would take more than CELL_BYTES_MOST. */
#define CELL_KEYS	4096u
#define CELL_BYTES_MOST (2 * MIB)

/* Maps with more than CHUNK_BYTES of entries and cells grow, by chunks of about CHUNK_BYTES. */
#define CHUNK_BYTES (UINT64_C(256) << 10)
#define CHUNK_MOST  10u			 /* 1,024 entries */
#define NO_CHUNKS   31u			 /* as a shift: one chunk has all entries */
#define PIECE_GAP   (UINT64_C(64) << 10) /* so that two mappings never become one */

/* Maps of few keys have a bucket for each; then one for four. */
#define BUCKETS_USUAL (1u << 16)

/* For maps whose types come later; none is used before. */
#define LATER_BYTES   (UINT64_C(256) << 10) /* buckets and free lists of all of them */
#define LATER_BUCKETS (1u << 13)
#define LATER_ENTRIES (UINT64_C(128) << 10)
#define LATER_CELLS   (UINT64_C(512) << 10)
#define LATER_MOST    (512 * MIB)

/* ---- places: memory is given out from the start to the end, before it exists */

static uint64_t place(uint64_t *end, uint64_t bytes, uint64_t align)
{
	uint64_t at = (*end + align - 1) / align * align;

	*end = at + bytes;
	return at;
}

static uint64_t power_of_two(uint64_t least, uint64_t most)
{
	uint64_t n = 1;

	while (n < least && n < most)
		n *= 2;
	return n;
}

enum form native_form(const struct type *t)
{
	switch (t->kind) {
	case TYPE_STR:
	case TYPE_BUF: return FORM_TEXT;
	case TYPE_USTACK:
	case TYPE_KSTACK:
	case TYPE_LSTACK: return FORM_STACK;
	default: return FORM_WORDS;
	}
}

static uint32_t cells_of(const struct type *t)
{
	const struct aggregation *a = type_aggregation(t);

	if (a && join_has_first(a->join))
		return 1; /* there is one when the cell counts */
	return a ? (uint32_t)type_memory(t) / 8 : 0;
}

/* One stripe for each CPU, and some for those who need atomic instructions; fewer when they would
 * take too much memory. What is taken while clauses read it is `is_exchanged` (take.c): atomic
 * instructions alone. */
static void choose_stripes(struct map_shape *m, uint32_t cpus, bool is_exchanged)
{
	uint64_t cells = m->cell_words * sizeof(struct map_cell);
	uint64_t few = (m->entry_count < CELL_KEYS ? m->entry_count : CELL_KEYS) * cells;
	uint32_t others = (uint32_t)power_of_two(cpus, STRIPES_MAX);

	m->rseq_stripes = !is_exchanged && few * (cpus + others) <= CELL_BYTES_MOST ? cpus : 0;
	while (others > 1 && few * (m->rseq_stripes + others) > CELL_BYTES_MOST)
		others /= 2;
	m->stripes = m->rseq_stripes + others;
}

/* Bytes of the cells of a chunk. */
static uint64_t cut_cells(struct map_shape *m)
{
	uint64_t count =
		m->chunk_shift == NO_CHUNKS ? m->entry_count : UINT64_C(1) << m->chunk_shift;
	uint64_t bytes = count * m->cell_words * sizeof(struct map_cell);

	m->cell_stride = (bytes + 2 * CACHE_LINE - 1) / (2 * CACHE_LINE) * (2 * CACHE_LINE);
	m->cell_chunk = m->cell_stride * m->stripes;
	return m->cell_chunk;
}

/* Chunks of at most `entries` bytes of entries and `cells` bytes of cells, unless a chunk of one
 * entry has more. */
static void cut_chunks(struct map_shape *m, uint64_t entries, uint64_t cells)
{
	m->chunk_shift = CHUNK_MOST;
	while (m->chunk_shift &&
	       ((uint64_t)m->entry_size << m->chunk_shift > entries || cut_cells(m) > cells))
		m->chunk_shift--;
	cut_cells(m);
}

/* The entries and cells are in the first part, from *end on, if they are few; else in pieces, whose
 * sizes become known. */
static void shape_entries(struct map_shape *m, uint64_t *end, struct native_pieces *pieces)
{
	uint64_t entries = (uint64_t)m->entry_size * m->entry_count;

	m->chunk_shift = NO_CHUNKS;
	if (entries + cut_cells(m) <= CHUNK_BYTES || m->is_single) {
		m->entries_at = place(end, entries, CACHE_LINE);
		m->cells_at = place(end, m->cell_chunk, 2 * CACHE_LINE);
		return;
	}
	cut_chunks(m, CHUNK_BYTES / 2, CHUNK_BYTES / 2);
	m->entries_first = pieces->entries.size = map_entries_size(m, 1);
	m->cells_first = pieces->cells.size = map_cells_size(m, 1);
	pieces->entries.most = map_entries_size(m, map_chunks(m));
	pieces->cells.most = map_cells_size(m, map_chunks(m));
}

/* ... in pieces that processes have mapped by now. False: these are too small. */
static bool fit_entries(struct map_shape *m, const struct native_pieces *pieces)
{
	const struct native_piece *entries = &pieces->entries, *cells = &pieces->cells;

	m->chunk_shift = NO_CHUNKS;
	cut_cells(m);
	if (!m->is_single)
		cut_chunks(m, entries->size, cells->size);
	m->entries_at = entries->at;
	m->cells_at = cells->at;
	m->entries_first = entries->size;
	m->cells_first = cells->size;
	if (m->is_single)
		return 2u * m->entry_size <= entries->size && m->cell_chunk <= cells->size;
	return map_entries_size(m, 1) <= entries->size && map_cells_size(m, 1) <= cells->size &&
	       map_entries_size(m, map_chunks(m)) <= entries->most &&
	       map_cells_size(m, map_chunks(m)) <= cells->most;
}

/* Where map `def` is, from *end on; its entries and cells have no place yet. */
static void shape_map(struct map_shape *m, const struct map_def *def, uint32_t cpus,
		      uint32_t most_buckets, uint64_t *end)
{
	const struct type *t = &def->value;
	const struct aggregation *a = type_aggregation(t);
	uint32_t spare = def->max_entries / 8;
	bool in_place;

	*m = (struct map_shape){.takes = (uint8_t)(a ? a->takes : 0),
				.join = (uint8_t)(a ? a->join : 0),
				.is_signed = t->is_signed,
				.bits = t->bits,
				.min = t->min,
				.max = t->max,
				.step = t->step,
				.key_words = (uint32_t)type_memory(&def->key) / 8,
				.value_words = (uint32_t)type_memory(t) / 8,
				.cell_words = cells_of(t),
				.is_word = (TYPE_WORDS & TYPE_BIT(t->kind)) != 0,
				.key_form = (uint8_t)native_form(&def->key),
				.value_form = (uint8_t)native_form(t)};
	in_place = m->is_word || m->cell_words;
	m->is_single = def->key.kind == TYPE_NONE && in_place;
	m->max_entries = def->max_entries ? def->max_entries : 1;
	spare = spare < SPARE_MIN ? SPARE_MIN : spare < SPARE_MAX ? spare : SPARE_MAX;
	if (def->is_taken) /* for keys that come again while the old ones are read */
		spare += m->max_entries / 4 < ANEW_MAX ? m->max_entries / 4 : ANEW_MAX;
	m->entry_count = m->is_single ? 2 : 1 + m->max_entries + spare;
	m->entry_size = (uint32_t)sizeof(struct map_entry) +
			8 * (m->key_words + (in_place ? 0 : m->value_words));
	m->entry_size = (m->entry_size + 15) / 16 * 16;
	/* Keys of threads: these do not share a line. */
	if (m->is_word && m->entry_size < CACHE_LINE)
		m->entry_size = CACHE_LINE;
	m->bucket_count = (uint32_t)power_of_two(m->max_entries, BUCKETS_USUAL);
	if (m->max_entries / 4 > m->bucket_count)
		m->bucket_count = (uint32_t)power_of_two(m->max_entries / 4, 1u << 24);
	if (m->bucket_count > most_buckets)
		m->bucket_count = most_buckets;
	m->free_lists = (uint32_t)power_of_two(cpus, FREE_LISTS_MAX);
	if (getrandom(&m->seed, sizeof(m->seed), GRND_NONBLOCK) < 0)
		m->seed = (uintptr_t)m ^ (uint64_t)getpid() << 32;
	m->buckets_at = place(end, (uint64_t)8 * m->bucket_count, CACHE_LINE);
	m->free_at = place(end, (uint64_t)CACHE_LINE * m->free_lists, CACHE_LINE);
	m->fresh_at = place(end, 8, CACHE_LINE);
	m->used_at = place(end, 8, CACHE_LINE);
	m->rest_at = place(end, 8, CACHE_LINE);
	if (m->cell_words)
		choose_stripes(m, cpus, m->is_single && def->is_taken && def->is_read);
}

static void place_piece(struct native_store *s, struct native_piece *piece, uint64_t *at)
{
	if (!piece->size)
		return;
	piece->at = place(&s->layout.size, piece->most + PIECE_GAP, PIECE_GAP);
	*at = piece->at;
}

/* Pieces come after the first part. */
static void place_pieces(struct native_store *s)
{
	for (uint32_t i = 0; i < s->program->map_count; i++) {
		struct map_shape *m = &s->shapes[i];

		place_piece(s, &s->pieces[i].entries, &m->entries_at);
		place_piece(s, &s->pieces[i].cells, &m->cells_at);
		if (s->pieces[i].is_later)
			fit_entries(m, &s->pieces[i]);
	}
}

static bool is_map_used(const struct program *p, uint32_t map)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		if (clause_uses_map(&p->clauses[i], map))
			return true;
	return false;
}

/* Maps that no clause uses may have other types in an extension. */
static void shape_maps(struct native_store *s, bool grows, uint64_t *end)
{
	const struct program *p = s->program;

	for (uint32_t i = 0; i < p->map_count; i++) {
		struct map_shape *m = &s->shapes[i];

		if (grows && !is_map_used(p, i))
			s->pieces[i] =
				(struct native_pieces){{.size = LATER_ENTRIES, .most = LATER_MOST},
						       {.size = LATER_CELLS, .most = LATER_MOST},
						       true};
		shape_map(m, &p->maps[i], s->layout.cpus, UINT32_MAX, end);
		m->number = i;
		if (!s->pieces[i].is_later)
			shape_entries(m, end, &s->pieces[i]);
	}
}

static uint64_t *word_of(const struct native_store *s, uint64_t at)
{
	return (uint64_t *)(void *)(s->base + at);
}

/* What is not zero in a new map. */
static void begin_map(const struct native_store *s, uint32_t map)
{
	const struct map_shape *m = &s->shapes[map];

	word_store(word_of(s, m->fresh_at), 1);
	if (m->is_single)
		word_store(word_of(s, map_entry_at(m, 1)), LINK_DEAD);
	memcpy(s->base + s->shapes_at + map * sizeof(*m), m, sizeof(*m));
}

/* Some CPUs have one, and some the other. */
static uint32_t long_vectors(void)
{
#if defined(__aarch64__)
	return (getauxval(AT_HWCAP) & HWCAP_SVE ? VECTORS_SVE : 0) |
	       (getauxval(AT_HWCAP2) & HWCAP2_SME ? VECTORS_SME : 0);
#else
	return 0;
#endif
}

/* The largest power of two that is not more, within bounds. */
static uint64_t share(uint64_t bytes, uint64_t least, uint64_t most)
{
	uint64_t n = power_of_two(bytes + 1, UINT64_MAX) / 2;

	return n < least ? least : n < most ? n : most;
}

/* A ring takes records of half its size. */
static uint64_t largest_record(const struct program *p)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < p->format_count; i++) {
		uint64_t bytes = sizeof(struct ring_record) + sizeof(struct record_head);

		for (unsigned f = 0; f < p->formats[i].field_count; f++)
			bytes += type_memory(&p->formats[i].fields[f]);
		most = bytes > most ? bytes : most;
	}
	return most;
}

/* Few threads come to the shared rings where there is rseq, so they are not one for each CPU. */
static void size_rings(struct layout *l, const struct native_sizes *sizes, const struct program *p)
{
	uint64_t cpu = share(CPU_RINGS / l->cpus, CPU_LEAST, MIB);
	uint64_t shared = share(SHARED_RINGS / l->cpus, SHARED_LEAST, MIB);
	uint64_t record = power_of_two(2 * largest_record(p), MOST_RING);

	l->shared_rings = l->cpus < SHARED_MOST ? l->cpus : SHARED_MOST;
	if (sizes->ring_bytes)
		cpu = shared = power_of_two(
			sizes->ring_bytes < LEAST_RING ? LEAST_RING : sizes->ring_bytes, MOST_RING);
	if (sizes->senders != SENDERS_ALL)
		cpu = CONTROL_RING;
	if (sizes->senders == SENDER_NONE) {
		shared = LEAST_RING;
		l->shared_rings = 1;
	}
	l->ring_size = cpu;
	l->ring_data = cpu == CONTROL_RING ? CONTROL_RING : LAYOUT_PAGE;
	l->ring_stride = l->ring_data + l->ring_size;
	l->shared_size = shared > record ? shared : record;
	l->shared_data = LAYOUT_PAGE + (l->shared_size / GRANULE * 8 + LAYOUT_PAGE - 1) /
					       LAYOUT_PAGE * LAYOUT_PAGE;
	l->shared_stride = l->shared_data + l->shared_size;
}

/* One frame for each CPU, where they are not too large for that, and some for all. */
static void size_scratch(struct layout *l, const struct native_sizes *sizes)
{
	uint64_t size = (sizes->scratch_size + 63) / 64 * 64, others;

	if (!size)
		return;
	others = SCRATCH_BYTES / size;
	others = others < SCRATCH_LEAST ? SCRATCH_LEAST : others;
	l->scratch_size = (uint32_t)size;
	l->scratch_own = size * l->cpus <= SCRATCH_BYTES ? l->cpus : 0;
	if (others > (sizes->scratch_count ? sizes->scratch_count : SCRATCH_USUAL))
		others = sizes->scratch_count ? sizes->scratch_count : SCRATCH_USUAL;
	l->scratch_count = l->scratch_own + (uint32_t)others;
}

static uint64_t scratch_bytes(const struct layout *l)
{
	return l->scratch_count * (sizeof(struct scratch_head) + (uint64_t)l->scratch_size);
}

static void lay_out(struct native_store *s, const struct native_sizes *sizes)
{
	struct layout *l = &s->layout;
	const struct program *p = s->program;
	uint64_t end = sizeof(*l);

	l->magic = LAYOUT_MAGIC;
	l->cpus = sizes->cpus ? sizes->cpus : engine_cpus();
	l->format_count = p->format_count ? p->format_count : 1;
	l->span_count = p->span_count ? p->span_count : 1;
	l->vectors = long_vectors();
	size_rings(l, sizes, p);
	size_scratch(l, sizes);
	l->clock_at = place(&end, sizeof(struct shared_clock), CACHE_LINE);
	l->stats_at = place(&end, sizeof(struct shared_stats), CACHE_LINE);
	l->missed_at = place(&end, (uint64_t)8 * l->format_count, CACHE_LINE);
	l->faults_at = place(&end, (uint64_t)8 * FAULT_KINDS * l->span_count, CACHE_LINE);
	l->scratch_at = place(&end, scratch_bytes(l), CACHE_LINE);
	if (program_uses(p, OP_LSTACK))
		l->langs_at = place(&end, sizeof(struct lang_area), LAYOUT_PAGE);
	s->shapes_at = place(&end, p->map_count * sizeof(struct map_shape), CACHE_LINE);
	shape_maps(s, sizes->grows, &end);
	l->rings_at = place(&end, l->ring_stride * l->cpus, LAYOUT_PAGE);
	l->shared_at = place(&end, l->shared_stride * l->shared_rings, LAYOUT_PAGE);
	s->spare_at = place(&end, sizes->grows ? LATER_BYTES : 0, LAYOUT_PAGE);
	l->size = s->first_size = place(&end, 0, LAYOUT_PAGE);
	place_pieces(s);
}

/* A file that no process can make smaller, or its readers would fault. */
static int make_memory(struct native_store *s)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	void *base;

	s->fd = memfd_create("nopal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->fd < 0 || ftruncate(s->fd, (off_t)s->layout.size) ||
	    fcntl(s->fd, F_ADD_SEALS, seals))
		return -errno;
	base = mmap(NULL, s->layout.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s->fd,
		    0);
	if (base == MAP_FAILED)
		return -errno;
	s->base = base;
	return 0;
}

/* The tracer has mapped all of the memory, and makes no calls for others. */
static void keep_all(struct kept_page *kept)
{
	kept->no_calls = 1;
	memset(kept->chunks, 0xff, sizeof(kept->chunks));
}

void native_store_chunks(const struct native_store *s, bool whole, struct kept_page *out)
{
	for (uint32_t i = 0; i < s->program->map_count; i++)
		out->chunks[i] =
			whole && !s->pieces[i].is_later ? (uint32_t)map_chunks(&s->shapes[i]) : 1;
}

int native_store_open(const struct program *p, const struct native_sizes *sizes,
		      struct native_store **out, struct diag *d)
{
	struct native_store *s = calloc(1, sizeof(*s));
	int err = 0;

	if (!s)
		return diag_error(d, -ENOMEM, "no-memory", "out of memory");
	if (p->map_count > KEPT_MAPS) {
		free(s);
		return diag_error(
			d, -ENOTSUP, "user-maps",
			"cannot trace in user mode: the script has %u maps, and the limit "
			"is %u",
			p->map_count, KEPT_MAPS);
	}
	s->fd = -1;
	s->program = p;
	s->shapes = calloc(p->map_count + 1, sizeof(*s->shapes));
	s->pieces = calloc(p->map_count + 1, sizeof(*s->pieces));
	s->taken = calloc(p->map_count + 1, sizeof(*s->taken));
	if (s->shapes && s->pieces && s->taken)
		lay_out(s, sizes);
	s->rings = calloc(ring_count(&s->layout) + 1, sizeof(*s->rings));
	s->heap = calloc(ring_count(&s->layout) + 1, sizeof(*s->heap));
	if (!s->shapes || !s->pieces || !s->taken || !s->rings || !s->heap)
		err = -ENOMEM;
	if (!err)
		err = make_memory(s);
	if (err) {
		native_store_close(s);
		return diag_error(d, err, "user-memory", "cannot make the shared memory: %s",
				  strerror(-err));
	}
	for (uint32_t i = 0; i < p->map_count; i++)
		begin_map(s, i);
	s->hit = (struct hit){.base = s->base, .layout = &s->layout, .kept = &s->kept};
	keep_all(&s->kept);
	native_clock_start(s);
	s->layout.start = clock_line_ns(&s->clock.line, s->clock.tsc);
	memcpy(s->base, &s->layout, sizeof(s->layout));
	s->interp = table_interp_store(s);
	native_store_make_pages(s);
	*out = s;
	return 0;
}

void native_store_close(struct native_store *s)
{
	if (!s)
		return;
	if (s->base)
		munmap(s->base, s->layout.size);
	if (s->fd >= 0)
		close(s->fd);
	for (uint32_t i = 0; s->taken && i < s->program->map_count; i++)
		free(s->taken[i].base);
	free(s->taken);
	free(s->shapes);
	free(s->pieces);
	free(s->rings);
	free(s->heap);
	free(s->bounce);
	free(s);
}

int native_store_extend(struct native_store *s, const struct program *p,
			bool (*is_used)(void *arg, uint32_t map), void *arg, struct diag *d)
{
	if (p->map_count != s->program->map_count)
		return diag_error(d, -EINVAL, "bad-program", "the extension has other maps");
	for (uint32_t i = 0; i < p->map_count; i++) {
		const struct map_def *old = &s->program->maps[i], *new = &p->maps[i];
		uint64_t end = s->spare_at;
		struct map_shape m;

		if (type_equal(&old->key, &new->key) && type_equal(&old->value, &new->value))
			continue;
		if (is_used(arg, i))
			return diag_error(d, -EINVAL, "bad-program",
					  "the extension has other maps");
		shape_map(&m, new, s->layout.cpus, LATER_BUCKETS, &end);
		m.number = i;
		if (end > s->first_size || !fit_entries(&m, &s->pieces[i]))
			return diag_error(d, -ENOMEM, "user-memory",
					  "no shared memory is left for map '%.*s'",
					  STR_FMT(new->name));
		s->spare_at = end;
		s->shapes[i] = m;
		free(s->taken[i].base);
		s->taken[i] = (struct taken){0};
		begin_map(s, i);
	}
	s->program = p;
	return 0;
}

/* ---- counts. What the target wrote is taken as it is: it can only spoil its own. */

void native_store_stats(const struct native_store *s, struct run_stats *out)
{
	const struct shared_stats *stats = (const void *)(s->base + s->layout.stats_at);

	*out = (struct run_stats){.lost_updates = word_load(&stats->lost_updates),
				  .unmapped = word_load(&stats->unmapped),
				  .lost_scratch = word_load(&stats->lost_scratch),
				  .loop_limits = word_load(&stats->loop_limits),
				  .lost_records = s->unfinished + s->damaged,
				  .spoiled = s->damaged};
	for (uint32_t i = 0; i < ring_count(&s->layout); i++) {
		const struct ring_head *r = (const void *)(s->base + ring_at(&s->layout, i));

		out->lost_records += word_load(&r->lost);
	}
}

int native_store_faults(const struct native_store *s, fault_fn *fn, void *arg)
{
	int err = 0;

	for (uint32_t i = 0; i < s->layout.span_count * FAULT_KINDS && !err; i++) {
		struct run_fault f = {.span = i / FAULT_KINDS};

		f.count = word_load(word_of(s, s->layout.faults_at) + i);
		f.kind = i % FAULT_KINDS;
		if (f.count)
			err = fn(arg, &f);
	}
	return err;
}

void native_store_stop(struct native_store *s)
{
	word_store(word_of(s, offsetof(struct layout, is_stopped)), 1);
}

bool native_store_is_stopped(const struct native_store *s)
{
	return word_load(word_of(s, offsetof(struct layout, is_stopped))) != 0;
}
