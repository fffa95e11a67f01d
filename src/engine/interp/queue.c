/* The queue of records. */
#include "engine/interp/state.h"

#include <errno.h>
#include <stdlib.h>

int queue_add(struct queue *q, struct str record, bool control)
{
	struct queued *r;

	if (!control && record.len > q->capacity - q->data_bytes) {
		q->lost++;
		return 0;
	}
	r = malloc(sizeof(*r) + record.len);
	if (!r)
		return -ENOMEM;
	r->next = NULL;
	r->control = control;
	r->len = record.len;
	memcpy(r->bytes, record.ptr, record.len);
	if (q->last)
		q->last->next = r;
	else
		q->first = r;
	q->last = r;
	if (!control)
		q->data_bytes += record.len;
	return 0;
}

struct queued *queue_take(struct queue *q)
{
	struct queued *r = q->first;

	if (!r)
		return NULL;
	q->first = r->next;
	if (!q->first)
		q->last = NULL;
	if (!r->control)
		q->data_bytes -= r->len;
	return r;
}

void queue_free(struct queue *q)
{
	struct queued *r;

	while ((r = queue_take(q)))
		free(r);
}
