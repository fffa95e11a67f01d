#include "base/clock.h"

#define NSEC_PER_SEC INT64_C(1000000000)

int64_t clock_read(clockid_t id)
{
	struct timespec t = {0, 0};

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

uint64_t clock_now(void)
{
	return (uint64_t)clock_read(CLOCK_MONOTONIC);
}

int64_t clock_wall_offset(void)
{
	/* The smallest of a few pairs: a preemption between the two clocks would shift it. */
	int64_t best = 0, best_gap = INT64_MAX;

	for (int i = 0; i < 5; i++) {
		int64_t before = clock_read(CLOCK_MONOTONIC);
		int64_t wall = clock_read(CLOCK_REALTIME);
		int64_t gap = clock_read(CLOCK_MONOTONIC) - before;

		if (gap >= best_gap)
			continue;
		best_gap = gap;
		best = wall - before - gap / 2;
	}
	return best;
}

int64_t clock_slept(void)
{
	int64_t slept = clock_read(CLOCK_BOOTTIME) - clock_read(CLOCK_MONOTONIC);

	return slept > NSEC_PER_SEC / 1000 ? slept : 0; /* less is the time between both */
}
