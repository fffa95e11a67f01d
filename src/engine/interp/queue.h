/* The interpreter's records on their way to the reader. Data records share a ring of fixed size and
 * are counted when it is full; control records always find room. Both come out in the order they
 * went in. */
#ifndef NOPAL_ENGINE_INTERP_QUEUE_H
#define NOPAL_ENGINE_INTERP_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct queued {
	struct queued *next;
	bool control;
	size_t len;
	char bytes[];
};

struct queue {
	struct queued *first, *last;
	size_t data_bytes; /* of the data records that wait */
	size_t capacity;   /* for data records */
	uint64_t lost;
};

/* Add a copy of a record. 0, also when it is lost and counted; -ENOMEM. */
int queue_add(struct queue *q, struct str record, bool control);
/* Take the oldest record; the caller frees it. NULL: none. */
struct queued *queue_take(struct queue *q);
void queue_free(struct queue *q);

#endif
