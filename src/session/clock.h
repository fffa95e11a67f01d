/* The times at which interval clauses are due. */
#ifndef NOPAL_SESSION_CLOCK_H
#define NOPAL_SESSION_CLOCK_H

#include "program/program.h"

struct timer {
	uint32_t clause;
	uint64_t period; /* ns */
	uint64_t due;	 /* CLOCK_MONOTONIC, ns */
};

struct clock {
	struct timer *timers; /* in the arena given to clock_init */
	size_t count, cap;
};

uint64_t clock_now(void); /* CLOCK_MONOTONIC, ns */
/* One timer for each interval the program attaches to. -ENOMEM. */
int clock_init(struct clock *c, const struct program *p);
/* All first due one period from now. */
void clock_start(struct clock *c);
/* Nanoseconds until the next timer is due; UINT64_MAX: there is none. */
uint64_t clock_next(const struct clock *c);
/* The clause of a timer that is due at `now`, which then is set for a time behind that; false when
 * none is. So asking again for the same `now` comes to an end, however short the periods. Times
 * that were missed because the machine was busy are not made up for. */
bool clock_take(struct clock *c, uint64_t now, uint32_t *clause);

#endif
