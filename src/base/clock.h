/* The clocks of the machine, in nanoseconds. */
#ifndef NOPAL_BASE_CLOCK_H
#define NOPAL_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

int64_t clock_read(clockid_t id);
/* CLOCK_MONOTONIC: what runs and waits are counted by. */
uint64_t clock_now(void);
/* What to add to a CLOCK_MONOTONIC time to get the time of day. */
int64_t clock_wall_offset(void);
/* How long the machine has slept since it was started, nanoseconds: CLOCK_BOOTTIME -
 * CLOCK_MONOTONIC. */
int64_t clock_slept(void);

#endif
