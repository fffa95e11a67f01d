/* The order of records when several engines run parts of one script. Each hands over its own in
 * order, with their times. A record is held until everything that may be older has been read: what
 * was made HOLD_NS before the engines were last looked at. The end of a run waits for nothing. */
#include <errno.h>

#include "base/clock.h"
#include "engine/set.h"

#define HOLD_NS	  5000000u
#define KEPT_MOST (16u << 20) /* bytes of one member; the rest stays in its ring */
#define ONE_DRAIN (1 << 16)   /* an engine that had as many records may have more */

struct item {
	uint64_t time, len;
};

/* One without a time has its place after the one before it. */
static int keep_record(void *arg, struct str bytes)
{
	struct member_queue *q = arg;
	struct item item = {q->from->time ? q->from->time : q->last, bytes.len};

	q->last = item.time;
	buf_add(&q->bytes, &item, sizeof(item));
	buf_add(&q->bytes, bytes.ptr, bytes.len);
	return q->bytes.failed ? -ENOMEM : 0;
}

static int take_all(struct set *s, int timeout_ms)
{
	struct order *o = &s->order;
	uint64_t horizon = o->is_held ? clock_now() - HOLD_NS : UINT64_MAX;

	for (unsigned i = 0; i < s->count; i++) {
		struct member_queue *q = &o->queues[i];
		bool is_full = q->bytes.len - q->at > KEPT_MOST;
		int n;

		q->from = s->members[i];
		n = is_full ? 0 : engine_drain(q->from, timeout_ms, keep_record, q);
		if (n < 0)
			return n;
		if ((is_full || n >= ONE_DRAIN) && q->last < horizon)
			horizon = q->last;
		timeout_ms = n ? 0 : timeout_ms;
	}
	o->horizon = horizon;
	return 0;
}

static bool first_of(const struct member_queue *q, struct item *out)
{
	if (q->at == q->bytes.len)
		return false;
	memcpy(out, q->bytes.ptr + q->at, sizeof(*out));
	return true;
}

static struct member_queue *oldest_queue(struct order *o, struct item *out)
{
	struct member_queue *found = NULL;
	struct item item;

	for (unsigned i = 0; i < ENGINES_MAX; i++) {
		if (!first_of(&o->queues[i], &item) || (found && item.time >= out->time))
			continue;
		found = &o->queues[i];
		*out = item;
	}
	return found;
}

/* What was handed over is forgotten. */
static void forget_delivered(struct member_queue *q)
{
	size_t left = q->bytes.len - q->at;

	if (!q->at || left > q->at)
		return;
	memmove(q->bytes.ptr, q->bytes.ptr + q->at, left);
	q->bytes.len = left;
	q->at = 0;
}

int order_drain(struct set *s, int timeout_ms, record_fn *fn, void *arg)
{
	struct order *o = &s->order;
	struct member_queue *q;
	struct item item;
	int err = take_all(s, timeout_ms), given = 0;

	while (!err && (q = oldest_queue(o, &item)) && item.time <= o->horizon) {
		struct str bytes = str_of(q->bytes.ptr + q->at + sizeof(item), (size_t)item.len);

		q->at += sizeof(item) + bytes.len;
		given++;
		err = fn(arg, bytes);
	}
	for (unsigned i = 0; i < ENGINES_MAX; i++)
		forget_delivered(&o->queues[i]);
	return err ? err : given;
}

bool order_is_empty(const struct order *o)
{
	struct item item;

	for (unsigned i = 0; i < ENGINES_MAX; i++)
		if (first_of(&o->queues[i], &item))
			return false;
	return true;
}

void order_free(struct order *o)
{
	for (unsigned i = 0; i < ENGINES_MAX; i++)
		buf_free(&o->queues[i].bytes);
}
