/* Taking maps in shared memory: reading and emptying them in one step; see take.c. */
#ifndef NOPAL_USER_MEMORY_TAKE_H
#define NOPAL_USER_MEMORY_TAKE_H

#include "user/memory/store.h"

/* map_take() */
int native_take(struct native_store *s, uint32_t map, enum format_take what, map_entry_fn *fn,
		void *arg);
/* Subtract what was given of a map without keys from its aggregate, as it was read for use `number`
 * of its entry. False: nothing is left to be shown. */
bool native_taken_rest(const struct native_store *s, uint32_t map, uint64_t number,
		       uint64_t *words);

#endif
