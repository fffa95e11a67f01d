/* Which engine of a set runs each clause. */
#include "engine/set.h"

#include <errno.h>

#include "base/file.h"
#include "engine/split.h"

bool set_touches(const struct program *p, const struct clause *c, uint32_t map)
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

			if (s->is_shared[map] || !set_touches(p, &p->clauses[i], map))
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

/* ... where it reaches their sites? */
static int understands_group(const struct set *s, uint8_t member, const struct choice *c,
			     uint32_t group)
{
	int err = 0;

	for (uint32_t i = 0; i < c->p->clause_count && !err; i++)
		if (c->groups[i] == group)
			err = engine_understands(s->members[member], c->p, &c->p->clauses[i], NULL);
	return err;
}

/* The member that already has a map of the group; NO_MEMBER: none has. */
static uint8_t owner_of(const struct set *s, const struct program *p, const uint32_t *groups,
			uint32_t group)
{
	for (uint32_t map = 0; map < p->map_count; map++)
		for (uint32_t i = 0; s->owners[map] != NO_MEMBER && i < p->clause_count; i++)
			if (groups[i] == group && !s->is_shared[map] &&
			    set_touches(p, &p->clauses[i], map))
				return s->owners[map];
	return NO_MEMBER;
}

static bool is_tracers(const struct clause *c)
{
	for (uint32_t k = 0; k < c->attach_count; k++)
		if (!attach_is_tracers(&c->attaches[k]))
			return false;
	return true;
}

static bool has_tracers(const struct clause *c)
{
	for (uint32_t k = 0; k < c->attach_count; k++)
		if (attach_is_tracers(&c->attaches[k]))
			return true;
	return false;
}

/* Is a part of it also BEGIN, or another clause of the tracer, or has it a map that such a clause
 * uses? Then it cannot wait. */
static bool is_fixed(const struct set *s, const struct choice *c, uint32_t group)
{
	for (uint32_t i = 0; i < c->p->clause_count; i++) {
		const struct clause *one = &c->p->clauses[i];

		if (c->groups[i] == group && has_tracers(one) &&
		    (!is_tracers(one) || split_has_own_maps(c->p, one, s->is_shared)))
			return true;
	}
	return false;
}

bool set_waits(const struct set *s, const struct clause *c, uint8_t member)
{
	return s->is_held && !member && c->attach_count && !has_tracers(c);
}

/* The first that may run the group. While it is not known what the first of all reaches, one that
 * cannot wait is the last one's, which reaches everything. */
static uint8_t first_for(const struct set *s, const struct choice *c, uint32_t group, uint8_t owner)
{
	uint8_t last = (uint8_t)(s->count - 1);

	if (owner != NO_MEMBER)
		return owner;
	return s->is_held && is_fixed(s, c, group) && !can_run_group(s, last, c, group, NULL) ? last
											      : 0;
}

/* When no engine can run the group, the first says why. */
static int choose_member(const struct set *s, const struct choice *c, uint32_t group,
			 struct diag *d)
{
	uint8_t owner = owner_of(s, c->p, c->groups, group), *out = &c->chosen[group];
	uint8_t first = first_for(s, c, group, owner);
	uint8_t last = owner == NO_MEMBER ? (uint8_t)(s->count - 1) : owner;

	for (*out = first; *out <= last; ++*out)
		if (!can_run_group(s, *out, c, group, NULL))
			return 0;
	/* It is better disturbed than not at all, and better at some sites than at none. */
	*out = first;
	memset(c->barred, 0, c->p->clause_count);
	if (owner != NO_MEMBER && !understands_group(s, owner, c, group))
		return 0;
	return can_run_group(s, first, c, group, d);
}

#define INSTRUCTION 16 /* bytes, at most */

static bool is_near(const struct attach *a, const struct attach *b)
{
	return a->kind == ATTACH_UPROBE && b->kind == ATTACH_UPROBE && a->file && b->file &&
	       a->file->device == b->file->device && a->file->inode == b->file->inode &&
	       a->offset + INSTRUCTION > b->offset && b->offset + INSTRUCTION > a->offset;
}

/* Is a later member at or near a site of the clause that its own must have alone? */
static bool is_disturbed(const struct set *s, const struct choice *c, uint32_t clause)
{
	const struct engine *e = s->members[c->chosen[clause]];
	const struct clause *mine = &c->p->clauses[clause];

	for (uint32_t i = 0; i < c->p->clause_count && e->ops->refuses; i++) {
		const struct clause *other = &c->p->clauses[i];

		for (uint32_t k = 0; k < other->attach_count && c->chosen[i] > c->chosen[clause];
		     k++)
			for (uint32_t n = 0; n < mine->attach_count; n++)
				if (is_near(&mine->attaches[n], &other->attaches[k]) &&
				    engine_refuses(
					    e, (struct engine_task){.at = &mine->attaches[n],
								    .other = &other->attaches[k]}))
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

int set_choose(struct set *s, const struct program *p, uint8_t *chosen, struct diag *d)
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
	/* A map that clauses only print or clear goes where the first is that uses it. */
	for (uint32_t map = 0; map < p->map_count && !err; map++)
		for (uint32_t i = 0; i < p->clause_count; i++)
			if (clause_uses_map(&p->clauses[i], map) &&
			    !set_waits(s, &p->clauses[i], chosen[i]))
				s->owners[map] = chosen[i];
	return err;
}
