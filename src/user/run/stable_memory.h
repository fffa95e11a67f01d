/* Which memory of a traced process its trampolines may read without asking: what cannot vanish
 * while a thread is at a site. All other memory, the heap too, can be unmapped by another thread
 * between a check and the load that relies on it. */
#ifndef NOPAL_USER_RUN_STABLE_MEMORY_H
#define NOPAL_USER_RUN_STABLE_MEMORY_H

#include "user/inside/layout.h"

struct inject;

/* The program that the process runs and its main thread's stack, into the ranges of the page; all
 * else of it is kept. -ESRCH, -ENOMEM. */
int stable_ranges(struct inject *x, struct process_page *out);
/* The image that the code at `pc` belongs to, uninitialised data included: unmapping it takes
 * the code away, too. start 0: none was found. */
struct memory_range stable_image(struct inject *x, uint64_t pc);

#endif
