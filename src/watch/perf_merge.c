/* The merge: of all rings, the record with the least time is next. Records come from the kernel,
 * yet are read through the bounds gate like everything else. */
#include "watch/perf_merge.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/cursor.h"

#define RECORD_MAX 8192
#define TIME_SIZE  8 /* at the end of every record */

/* Copy `len` bytes at position `at` of the ring, which may wrap. */
static void copy_out(const struct perf_ring *ring, uint64_t at, void *to, size_t len)
{
	size_t start = (size_t)(at & (ring->size - 1));
	size_t first = len < ring->size - start ? len : ring->size - start;

	memcpy(to, ring->data + start, first);
	memcpy((char *)to + first, ring->data, len - first);
}

/* { u32 pid, tid; u64 addr, len, pgoff; u32 maj, min; u64 ino, ino_generation; u32 prot, flags;
 * char filename[] } */
static bool decode_mmap(struct cursor *c, struct watch_event *e)
{
	uint32_t pid, tid;

	if (!cursor_u32(c, &pid) || !cursor_u32(c, &tid) || !cursor_u64(c, &e->start) ||
	    !cursor_u64(c, &e->len) || !cursor_u64(c, &e->offset) || !cursor_u32(c, &e->major) ||
	    !cursor_u32(c, &e->minor) || !cursor_u64(c, &e->inode) ||
	    !cursor_u64(c, &e->generation) || !cursor_skip(c, 8) || !cursor_text(c, &e->path))
		return false;
	e->kind = PROCESS_MAPPED;
	e->pid = (pid_t)pid;
	return true;
}

/* { u32 pid, ppid, tid, ptid; u64 time }: of a thread when pid stays the same. */
static bool decode_task(struct cursor *c, uint32_t type, struct watch_event *e)
{
	uint32_t pid, parent, tid;

	if (type != PERF_RECORD_FORK && type != PERF_RECORD_EXIT)
		return false;
	if (!cursor_u32(c, &pid) || !cursor_u32(c, &parent) || !cursor_u32(c, &tid))
		return false;
	e->kind = type == PERF_RECORD_FORK ? PROCESS_FORKED : PROCESS_ENDED;
	e->pid = (pid_t)pid;
	e->parent = (pid_t)parent;
	return tid == pid;
}

/* { u32 pid, tid; char comm[] }: also of threads that name themselves. */
static bool decode_comm(struct cursor *c, uint16_t misc, struct watch_event *e)
{
	uint32_t pid;

	if (!(misc & PERF_RECORD_MISC_COMM_EXEC) || !cursor_u32(c, &pid))
		return false;
	e->kind = PROCESS_EXEC;
	e->pid = (pid_t)pid;
	return true;
}

static bool decode_event(struct cursor *c, const struct perf_event_header *head,
			 struct watch_event *e)
{
	switch (head->type) {
	case PERF_RECORD_MMAP2: return decode_mmap(c, e);
	case PERF_RECORD_COMM: return decode_comm(c, head->misc, e);
	default: return decode_task(c, head->type, e);
	}
}

/* The next record's head and time. False at the end, and when the bytes cannot be a record: then
 * the rest of the ring is lost. */
static bool peek_event(struct perf_ring *ring, struct perf_event_header *head, uint64_t *time,
		       uint64_t *lost)
{
	uint64_t left = ring->head - ring->tail;

	if (!left)
		return false;
	if (left <= ring->size && left >= sizeof(*head) + TIME_SIZE) {
		copy_out(ring, ring->tail, head, sizeof(*head));
		if (head->size >= sizeof(*head) + TIME_SIZE && head->size <= left) {
			copy_out(ring, ring->tail + head->size - TIME_SIZE, time, TIME_SIZE);
			return true;
		}
	}
	ring->tail = ring->head;
	++*lost;
	return false;
}

static struct perf_ring *find_next(struct perf_ring *rings, unsigned count,
				   struct perf_event_header *head, uint64_t *time, uint64_t *lost)
{
	struct perf_ring *next = NULL;

	for (unsigned i = 0; i < count; i++) {
		struct perf_event_header one;
		uint64_t at;

		if (!peek_event(&rings[i], &one, &at, lost) || (next && at >= *time))
			continue;
		next = &rings[i];
		*head = one;
		*time = at;
	}
	return next;
}

uint64_t perf_merge(struct perf_ring *rings, unsigned count, uint64_t until, watch_event_fn *fn,
		    void *arg)
{
	struct perf_event_header head = {0};
	char bytes[RECORD_MAX];
	struct perf_ring *next;
	uint64_t time = 0, lost = 0;

	while ((next = find_next(rings, count, &head, &time, &lost)) && time <= until) {
		struct watch_event event = {.time = time};
		uint64_t gone;
		struct cursor c;

		if (head.size <= sizeof(bytes)) {
			copy_out(next, next->tail, bytes, head.size);
			c = cursor_of(bytes + sizeof(head), head.size - sizeof(head) - TIME_SIZE,
				      __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
			if (head.type == PERF_RECORD_LOST) /* { u64 id, lost } */
				lost += cursor_skip(&c, 8) && cursor_u64(&c, &gone) && gone ? gone
											    : 1;
			else if (decode_event(&c, &head, &event))
				fn(arg, &event);
		} else {
			lost++;
		}
		next->tail += head.size;
	}
	return lost;
}
