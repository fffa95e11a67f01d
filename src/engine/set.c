/* A set of engines. Each gets a program of its own with some of the clauses, and with
 * all maps, formats and names, so that their numbers mean the same everywhere. */
#include "engine/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/file.h"
#include "engine/split.h"

/* ---- programs */

static bool sends_records(const struct program *p)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].insn_count; k++)
			if (p->clauses[i].code[k].op == OP_EMIT)
				return true;
	return false;
}

/* Remember it as the member's. -ENOMEM. */
static int note_part(struct set *s, const struct program *program, uint8_t member)
{
	struct member_program *part = arena_new(&s->arena, struct member_program);

	if (!part)
		return -ENOMEM;
	*part = (struct member_program){program, member, s->parts};
	s->parts = part;
	return 0;
}

/* The part of `p` that runs on a member; NULL: -ENOMEM. */
static struct program *part_of(struct set *s, const struct program *p, const uint8_t *chosen,
			       uint8_t member)
{
	struct program *part = arena_new(&s->arena, struct program);
	struct clause *clauses = arena_array(&s->arena, struct clause, p->clause_count + 1);

	if (!part || !clauses)
		return NULL;
	*part = *p;
	part->clauses = clauses;
	part->clause_count = 0;
	for (uint32_t i = 0; i < p->clause_count; i++)
		if (chosen[i] == member)
			clauses[part->clause_count++] = p->clauses[i];
	return part;
}

/* Make the parts of all members. Records of several need times; of one that may get clauses later,
 * too. */
static int make_parts(struct set *s, const struct program *p, const uint8_t *chosen,
		      struct program *parts[ENGINES_MAX])
{
	unsigned senders = 0;

	for (uint8_t i = 0; i < s->count; i++) {
		parts[i] = part_of(s, p, chosen, i);
		if (!parts[i])
			return -ENOMEM;
		senders += sends_records(parts[i]);
	}
	s->is_merged |= senders > 1 || s->grows || s->is_held;
	for (uint8_t i = 0; i < s->count; i++)
		parts[i]->is_stamped = s->is_merged;
	return 0;
}

/* Clauses whose sites wait are known to the first member, but have none there yet. */
static int keep_waiting(struct set *s, const struct program *p, const uint8_t *chosen,
			struct program *first)
{
	struct clause *from = (struct clause *)first->clauses, *to;
	struct program *waiting;

	if (!s->is_held)
		return 0;
	waiting = part_of(s, p, chosen, 0);
	if (!waiting)
		return -ENOMEM;
	to = (struct clause *)waiting->clauses;
	waiting->clause_count = 0;
	for (uint32_t i = 0; i < first->clause_count; i++) {
		if (!set_waits(s, &from[i], 0))
			continue;
		to[waiting->clause_count++] = from[i];
		from[i].attach_count = 0;
	}
	s->waiting = waiting->clause_count ? waiting : NULL;
	return 0;
}

/* Seats of clauses that run by number are those of their only part. */
static int set_build(struct engine *engine, const struct program *whole, struct diag *d)
{
	struct set *s = (struct set *)engine;
	uint32_t used[ENGINES_MAX] = {0};
	struct program *parts[ENGINES_MAX];
	const struct program *p;
	struct split split;
	uint8_t *chosen;
	int err;

	s->is_shared = split_maps(&s->arena, whole, s->grows);
	if (!s->is_shared)
		return -ENOMEM;
	err = split_program(&s->arena, s->members[0], whole, s->is_shared, &split);
	if (err)
		return err;
	p = split.program;
	s->maps = p->maps;
	chosen = arena_array(&s->arena, uint8_t, p->clause_count + 1);
	s->owners = arena_array(&s->arena, uint8_t, p->map_count + 1);
	s->seats = arena_array(&s->arena, struct seat, whole->clause_count + 1);
	if (!chosen || !s->owners || !s->seats)
		return -ENOMEM;
	memset(s->owners, NO_MEMBER, p->map_count);
	s->map_count = p->map_count;
	err = set_choose(s, p, chosen, d);
	if (!err)
		err = make_parts(s, p, chosen, parts);
	if (!err)
		err = keep_waiting(s, p, chosen, parts[0]);
	for (uint8_t i = 0; i < s->count && !err; i++) {
		s->is_used[i] = parts[i]->clause_count;
		err = note_part(s, parts[i], i) ?: engine_build(s->members[i], parts[i], d);
	}
	for (uint32_t i = 0; i < p->clause_count && !err; i++)
		s->seats[split.origins[i]] = (struct seat){chosen[i], used[chosen[i]]++};
	s->seat_count = whole->clause_count;
	return err;
}

/* ---- sites that others than the first member trace */

#define NAMED_MOST 3 /* probes in a warning */

struct site_address {
	uint64_t device, inode, offset;
	bool is_others, is_hot;
	struct str name; /* of the probe */
};

struct site_addresses {
	struct site_address *all;
	size_t count, cap;
};

static int add_places(struct site_addresses *out, const struct program *p, const struct clause *c,
		      bool is_others)
{
	for (uint32_t i = 0; i < c->attach_count; i++) {
		const struct attach *at = &c->attaches[i];

		if (at->kind != ATTACH_UPROBE || !at->file)
			continue;
		if (array_grow(out->all, out->count, out->cap))
			return -ENOMEM;
		out->all[out->count++] = (struct site_address){.device = at->file->device,
							       .inode = at->file->inode,
							       .offset = at->offset,
							       .is_others = is_others,
							       .is_hot = at->is_hot,
							       .name = p->names[at->name]};
	}
	return 0;
}

/* Those of others come first. */
static int compare_places(const void *left, const void *right)
{
	const struct site_address *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return b->is_others - a->is_others;
}

static bool is_same_place(const struct site_address *a, const struct site_address *b)
{
	return a->device == b->device && a->inode == b->inode && a->offset == b->offset;
}

static void count_places(struct site_addresses *p, size_t *all, size_t *others)
{
	*all = *others = 0;
	if (p->count)
		qsort(p->all, p->count, sizeof(*p->all), compare_places);
	for (size_t i = 0; i < p->count; i++) {
		if (i && is_same_place(&p->all[i - 1], &p->all[i]))
			continue;
		*all += 1;
		*others += p->all[i].is_others;
	}
}

/* "postgresql:lwlock__release" of "usdt:/usr/bin/postgres:postgresql:lwlock__release". */
static struct str short_name(struct str name)
{
	unsigned colons = 0;
	size_t at = name.len;

	while (at && !(name.ptr[at - 1] == ':' && ++colons == 2))
		at--;
	return str_of(name.ptr + at, name.len - at);
}

/* Some names of the kernel's sites, those of probes that fire often first: ": a:b, c:d". */
static void name_places(const struct site_addresses *p, struct buf *out)
{
	unsigned named = 0;

	for (int hot = 1; hot >= 0; hot--)
		for (size_t i = 0; i < p->count && named < NAMED_MOST; i++) {
			const struct site_address *site = &p->all[i];
			bool is_again = i && is_same_place(&p->all[i - 1], site);
			struct str name = short_name(site->name);

			if (!site->is_others || site->is_hot != hot || is_again ||
			    (out->len && memmem(out->ptr, out->len, name.ptr, name.len)))
				continue;
			buf_text(out, named++ ? ", " : ": ");
			buf_escaped(out, name);
		}
}

static int say_places(const struct site_addresses *p, size_t all, size_t others, struct diag *d)
{
	struct buf names = BUF_INIT;
	int err;

	name_places(p, &names);
	err = names.failed ? -ENOMEM : 0;
	if (!err)
		diag_warn(d, "user-mode-kernel", "%zu of %zu site%s traced by the kernel%.*s%s",
			  others, all,
			  all == 1	? " is"
			  : others == 1 ? "s is"
					: "s are",
			  STR_FMT(buf_as_str(&names)), others > NAMED_MOST ? ", ..." : "");
	buf_free(&names);
	return err;
}

/* A warning for those who ask for user mode: what is not traced so. */
static int say_sites(struct set *s, struct diag *d)
{
	struct site_addresses places = {0};
	size_t all, others;
	int err = 0;

	for (const struct member_program *part = s->parts; part; part = part->next)
		for (uint32_t i = 0; i < part->program->clause_count && !err; i++)
			err = add_places(&places, part->program, &part->program->clauses[i],
					 part->member > 0);
	count_places(&places, &all, &others);
	if (!err && others > s->said)
		err = say_places(&places, all, others, d);
	free(places.all);
	s->said = others;
	return err;
}

/* ---- extending */

/* When one member fails, those before it give their parts back. */
static int extend_members(struct set *s, const struct program *p, const uint8_t *chosen,
			  struct diag *d)
{
	struct program *parts[ENGINES_MAX];
	struct member_program *before = s->parts;
	bool extended[ENGINES_MAX] = {false};
	int err = make_parts(s, p, chosen, parts);

	for (uint8_t i = 0; i < s->count && !err; i++) {
		if (parts[i]->clause_count)
			err = note_part(s, parts[i], i)
				      ?: engine_extend(s->members[i], parts[i], d);
		extended[i] = !err && parts[i]->clause_count;
	}
	for (unsigned i = 0; i < s->count; i++) {
		s->is_used[i] |= extended[i] && !err;
		if (err && extended[i])
			s->members[i]->ops->retract(s->members[i]);
	}
	s->parts = err ? before : s->parts;
	return err;
}

static void note_wants(struct set *s)
{
	for (unsigned i = 0; i < s->count; i++)
		s->engine.wants_news |= s->members[i]->wants_news;
}

static int add_clauses(struct set *s, const struct program *p, struct diag *d)
{
	uint8_t *owners = arena_array(&s->arena, uint8_t, s->map_count + 1), *chosen;
	struct split split;
	int err =
		owners ? split_program(&s->arena, s->members[0], p, s->is_shared, &split) : -ENOMEM;

	if (err)
		return err;
	chosen = arena_array(&s->arena, uint8_t, split.program->clause_count + 1);
	if (!chosen)
		return -ENOMEM;
	memcpy(owners, s->owners, s->map_count);
	err = set_choose(s, split.program, chosen, d);
	if (!err)
		err = extend_members(s, split.program, chosen, d);
	if (err) {
		s->owners = owners;
		return err;
	}
	note_wants(s);
	return s->order.is_held ? say_sites(s, d) : 0;
}

static int set_extend(struct engine *engine, const struct program *p, struct diag *d)
{
	struct set *s = (struct set *)engine;
	int err;

	if (!split_may_extend(p, s->is_shared))
		return diag_error(d, -EINVAL, "bad-program",
				  "the extension reads a map that several engines have");
	err = add_clauses(s, p, d);
	if (!err)
		s->maps = p->maps; /* those that nothing used may have other types now */
	return err;
}

/* ---- what all members do */

static int set_attach(struct engine *engine, struct diag *d)
{
	struct set *s = (struct set *)engine;
	int err = 0;

	for (unsigned i = 0; i < s->count; i++)
		err = err ? err : engine_attach(s->members[i], d);
	note_wants(s);
	s->order.is_held = !err;
	return err || s->is_held ? err : say_sites(s, d);
}

/* What the first member reaches is known now. */
static int divide_waiting(struct set *s, struct diag *d)
{
	s->is_held = false;
	return s->waiting ? add_clauses(s, s->waiting, d) : say_sites(s, d);
}

static int set_note(struct engine *engine, const struct watch_event *event, struct diag *d)
{
	struct set *s = (struct set *)engine;
	int err = 0;

	for (unsigned i = 0; i < s->count; i++)
		err = err ? err : engine_note(s->members[i], event, d);
	return err || event->kind != PROCESS_ENTERED ? err : divide_waiting(s, d);
}

static int set_rearm(struct engine *engine, struct diag *d)
{
	struct set *s = (struct set *)engine;
	int done = 0;

	for (unsigned i = 0; i < s->count; i++) {
		int one = done < 0 ? done : engine_rearm(s->members[i], d);

		done = one ? one : done;
	}
	return done;
}

static int set_run(struct engine *engine, enum attach_kind kind, uint64_t period, uint32_t clause,
		   struct diag *d)
{
	struct set *s = (struct set *)engine;
	struct seat seat;

	if (clause >= s->seat_count)
		return 0;
	seat = s->seats[clause];
	return engine_run(s->members[seat.member], kind, period, seat.clause, d);
}

static int drain_each(struct set *s, int timeout_ms, record_fn *fn, void *arg)
{
	int total = 0;

	for (unsigned i = 0; i < s->count; i++) {
		int n = engine_drain(s->members[i], total ? 0 : timeout_ms, fn, arg);

		if (n < 0)
			return n;
		total += n;
	}
	return total;
}

/* None is used yet where all probes are still to come. */
static bool has_ended(const struct set *s)
{
	bool any = false, all = true;

	for (unsigned i = 0; i < s->count; i++) {
		any |= s->is_used[i];
		all &= !s->is_used[i] || s->members[i]->is_ended;
	}
	return any && all;
}

static int set_drain(struct engine *engine, int timeout_ms, record_fn *fn, void *arg)
{
	struct set *s = (struct set *)engine;
	int total = s->is_merged ? order_drain(s, timeout_ms, fn, arg)
				 : drain_each(s, timeout_ms, fn, arg);

	engine->is_ended = total >= 0 && has_ended(s) && order_is_empty(&s->order);
	return total;
}

static int set_wait_fd(struct engine *engine)
{
	struct set *s = (struct set *)engine;

	for (unsigned i = 0; i < s->count; i++)
		if (engine_wait_fd(s->members[i]) >= 0)
			return engine_wait_fd(s->members[i]);
	return -1;
}

static void set_stats(struct engine *engine, struct run_stats *out)
{
	struct set *s = (struct set *)engine;

	*out = (struct run_stats){0};
	for (unsigned i = 0; i < s->count; i++) {
		struct run_stats one;

		engine_stats(s->members[i], &one);
		out->lost_records += one.lost_records;
		out->lost_updates += one.lost_updates;
		out->unmapped += one.unmapped;
		out->lost_scratch += one.lost_scratch;
		out->loop_limits += one.loop_limits;
		out->waited += one.waited;
		out->untraced += one.untraced;
		out->late += one.late;
		out->missed += one.missed;
		out->had_children |= one.had_children;
		out->missed_file = out->missed_file.len ? out->missed_file : one.missed_file;
		out->disturbed += one.disturbed;
		out->uncleaned += one.uncleaned;
		out->kept += one.kept;
		out->kept_processes += one.kept_processes;
		if (one.armed_pid) {
			out->armed_pid = one.armed_pid;
			out->armed_err = one.armed_err;
		}
		out->kept_pid = one.kept_processes ? one.kept_pid : out->kept_pid;
		out->spoiled += one.spoiled;
		out->children += one.children;
		out->semaphores_late += one.semaphores_late;
		out->semaphores_late_most = out->semaphores_late_most > one.semaphores_late_most
						    ? out->semaphores_late_most
						    : one.semaphores_late_most;
		out->semaphores_missed += one.semaphores_missed;
		out->files_missed |= one.files_missed;
		out->none_seen |= one.none_seen && s->is_used[i];
	}
}

static int set_faults(struct engine *engine, fault_fn *fn, void *arg)
{
	struct set *s = (struct set *)engine;
	int err = 0;

	for (unsigned i = 0; i < s->count; i++)
		err = err ? err : engine_faults(s->members[i], fn, arg);
	return err;
}

static void each_member(struct engine *engine, void (*act)(struct engine *e))
{
	struct set *s = (struct set *)engine;

	for (unsigned i = 0; i < s->count; i++)
		act(s->members[i]);
}

static void set_stop(struct engine *engine)
{
	each_member(engine, engine_stop);
	((struct set *)engine)->order.is_held = false;
}

static void set_detach(struct engine *engine)
{
	each_member(engine, engine_detach);
}

static void set_dump(struct engine *engine, struct buf *out)
{
	struct set *s = (struct set *)engine;

	for (unsigned i = 0; i < s->count; i++)
		engine_dump(s->members[i], out);
}

static void set_close(struct engine *engine)
{
	each_member(engine, engine_close);
	order_free(&((struct set *)engine)->order);
	arena_free(&((struct set *)engine)->arena);
	free(engine);
}

/* ---- maps */

/* The maps of the member whose clauses use this one; where none does, any will do. */
static const struct map_store *maps_of(const struct set *s, uint32_t map)
{
	uint8_t owner = map < s->map_count ? s->owners[map] : NO_MEMBER;

	return &s->members[owner == NO_MEMBER ? 0 : owner]->maps;
}

/* The stores that have a part of the map; how many. */
static unsigned stores_of(const struct set *s, uint32_t map,
			  const struct map_store *out[ENGINES_MAX])
{
	out[0] = maps_of(s, map);
	if (map >= s->map_count || !s->is_shared[map])
		return 1;
	for (unsigned i = 0; i < s->count; i++)
		out[i] = &s->members[i]->maps;
	return s->count;
}

static int set_map_take(void *self, uint32_t map, enum format_take what, map_entry_fn *fn,
			void *arg)
{
	const struct map_store *stores[ENGINES_MAX];
	struct set *s = self;
	unsigned count = stores_of(s, map, stores);

	return count == 1 ? map_take(stores[0], map, what, fn, arg)
			  : split_map_take(stores, count, &s->maps[map], map, what, fn, arg);
}

static int set_map_each(void *self, uint32_t map, map_entry_fn *fn, void *arg)
{
	return set_map_take(self, map, TAKE_NOTHING, fn, arg);
}

static int set_map_clear(void *self, uint32_t map)
{
	const struct map_store *stores[ENGINES_MAX];
	unsigned count = stores_of(self, map, stores);
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++)
		err = map_clear(stores[i], map);
	return err;
}

static int set_map_zero(void *self, uint32_t map)
{
	const struct map_store *stores[ENGINES_MAX];
	unsigned count = stores_of(self, map, stores);
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++)
		err = map_zero(stores[i], map);
	return err;
}

static const struct engine_ops set_ops = {
	.name = "set",
	.build = set_build,
	.attach = set_attach,
	.extend = set_extend,
	.note = set_note,
	.rearm = set_rearm,
	.run = set_run,
	.drain = set_drain,
	.wait_fd = set_wait_fd,
	.stats = set_stats,
	.faults = set_faults,
	.stop = set_stop,
	.detach = set_detach,
	.close = set_close,
	.dump = set_dump,
};

int engine_set_open(const struct engine_ops *const *kinds, unsigned count,
		    const struct engine_options *options, struct engine **out, struct diag *d)
{
	struct set *s;
	int err = 0;

	if (count == 1)
		return kinds[0]->open(options, out, d);
	if (!count || count > ENGINES_MAX)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->engine = (struct engine){
		.ops = &set_ops,
		.maps = {s, set_map_each, set_map_clear, set_map_zero, set_map_take}};
	s->grows = options->may_grow;
	s->is_held = options->is_held;
	for (; s->count < count && !err; s->count += !err) {
		err = kinds[s->count]->open(options, &s->members[s->count], d);
		s->engine.is_exposed |= !err && s->members[s->count]->is_exposed;
		s->engine.makes_wait |= !err && s->members[s->count]->makes_wait;
	}
	if (err)
		set_close(&s->engine);
	else
		*out = &s->engine;
	return err;
}
