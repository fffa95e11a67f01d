/* Sites that go from the first member of a set to another one while the run goes on: those of files
 * that came later, which the first does not reach. A clause can be divided so if all its maps are
 * shared; what it sends is put into order by the times. One with other maps goes with all its
 * places, and with all clauses that use these maps, while there is nothing in them. */
#include "engine/set.h"

#include <errno.h>

#include "engine/split.h"

bool set_sends(const struct program *p)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].insn_count; k++)
			if (p->clauses[i].code[k].op == OP_EMIT)
				return true;
	return false;
}

int set_note_part(struct set *s, const struct program *program, uint8_t member)
{
	struct part *part = arena_new(&s->arena, struct part);

	if (!part)
		return -ENOMEM;
	*part = (struct part){program, member, s->parts};
	s->parts = part;
	return 0;
}

static int stop_at_entry(void *arg, struct str key, struct str value)
{
	(void)arg, (void)key, (void)value;
	return 1;
}

static bool is_empty(const struct set *s, uint32_t map)
{
	return !map_each(&s->members[0]->maps, map, stop_at_entry, NULL);
}

/* A map that one engine must have, and the first one has, or none yet. */
static bool is_movable(const struct set *s, uint32_t map)
{
	return !s->is_shared[map] && (!s->owners[map] || s->owners[map] == NO_MEMBER);
}

/* How the member may have the clause, as far as its maps decide. */
static enum engine_taking maps_permit(const struct set *s, uint8_t member,
				      const struct engine_step *step)
{
	enum engine_taking out = TAKES_ALONE;

	for (uint32_t map = 0; map < s->map_count; map++) {
		if (s->is_shared[map] || s->owners[map] == member ||
		    !clause_uses_map(step->clause, map))
			continue;
		if (!is_movable(s, map) || !is_empty(s, map))
			return TAKES_NOT;
		out = TAKES_LINKED;
	}
	return out;
}

static enum engine_taking can_run(const struct set *s, uint8_t member,
				  const struct engine_step *step)
{
	struct clause one = *step->clause;

	one.attaches = step->attach;
	one.attach_count = 1;
	return engine_can_run(s->members[member], step->program, &one, NULL)
		       ? TAKES_NOT
		       : maps_permit(s, member, step);
}

/* The first of the other members that can run all the steps; NO_MEMBER. */
static uint8_t taker_of(const struct set *s, const struct engine_step *steps, size_t count)
{
	for (uint8_t member = 1; member < s->count; member++) {
		size_t i = 0;

		while (i < count && can_run(s, member, &steps[i]))
			i++;
		if (i == count)
			return member;
	}
	return NO_MEMBER;
}

static enum engine_taking can_take(void *self, const struct engine_step *step)
{
	uint8_t member = taker_of(self, step, 1);

	return member == NO_MEMBER ? TAKES_NOT : can_run(self, member, step);
}

static bool are_linked(void *self, const struct engine_step *step, const struct engine_step *other)
{
	const struct set *s = self;

	for (uint32_t map = 0; map < s->map_count; map++)
		if (is_movable(s, map) && clause_uses_map(step->clause, map) &&
		    set_touches(other->program, other->clause, map))
			return true;
	return false;
}

static void move_maps(struct set *s, const struct program *part, uint8_t member)
{
	for (uint32_t map = 0; map < s->map_count; map++)
		for (uint32_t i = 0; i < part->clause_count; i++)
			if (is_movable(s, map) && clause_uses_map(&part->clauses[i], map))
				s->owners[map] = member;
}

/* Steps of one clause come one after the other. */
static int add_step(struct set *s, struct program *part, const struct engine_step *steps,
		    size_t count, size_t at)
{
	struct clause *clauses = (struct clause *)part->clauses;
	struct clause *c = &clauses[part->clause_count];
	struct attach *attaches;
	size_t same = 1;

	if (at && steps[at - 1].clause == steps[at].clause)
		return 0; /* it came with the first */
	while (at + same < count && steps[at + same].clause == steps[at].clause)
		same++;
	attaches = arena_array(&s->arena, struct attach, same);
	if (!attaches)
		return -ENOMEM;
	*c = *steps[at].clause;
	c->attaches = attaches;
	c->attach_count = 0;
	for (size_t i = at; i < at + same; i++)
		attaches[c->attach_count++] = *steps[i].attach;
	part->clause_count++;
	return 0;
}

/* Formats, names and texts of the newest program continue those of all before. */
static struct program *make_part(struct set *s, const struct engine_step *steps, size_t count)
{
	struct program *part = arena_new(&s->arena, struct program);
	struct clause *clauses = arena_array(&s->arena, struct clause, count + 1);
	int err = 0;

	if (!part || !clauses)
		return NULL;
	*part = *s->newest;
	part->clauses = clauses;
	part->clause_count = 0;
	part->is_stamped = s->is_stamped;
	for (size_t i = 0; i < count && !err; i++)
		err = add_step(s, part, steps, count, i);
	return err ? NULL : part;
}

static int take(void *self, const struct engine_step *steps, size_t count, struct diag *d)
{
	struct set *s = self;
	struct part *before = s->parts;
	uint8_t member = taker_of(s, steps, count);
	struct program *part = make_part(s, steps, count);
	int err = member == NO_MEMBER ? -ENOTSUP : part ? 0 : -ENOMEM;

	if (!err)
		err = set_note_part(s, part, member);
	if (!err)
		err = engine_extend(s->members[member], part, d);
	if (err) {
		s->parts = before;
		return err;
	}
	move_maps(s, part, member);
	s->is_merged |= set_sends(part);
	s->is_used[member] = true;
	return 0;
}

static void each_site(void *self, site_fn *fn, void *arg)
{
	const struct set *s = self;

	for (const struct part *part = s->parts; part; part = part->next)
		for (uint32_t i = 0; part->member && i < part->program->clause_count; i++) {
			const struct clause *c = &part->program->clauses[i];

			for (uint32_t k = 0; k < c->attach_count; k++)
				if (c->attaches[k].file)
					fn(arg, &c->attaches[k]);
		}
}

struct engine_others set_others(struct set *s)
{
	return (struct engine_others){s, can_take, are_linked, take, each_site};
}
