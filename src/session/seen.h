/* The images that have been looked at, by device, inode and its generation: a file that is mapped
 * again brings no new probe, because uprobes hold for a file wherever it is mapped. */
#ifndef NOPAL_SESSION_SEEN_H
#define NOPAL_SESSION_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/news.h"

struct seen {
	uint64_t *keys; /* owned; a hash table, 0: free */
	size_t count, cap;
};

uint64_t seen_key(const struct image_event *mapped); /* never 0 */
bool seen_has(const struct seen *s, uint64_t key);
/* True when it was not there before. Without memory everything is new. */
bool seen_add(struct seen *s, uint64_t key);
void seen_free(struct seen *s);

#endif
