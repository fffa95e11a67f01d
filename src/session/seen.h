/* The images that have been looked at, by device, inode and its generation: a file that is mapped
 * again brings no new probe, because uprobes hold for a file wherever it is mapped. */
#ifndef NOPAL_SESSION_SEEN_H
#define NOPAL_SESSION_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/images.h"

struct seen {
	uint64_t *keys; /* owned; a hash table, 0: free */
	size_t count, cap;
};

/* True when it was not there before. Without memory everything is new. */
bool seen_add(struct seen *s, const struct image_event *mapped);
void seen_free(struct seen *s);

#endif
