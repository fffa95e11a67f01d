/* The TSC as CLOCK_MONOTONIC, for traced processes and the records that they send. */
#ifndef NOPAL_USER_MEMORY_SHARED_CLOCK_H
#define NOPAL_USER_MEMORY_SHARED_CLOCK_H

#include "user/inside/layout.h"

struct native_store;

/* The clock as it was set last. */
struct clock_fit {
	uint64_t first_tsc, first_ns; /* the oldest sample that counts */
	uint64_t tsc, ns;	      /* the last sample */
	struct clock_line line;	      /* that holds since then */
	uint64_t next;		      /* TSC after which to sample again */
};

/* Begin; takes a few milliseconds. */
void native_clock_start(struct native_store *s);
/* Correct it, when it is time to; to be called ten times a second or more often. */
void native_clock_tick(struct native_store *s);
/* The line for a sample that follows earlier ones; what the two above use. True: the clock had to
 * jump. */
bool clock_fit_add(struct clock_fit *f, uint64_t tsc, uint64_t ns);
uint64_t clock_line_ns(const struct clock_line *line, uint64_t tsc);
/* The ticks of the TSC in `ns`, which is less than 4 s; 0: no clock was begun. */
uint64_t clock_line_ticks(const struct clock_line *line, uint64_t ns);

#define CLOCK_NAME 32

/* Is the kernel's clock now one that is read by the TSC? `name` becomes that of its clock source,
 * "" where that is not known, which counts as yes. `path`: NULL, or a file like
 * /sys/devices/system/clocksource/clocksource0/current_clocksource. */
bool native_clock_is_tsc(const char *path, char name[CLOCK_NAME]);
#endif
