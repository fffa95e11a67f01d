/* Interval timers: a handful of them, so a linear look is enough. */
#include "session/session.h"

#include <errno.h>
#include <time.h>

uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int clock_init(struct clock *c, const struct program *p)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].attach_count; k++) {
			const struct attach *attach = &p->clauses[i].attaches[k];

			if (attach->kind != ATTACH_INTERVAL)
				continue;
			if (arena_grow(p->arena, (void **)&c->timers, c->count, &c->cap,
				       sizeof(c->timers[0])))
				return -ENOMEM;
			c->timers[c->count++] = (struct timer){
				.clause = i, .period = attach->period ? attach->period : 1};
		}
	return 0;
}

void clock_start(struct clock *c)
{
	uint64_t now = clock_now();

	for (size_t i = 0; i < c->count; i++)
		c->timers[i].due = now + c->timers[i].period;
}

uint64_t clock_next(const struct clock *c)
{
	uint64_t now = clock_now(), next = UINT64_MAX;

	for (size_t i = 0; i < c->count; i++) {
		uint64_t left = c->timers[i].due > now ? c->timers[i].due - now : 0;

		next = left < next ? left : next;
	}
	return next;
}

/* The timer that is most overdue, or NULL. */
static struct timer *find_due(struct clock *c, uint64_t now)
{
	struct timer *first = NULL;

	for (size_t i = 0; i < c->count; i++)
		if (c->timers[i].due <= now && (!first || c->timers[i].due < first->due))
			first = &c->timers[i];
	return first;
}

bool clock_take(struct clock *c, uint64_t now, uint32_t *clause)
{
	struct timer *timer = find_due(c, now);

	if (!timer)
		return false;
	timer->due += timer->period;
	if (timer->due <= now)
		timer->due = now + timer->period;
	*clause = timer->clause;
	return true;
}
