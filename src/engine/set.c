/* A set of engines. Each gets a program of its own with some of the clauses, and with
 * all maps, formats and names, so that their numbers mean the same everywhere. */
#include "engine/engine.h"
#include "base/file.h"
#include "engine/split.h"

#include <errno.h>
#include <stdlib.h>

#define NO_MEMBER UINT8_MAX

/* Where a clause of the first program runs. */
struct seat {
	uint8_t member;
	uint32_t clause; /* its number there */
};

struct set {
	struct engine engine; /* first: what others hold */
	struct arena arena;
	struct engine *members[ENGINES_MAX];
	bool is_used[ENGINES_MAX]; /* it has clauses */
	unsigned count;
	uint8_t *owners; /* of each map: the member whose clauses use it, or NO_MEMBER */
	bool *is_shared; /* of each map: each member may have a part of it */
	const struct map_def *maps;
	bool grows; /* it may be extended: then nothing is shared */
	uint32_t map_count;
	struct seat *seats;
	uint32_t seat_count;
};

/* ---- which clause goes where */

/* Does the clause use the map, directly or by what it asks the session to do: print(@m)? */
static bool touches(const struct program *p, const struct clause *c, uint32_t map)
{
	for (uint32_t i = 0; i < c->insn_count; i++) {
		const struct format *f =
			c->code[i].op == OP_EMIT ? &p->formats[c->code[i].imm] : NULL;

		if (f && f->map == map &&
		    (f->kind == FORMAT_PRINT || f->kind == FORMAT_CLEAR || f->kind == FORMAT_ZERO ||
		     f->kind == FORMAT_MAP_VALUE))
			return true;
	}
	return clause_uses_map(c, map);
}

/* groups[i] becomes the same number for all clauses that are linked by maps. */
static void find_groups(const struct set *s, const struct program *p, uint32_t *groups)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		groups[i] = i;
	for (uint32_t map = 0; map < p->map_count; map++) {
		uint32_t to = UINT32_MAX;

		for (uint32_t i = 0; i < p->clause_count; i++) {
			uint32_t from = groups[i];

			if (s->is_shared[map] || !touches(p, &p->clauses[i], map))
				continue;
			to = to == UINT32_MAX ? from : to;
			for (uint32_t k = 0; k < p->clause_count; k++)
				groups[k] = groups[k] == from ? to : groups[k];
		}
	}
}

/* Clauses, and what is known of where they run. */
struct choice {
	const struct program *p;
	const uint32_t *groups;
	uint8_t *chosen; /* the member of each clause */
	uint8_t *barred; /* of each clause: members below this one must not run it */
};

/* Can the member run every clause of the group? */
static int can_run_group(const struct set *s, uint8_t member, const struct choice *c,
			 uint32_t group, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; i < c->p->clause_count && !err; i++)
		if (c->groups[i] == group)
			err = member < c->barred[i] ? -EBUSY
						    : engine_can_run(s->members[member], c->p,
								     &c->p->clauses[i], d);
	return err;
}

/* The member that already has a map of the group; NO_MEMBER: none has. */
static uint8_t owner_of(const struct set *s, const struct program *p, const uint32_t *groups,
			uint32_t group)
{
	for (uint32_t map = 0; map < p->map_count; map++)
		for (uint32_t i = 0; s->owners[map] != NO_MEMBER && i < p->clause_count; i++)
			if (groups[i] == group && touches(p, &p->clauses[i], map))
				return s->owners[map];
	return NO_MEMBER;
}

/* When no engine can run the group, the first says why. */
static int choose_member(const struct set *s, const struct choice *c, uint32_t group,
			 struct diag *d)
{
	uint8_t owner = owner_of(s, c->p, c->groups, group), *out = &c->chosen[group];
	uint8_t first = owner == NO_MEMBER ? 0 : owner;
	uint8_t last = owner == NO_MEMBER ? (uint8_t)(s->count - 1) : owner;

	for (*out = first; *out <= last; ++*out)
		if (!can_run_group(s, *out, c, group, NULL))
			return 0;
	/* It is better disturbed than not at all. */
	*out = first;
	memset(c->barred, 0, c->p->clause_count);
	return can_run_group(s, first, c, group, d);
}

static bool is_same_site(const struct attach *a, const struct attach *b)
{
	return a->kind == ATTACH_UPROBE && b->kind == ATTACH_UPROBE && a->file && b->file &&
	       a->file->device == b->file->device && a->file->inode == b->file->inode &&
	       a->offset == b->offset;
}

/* Is a later member at a site of the clause that its own must have alone? */
static bool is_disturbed(const struct set *s, const struct choice *c, uint32_t clause)
{
	const struct engine *e = s->members[c->chosen[clause]];
	const struct clause *mine = &c->p->clauses[clause];

	for (uint32_t i = 0; i < c->p->clause_count && e->ops->shares_site; i++) {
		const struct clause *other = &c->p->clauses[i];

		for (uint32_t k = 0; k < other->attach_count && c->chosen[i] > c->chosen[clause];
		     k++)
			for (uint32_t n = 0; n < mine->attach_count; n++)
				if (is_same_site(&mine->attaches[n], &other->attaches[k]) &&
				    !e->ops->shares_site(e, &mine->attaches[n]))
					return true;
	}
	return false;
}

/* Bar clauses from members whose sites others disturb; true: there are some. */
static bool bar_disturbed(const struct set *s, struct choice *c)
{
	bool any = false;

	for (uint32_t i = 0; i < c->p->clause_count; i++)
		if (is_disturbed(s, c, i)) {
			c->barred[i] = (uint8_t)(c->chosen[i] + 1);
			any = true;
		}
	return any;
}

static int choose_once(const struct set *s, const struct choice *c, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; i < c->p->clause_count && !err; i++)
		if (c->groups[i] == i)
			err = choose_member(s, c, i, d);
	for (uint32_t i = 0; i < c->p->clause_count; i++)
		c->chosen[i] = c->chosen[c->groups[i]];
	return err;
}

/* chosen[i] becomes the member of clause i. */
static int choose_members(struct set *s, const struct program *p, uint8_t *chosen, struct diag *d)
{
	uint32_t *groups = arena_array(&s->arena, uint32_t, p->clause_count + 1);
	uint8_t *barred = arena_array(&s->arena, uint8_t, p->clause_count + 1);
	struct choice c = {p, groups, chosen, barred};
	int err;

	if (!groups || !barred)
		return -ENOMEM;
	find_groups(s, p, groups);
	err = choose_once(s, &c, d);
	/* A clause that goes to a later member may be at sites of others. */
	for (uint32_t i = 0; i < p->clause_count && !err && bar_disturbed(s, &c); i++)
		err = choose_once(s, &c, d);
	for (uint32_t map = 0; map < p->map_count && !err; map++)
		for (uint32_t i = 0; i < p->clause_count; i++)
			if (touches(p, &p->clauses[i], map))
				s->owners[map] = chosen[i];
	return err;
}

/* ---- programs */

/* The part of `p` that runs on a member; NULL: -ENOMEM. */
static const struct program *part_of(struct set *s, const struct program *p, const uint8_t *chosen,
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

/* Seats of clauses that run by number are those of their only part. */
static int set_build(struct engine *engine, const struct program *whole, struct diag *d)
{
	struct set *s = (struct set *)engine;
	uint32_t used[ENGINES_MAX] = {0};
	const struct program *p;
	struct split split;
	uint8_t *chosen;
	int err = s->grows ? split_nothing(&s->arena, whole, &split)
			   : split_program(&s->arena, s->members[0], whole, &split);

	if (err)
		return err;
	p = split.program;
	s->is_shared = split.is_shared;
	s->maps = p->maps;
	chosen = arena_array(&s->arena, uint8_t, p->clause_count + 1);
	s->owners = arena_array(&s->arena, uint8_t, p->map_count + 1);
	s->seats = arena_array(&s->arena, struct seat, whole->clause_count + 1);
	if (!chosen || !s->owners || !s->seats)
		return -ENOMEM;
	memset(s->owners, NO_MEMBER, p->map_count);
	s->map_count = p->map_count;
	err = choose_members(s, p, chosen, d);
	for (uint8_t i = 0; i < s->count && !err; i++) {
		const struct program *part = part_of(s, p, chosen, i);

		s->is_used[i] = part && part->clause_count;
		err = part ? engine_build(s->members[i], part, d) : -ENOMEM;
	}
	for (uint32_t i = 0; i < p->clause_count && !err; i++)
		s->seats[split.origins[i]] = (struct seat){chosen[i], used[chosen[i]]++};
	s->seat_count = whole->clause_count;
	return err;
}

/* When one member fails, those before it give their parts back. */
static int set_extend(struct engine *engine, const struct program *p, struct diag *d)
{
	struct set *s = (struct set *)engine;
	uint8_t *chosen = arena_array(&s->arena, uint8_t, p->clause_count + 1);
	uint8_t *owners = arena_array(&s->arena, uint8_t, s->map_count + 1);
	bool extended[ENGINES_MAX] = {false};
	int err;

	if (!chosen || !owners)
		return -ENOMEM;
	memcpy(owners, s->owners, s->map_count);
	err = choose_members(s, p, chosen, d);
	for (uint8_t i = 0; i < s->count && !err; i++) {
		const struct program *part = part_of(s, p, chosen, i);

		if (!part)
			err = -ENOMEM;
		else if (part->clause_count)
			err = engine_extend(s->members[i], part, d);
		extended[i] = !err && part->clause_count;
	}
	for (unsigned i = 0; i < s->count; i++) {
		s->is_used[i] |= extended[i] && !err;
		if (err && extended[i])
			s->members[i]->ops->retract(s->members[i]);
	}
	if (err)
		s->owners = owners;
	return err;
}

/* ---- what all members do */

static int set_attach(struct engine *engine, struct diag *d)
{
	struct set *s = (struct set *)engine;
	int err = 0;

	for (unsigned i = 0; i < s->count; i++)
		err = err ? err : engine_attach(s->members[i], d);
	return err;
}

static void set_learn(struct engine *engine)
{
	struct set *s = (struct set *)engine;

	for (unsigned i = 0; i < s->count; i++)
		engine_learn(s->members[i]);
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

static int set_run(struct engine *engine, enum attach_kind kind, uint32_t clause, struct diag *d)
{
	struct set *s = (struct set *)engine;
	struct seat seat;

	if (clause >= s->seat_count)
		return 0;
	seat = s->seats[clause];
	return engine_run(s->members[seat.member], kind, seat.clause, d);
}

static int set_drain(struct engine *engine, int timeout_ms, record_fn *fn, void *arg)
{
	struct set *s = (struct set *)engine;
	int total = 0;

	engine->is_ended = true;
	for (unsigned i = 0; i < s->count; i++) {
		int n = engine_drain(s->members[i], total ? 0 : timeout_ms, fn, arg);

		if (n < 0)
			return n;
		total += n;
		engine->is_ended &= !s->is_used[i] || s->members[i]->is_ended;
	}
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
		out->lost_scratch += one.lost_scratch;
		out->loop_limits += one.loop_limits;
		out->children += one.children;
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

static void each(struct engine *engine, void (*act)(struct engine *e))
{
	struct set *s = (struct set *)engine;

	for (unsigned i = 0; i < s->count; i++)
		act(s->members[i]);
}

static void set_stop(struct engine *engine)
{
	each(engine, engine_stop);
}

static void set_detach(struct engine *engine)
{
	each(engine, engine_detach);
}

static void set_dump(struct engine *engine, struct buf *out)
{
	struct set *s = (struct set *)engine;

	for (unsigned i = 0; i < s->count; i++)
		engine_dump(s->members[i], out);
}

static void set_close(struct engine *engine)
{
	each(engine, engine_close);
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

static int set_map_each(void *self, uint32_t map, map_entry_fn *fn, void *arg)
{
	const struct map_store *stores[ENGINES_MAX];
	struct set *s = self;
	unsigned count = stores_of(s, map, stores);

	return count == 1 ? map_each(stores[0], map, fn, arg)
			  : split_map_each(stores, count, &s->maps[map], map, fn, arg);
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
	.rearm = set_rearm,
	.learn = set_learn,
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
	s->engine =
		(struct engine){&set_ops, {s, set_map_each, set_map_clear, set_map_zero}, false};
	s->grows = options->may_grow;
	for (; s->count < count && !err; s->count += !err)
		err = kinds[s->count]->open(options, &s->members[s->count], d);
	if (err)
		set_close(&s->engine);
	else
		*out = &s->engine;
	return err;
}
