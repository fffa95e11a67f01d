/* Making the shared memory: how much of it, and where everything is. */
#include "engine/native/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/array.h"
#include "engine/native/langs.h"
#include "engine/native/table.h"
#include "engine/native/words.h"

#ifndef HWCAP2_SME /* of aarch64 */
#define HWCAP2_SME (1 << 23)
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#define PRESENT_BYTES (UINT64_C(16) << 20) /* of all rings that are made at once */

#define DEFAULT_RING	((size_t)1 << 20)
#define LEAST_RING	((size_t)1 << 16)
#define MOST_RING	((size_t)1 << 30)
#define SPARE_MIN	64u /* entries beyond max_entries: those that threads have in hand */
#define SPARE_MAX	1024u
#define ANEW_MAX	16384u
#define STRIPES_MAX	16u
#define FREE_LISTS_MAX	16u
#define CELL_BYTES_MOST ((uint64_t)64 << 20) /* of a map, above which CPUs share stripes */
#define EXTEND_BYTES                                                                 \
	((uint64_t)64 << 20) /* for maps whose types come later; none is used before \
			      */

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
static void place_cells(struct map_shape *m, uint32_t cpus, bool is_exchanged, uint64_t *end)
{
	uint64_t bytes = (uint64_t)m->entry_count * m->cell_words * sizeof(struct map_cell);
	uint32_t others = (uint32_t)power_of_two(cpus, STRIPES_MAX);

	m->cell_stride = (bytes + 2 * CACHE_LINE - 1) / (2 * CACHE_LINE) * (2 * CACHE_LINE);
	m->rseq_stripes = 0;
	if (!is_exchanged && m->cell_stride * (cpus + others) <= CELL_BYTES_MOST)
		m->rseq_stripes = cpus;
	while (others > 1 && m->cell_stride * (m->rseq_stripes + others) > CELL_BYTES_MOST)
		others /= 2;
	m->stripes = m->rseq_stripes + others;
	m->cells_at = place(end, m->cell_stride * m->stripes, 2 * CACHE_LINE);
}

/* Where map `def` is, from *end on. */
static void shape_map(struct map_shape *m, const struct map_def *def, uint32_t cpus, uint64_t *end)
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
	if (def->is_taken) /* for keys that come anew while the old ones are read */
		spare += m->max_entries / 4 < ANEW_MAX ? m->max_entries / 4 : ANEW_MAX;
	m->entry_count = m->is_single ? 2 : 1 + m->max_entries + spare;
	m->entry_size = (uint32_t)sizeof(struct map_entry) +
			8 * (m->key_words + (in_place ? 0 : m->value_words));
	m->entry_size = (m->entry_size + 15) / 16 * 16;
	/* Keys of threads: these do not share a line. */
	if (m->is_word && m->entry_size < CACHE_LINE)
		m->entry_size = CACHE_LINE;
	m->bucket_count = (uint32_t)power_of_two(m->max_entries, 1u << 24);
	m->free_lists = (uint32_t)power_of_two(cpus, FREE_LISTS_MAX);
	if (getrandom(&m->seed, sizeof(m->seed), GRND_NONBLOCK) < 0)
		m->seed = (uintptr_t)m ^ (uint64_t)getpid() << 32;
	m->buckets_at = place(end, (uint64_t)8 * m->bucket_count, CACHE_LINE);
	m->free_at = place(end, (uint64_t)CACHE_LINE * m->free_lists, CACHE_LINE);
	m->fresh_at = place(end, 8, CACHE_LINE);
	m->used_at = place(end, 8, CACHE_LINE);
	m->rest_at = place(end, 8, CACHE_LINE);
	m->entries_at = place(end, (uint64_t)m->entry_size * m->entry_count, CACHE_LINE);
	if (m->cell_words)
		place_cells(m, cpus, m->is_single && def->is_taken && def->is_read, end);
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

static uint64_t scratch_bytes(const struct layout *l)
{
	return l->scratch_count * (sizeof(struct scratch_head) + (uint64_t)l->scratch_size);
}

static void lay_out(struct native_store *s, const struct native_sizes *sizes)
{
	struct layout *l = &s->layout;
	const struct program *p = s->program;
	size_t ring = sizes->ring_bytes ? sizes->ring_bytes : DEFAULT_RING;
	uint64_t end = sizeof(*l);

	l->magic = LAYOUT_MAGIC;
	l->cpus = sizes->cpus ? sizes->cpus : engine_cpus();
	l->ring_count = 2 * l->cpus;
	l->ring_size = power_of_two(ring < LEAST_RING ? LEAST_RING : ring, MOST_RING);
	l->format_count = p->format_count ? p->format_count : 1;
	l->span_count = p->span_count ? p->span_count : 1;
	l->scratch_own = l->cpus;
	l->scratch_count = sizes->scratch_count + l->scratch_own;
	l->vectors = long_vectors();
	l->scratch_size = (sizes->scratch_size + 63) / 64 * 64;
	l->clock_at = place(&end, sizeof(struct clock), CACHE_LINE);
	l->stats_at = place(&end, sizeof(struct shared_stats), CACHE_LINE);
	l->missed_at = place(&end, (uint64_t)8 * l->format_count, CACHE_LINE);
	l->faults_at = place(&end, (uint64_t)8 * FAULT_KINDS * l->span_count, CACHE_LINE);
	l->scratch_at = place(&end, scratch_bytes(l), CACHE_LINE);
	if (program_uses(p, OP_LSTACK))
		l->langs_at = place(&end, sizeof(struct lang_area), LAYOUT_PAGE);
	s->shapes_at = place(&end, p->map_count * sizeof(struct map_shape), CACHE_LINE);
	for (uint32_t i = 0; i < p->map_count; i++)
		shape_map(&s->shapes[i], &p->maps[i], l->cpus, &end);
	l->ring_data = LAYOUT_PAGE +
		       (l->ring_size / GRANULE * 8 + LAYOUT_PAGE - 1) / LAYOUT_PAGE * LAYOUT_PAGE;
	l->ring_stride = l->ring_data + l->ring_size;
	l->rings_at = place(&end, l->ring_stride * l->ring_count, LAYOUT_PAGE);
	s->spare_at = place(&end, EXTEND_BYTES, LAYOUT_PAGE);
	l->size = place(&end, 0, LAYOUT_PAGE);
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

uint64_t native_store_first_pages(const struct native_store *s, uint32_t cpu, size_t *size)
{
	const struct layout *l = &s->layout;
	uint64_t most = PRESENT_BYTES / l->cpus & -(uint64_t)LAYOUT_PAGE;

	*size = !s->program->format_count ? 0 : most < l->ring_size ? most : l->ring_size;
	return ring_at(l, cpu) + l->ring_data;
}

/* The kernel makes the pages now; what cannot be made is made later. */
static void make_first_pages(struct native_store *s)
{
	for (uint32_t cpu = 0; cpu < s->layout.cpus; cpu++) {
		size_t size;
		uint64_t at = native_store_first_pages(s, cpu, &size);

		madvise(s->base + at, size, MADV_POPULATE_WRITE);
	}
}

static const uint64_t always = 1;

int native_store_open(const struct program *p, const struct native_sizes *sizes,
		      struct native_store **out, struct diag *d)
{
	struct native_store *s = calloc(1, sizeof(*s));
	int err = 0;

	if (!s)
		return diag_error(d, -ENOMEM, "no-memory", "out of memory");
	s->fd = -1;
	s->program = p;
	s->shapes = calloc(p->map_count + 1, sizeof(*s->shapes));
	s->taken = calloc(p->map_count + 1, sizeof(*s->taken));
	if (s->shapes && s->taken)
		lay_out(s, sizes);
	s->rings = calloc(s->layout.ring_count + 1, sizeof(*s->rings));
	s->heap = calloc(s->layout.ring_count + 1, sizeof(*s->heap));
	if (!s->shapes || !s->taken || !s->rings || !s->heap)
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
	s->hit = (struct hit){.base = s->base, .layout = &s->layout, .no_calls = &always};
	native_clock_start(s);
	s->layout.start = clock_line_ns(&s->clock.line, s->clock.tsc);
	memcpy(s->base, &s->layout, sizeof(s->layout));
	s->interp = table_interp_store(s);
	make_first_pages(s);
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
		shape_map(&m, new, s->layout.cpus, &end);
		if (end > s->layout.size)
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
				  .lost_scratch = word_load(&stats->lost_scratch),
				  .loop_limits = word_load(&stats->loop_limits),
				  .lost_records = s->unfinished + s->damaged,
				  .spoiled = s->damaged};
	for (uint32_t i = 0; i < s->layout.ring_count; i++) {
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
