/* The images that have been looked at, by device and inode: a file that is mapped again brings no
 * new probe, because uprobes hold for a file wherever it is mapped. */
#ifndef NOPAL_SESSION_SEEN_H
#define NOPAL_SESSION_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seen {
	uint64_t *keys; /* owned; a hash table, 0: free */
	size_t count, cap;
};

/* True when it was not there before. Without memory everything is new. */
bool seen_add(struct seen *s, uint32_t major, uint32_t minor, uint64_t inode);
void seen_free(struct seen *s);

#endif
