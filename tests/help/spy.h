/* A tracer without a kernel: puts a jump into a probe's stub, as a tracer puts its breakpoint, to a
 * function that notes down the twelve values it was called with. For tests in one process. */
#ifndef NOPAL_TESTS_HELP_SPY_H
#define NOPAL_TESTS_HELP_SPY_H

#include "nopal/runtime.h"

struct spy {
	uint64_t words[NOPAL_MAX_VALUES];
	unsigned long calls;
};

extern struct spy spied; /* what spy_on() noted last */

unsigned char *spy_stub(const struct nopal_probe *p);

/* Change a stub's bytes in this process alone; the image is mapped private. */
void spy_write(const struct nopal_probe *p, const void *bytes, size_t len);

/* 16 bytes, no more than a stub has. */
void spy_on(const struct nopal_probe *p);

#endif
