/* Sites that go from the first member of a set to another one while the run goes on: those of files
 * that came later, which the first does not reach. A clause can be divided so if all its maps are
 * shared; what it sends is put into order by the times. */
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

static bool can_run(const struct set *s, uint8_t member, const struct engine_step *step)
{
	struct clause one = *step->clause;

	one.attaches = step->attach;
	one.attach_count = 1;
	return !split_has_own_maps(step->program, &one, s->is_shared) &&
	       !engine_can_run(s->members[member], step->program, &one, NULL);
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

static bool can_take(void *self, const struct engine_step *step)
{
	return taker_of(self, step, 1) != NO_MEMBER;
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
	return (struct engine_others){s, can_take, take, each_site};
}
