/* For code that works on shared memory, compiled into the test behind this header: something
 * happens before some of its accesses, in the middle of whatever it does. */
#ifndef NOPAL_TESTS_HELP_HOOK_H
#define NOPAL_TESTS_HELP_HOOK_H

#include <stdint.h>

#define WORDS_HOOK() hook()
void hook(void);

/* On average once in half of `every` accesses of each thread; NULL: nothing happens. */
void hook_set(void (*fn)(void), unsigned every);

/* What may happen: another thread gets the CPU. */
void let_others_run(void);

/* This process is killed before one of its next `most` accesses. */
void hook_kill(uint64_t seed, unsigned most);

/* A sequence of numbers that look random; not from 0. */
uint64_t next_random(uint64_t *random);

#endif
