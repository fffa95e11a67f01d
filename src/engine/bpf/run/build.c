/* The maps that all programs of a run share, and the order in which a run is built.
 *
 *	control		one entry of words (emitter.h); mapped, so that we read it without calls
 *	zeros		one entry: where programs copy zeros from, as no helper writes them
 *	scratch		entries that runs of clauses take and give back (frame.c)
 *	records		the ring
 *	maps		those of the script (store_map.h), and the arrays that group them
 */
#include "engine/bpf/run/bpf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/bpf/gen/sizes.h"
#include "engine/bpf/kernel/control.h"
#include "engine/bpf/kernel/make_map.h"
#include "engine/bpf/run/follow.h"
#include "engine/bpf/run/stores.h"
#include "program/op.h"

#define RING_DATA      (4u << 20)  /* bytes, for scripts that send data */
#define RING_CONTROL   (64u << 10) /* for those that only print maps */
#define RING_MOST      (1u << 30)
#define CONTROLS_LATER 256 /* control formats that extensions may add: the map cannot grow */

/* Control words of a map, see store_map.h. */
enum { MAP_USED, MAP_TWIN_USED, MAP_TURN, MAP_WORDS_ };

static uint32_t map_word(const struct bpf_engine *e, const struct program *p, uint32_t map)
{
	return CONTROL_FIXED_ + e->world.control_count + p->span_count * FAULT_KINDS +
	       map * MAP_WORDS_;
}

static uint32_t control_words(const struct bpf_engine *e, const struct program *p)
{
	return map_word(e, p, p->map_count);
}

/* Is the map a histogram that code reads, or may read later? It is one for all CPUs, since code
 * would take too long to add up the buckets of every CPU. */
static bool is_read_histogram(const struct program *p, uint32_t map)
{
	if (!(TYPE_BUCKETS & TYPE_BIT(p->maps[map].value.kind)))
		return false;
	if (p->maps[map].is_read)
		return true;
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].insn_count; k++) {
			const struct insn *in = &p->clauses[i].code[k];

			if (in->op == OP_PERCENTILE && in->map == map)
				return true;
		}
	return false;
}

/* How clauses use a map: only by aggregating into it, or by reading or writing it. */
static void find_uses(const struct program *p, uint32_t map, bool *in_code, bool *otherwise)
{
	*otherwise = p->maps[map].is_read;
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].insn_count; k++) {
			const struct insn *in = &p->clauses[i].code[k];

			if (!op_uses_map(in->op) || in->map != map)
				continue;
			*in_code = true;
			*otherwise |= in->op != OP_AGGREGATE;
		}
}

static int make_twin(struct bpf_engine *e, const struct program *p, uint32_t map, struct diag *d)
{
	uint32_t used_at = map_word(e, p, map) + MAP_TWIN_USED;
	struct store *twin = arena_new(&e->arena, struct store);

	e->stores[map].twin = twin;
	return twin ? store_open(twin, &p->maps[map], is_read_histogram(p, map), used_at,
				 &e->control[used_at], d)
		    : -ENOMEM;
}

static int make_store(struct bpf_engine *e, const struct program *p, uint32_t map, struct diag *d)
{
	uint32_t used_at = map_word(e, p, map) + MAP_USED;
	struct store *s = &e->stores[map];
	bool otherwise;
	int err = store_open(s, &p->maps[map], is_read_histogram(p, map), used_at,
			     &e->control[used_at], d);

	find_uses(p, map, &s->in_code, &otherwise);
	if (!err && !otherwise)
		store_is_not_read(s);
	if (err || !p->maps[map].is_taken || s->by_base)
		return err;
	s->turn_at = map_word(e, p, map) + MAP_TURN;
	s->turn = &e->control[s->turn_at];
	return make_twin(e, p, map, d);
}

static int group_stores(struct bpf_engine *e, struct diag *d)
{
	groups_close(&e->groups);
	return groups_make(&e->groups, e->stores, e->store_count,
			   e->options.group_maps ? 0 : GROUP_DIRECT, d);
}

/* Bytes that a ring needs at least: two of the largest record. */
static size_t ring_least(const struct program *p)
{
	size_t least = 0;

	for (uint32_t i = 0; i < p->format_count; i++) {
		bool fixed;
		size_t twice = 2 * ((size_t)record_most(&p->formats[i], &fixed) + STAMP_SIZE);

		least = twice > least ? twice : least;
	}
	return least;
}

/* Asking costs a program, so it is only done for what uses the answer. */
static void ask_may_goto(struct bpf_engine *e, const struct program *p)
{
	bool wanted = program_uses(p, OP_LSTACK);

	for (uint32_t i = 0; i < e->store_count; i++)
		wanted |= e->stores[i].map.stacks_size > 0;
	e->world.has_may_goto = wanted && feature_has(&e->features, FEATURE_MAY_GOTO);
}

/* An extension may give other types to maps that no code uses yet: the first program did not know
 * what would be in them. The ring stays what it is: programs in the kernel have its descriptor. */
int bpf_renew(struct bpf_engine *e, const struct program *p, struct diag *d)
{
	bool renewed = false, otherwise;
	int err = 0;

	if (p->map_count != e->store_count || p->span_count != e->world.span_count)
		return diag_error(d, -EINVAL, "bad-program",
				  "the extension belongs to another script");
	for (uint32_t i = 0; i < p->map_count && !err; i++) {
		struct store *s = &e->stores[i];

		if (type_equal(&s->def->key, &p->maps[i].key) &&
		    type_equal(&s->def->value, &p->maps[i].value)) {
			find_uses(p, i, &s->in_code, &otherwise);
			continue;
		}
		if (s->in_code)
			return diag_error(d, -EINVAL, "bad-program",
					  "the extension has other maps");
		store_close(s);
		renewed = true;
		err = make_store(e, p, i, d);
	}
	if (!err && renewed)
		err = group_stores(e, d);
	ask_may_goto(e, p);
	if (err || e->ring.size >= ring_least(p))
		return err;
	return diag_error(d, -E2BIG, "too-large",
			  "its records are too large for the event buffer of %zu bytes",
			  e->ring.size);
}

static int make_stores(struct bpf_engine *e, const struct program *p, struct diag *d)
{
	int err = 0;

	e->stores = arena_array(&e->arena, struct store, p->map_count + 1);
	if (!e->stores)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->map_count && !err; i++) {
		err = make_store(e, p, i, d);
		e->store_count = i + 1;
	}
	e->world.stores = e->stores;
	return err ?: group_stores(e, d);
}

static int make_control(struct bpf_engine *e, const struct program *p, struct diag *d)
{
	void *memory = NULL;
	int err;

	e->unsent = calloc(e->world.control_count, sizeof(*e->unsent));
	if (!e->unsent)
		return -ENOMEM;
	err = map_make_memory("control", 8 * (size_t)control_words(e, p), &e->world.control_fd,
			      &memory, &e->control_size, d);
	e->control = memory;
	return err;
}

/* An array in place of the one in *fd, if any. */
static int make_array(int *fd, const char *name, uint32_t size, uint32_t entries, struct diag *d)
{
	if (*fd >= 0)
		close(*fd);
	return map_make_plain(fd, BPF_MAP_TYPE_ARRAY, 4, size, entries, name, d);
}

/* As many bytes as were asked for, but no fewer than it needs. */
static int make_ring(struct bpf_engine *e, const struct program *p, struct diag *d)
{
	size_t size = e->options.ring_bytes, least = ring_least(p);
	bool sends_data = e->options.data_later;
	int err;

	if (!p->format_count && !e->options.data_later)
		return 0;
	for (uint32_t i = 0; i < p->format_count; i++)
		sends_data |= !format_is_control(&p->formats[i]);
	if (!size)
		size = sends_data ? RING_DATA : RING_CONTROL;
	size = size > least ? size : least;
	err = ring_open(&e->ring, size < RING_MOST ? size : RING_MOST, d);
	e->world.ring_fd = e->ring.fd;
	e->world.ring_bytes = (uint32_t)e->ring.size;
	return err;
}

/* Programs that are loaded already keep the memory that they were made with. */
int bpf_scratch(struct bpf_engine *e, uint32_t size, struct diag *d)
{
	struct gen_world *w = &e->world;
	uint32_t zeros = size > 64 ? size : 64; /* as many as the largest value, key or text */
	int err = 0;

	for (uint32_t i = 0; i < e->store_count; i++)
		if (e->stores[i].value_size + 8 > zeros)
			zeros = e->stores[i].value_size + 8;
	if (w->zeros_fd < 0 || size > w->scratch_size)
		err = make_array(&w->zeros_fd, "zeros", (zeros + 7) & ~7u, 1, d);
	if (err || size <= w->scratch_size)
		return err;
	w->scratch_size = size;
	w->scratch_count = 32; /* a power of two; some to spare for programs that sleep */
	while (w->scratch_count < w->cpus * 8)
		w->scratch_count *= 2;
	return make_array(&w->scratch_fd, "scratch", size, w->scratch_count, d);
}

/* ORDER: frames say how much scratch memory is needed; code contains the descriptors of all maps
 * and the sizes of ring and scratch memory, so it comes last. */
int bpf_build(struct engine *engine, const struct program *p, struct diag *d)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;
	struct frame *frames = NULL;
	uint32_t scratch = 0;
	int err;

	e->program = p;
	kernel_raise_memlock();
	e->world.cpus = engine_cpus();
	e->world.control_count = control_number(p, p->format_count) + CONTROLS_LATER;
	e->world.span_count = p->span_count;
	e->world.one_hash = e->options.one_hash;
	err = make_control(e, p, d) ?: make_stores(e, p, d);
	ask_may_goto(e, p);
	if (!err && e->options.pid && e->options.follow_forks)
		err = follow_open(&e->world, d);
	if (!err)
		err = user_maps_open(&e->world.user, &e->options, &e->features, d)
			      ?: script_maps_open(&e->world.script, p, &e->features,
						  e->world.has_may_goto, d);
	return err ?: bpf_plan(e, p, &frames, &scratch, d) ?: bpf_scratch(e, scratch, d) ?:
	       make_ring(e, p, d) ?: bpf_load(e, p, frames, false, d);
}
