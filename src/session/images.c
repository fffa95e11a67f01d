/* The image watch: one dummy perf event a CPU whose ring carries side-band records only. Records
 * come from the kernel, yet are read through the bounds gate like everything else. */
#include "session/images.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cursor.h"

#define RING_PAGES 32 /* data pages a CPU: a power of two */
#define RECORD_MAX 8192

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *head;
};

struct image_watch {
	unsigned count;
	size_t page; /* bytes of a page here */
	bool lost;
	struct cpu_ring rings[];
};

/* Only samples count as events for wakeup_events; what comes here wakes by its bytes. */
static int open_event(int cpu, bool at_once)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.mmap = 1,
		.mmap2 = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = at_once ? 1 : 0, /* 0: when the ring is half full */
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_ring(int cpu, bool at_once, size_t page, struct cpu_ring *out)
{
	void *pages;

	out->fd = open_event(cpu, at_once);
	if (out->fd < 0)
		return -errno;
	pages = mmap(NULL, (RING_PAGES + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, out->fd, 0);
	if (pages == MAP_FAILED) {
		int err = -errno;

		close(out->fd);
		return err;
	}
	out->head = pages;
	return 0;
}

int image_watch_open(bool at_once, struct image_watch **out, struct diag *d)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct image_watch *w = calloc(1, sizeof(*w) + (size_t)cpus * sizeof(w->rings[0]));
	int err = w ? 0 : -ENOMEM;

	if (w)
		w->page = (size_t)sysconf(_SC_PAGESIZE);
	for (int cpu = 0; !err && cpu < cpus; cpu++) {
		err = open_ring(cpu, at_once, w->page, &w->rings[w->count]);
		if (err == -ENODEV) /* the CPU is offline */
			err = 0;
		else if (!err)
			w->count++;
	}
	if (err) {
		image_watch_close(w);
		return diag_error(d, err, "watch-failed",
				  "cannot watch for new images: perf_event_open: %s",
				  strerror(-err));
	}
	*out = w;
	return 0;
}

void image_watch_close(struct image_watch *w)
{
	for (unsigned i = 0; w && i < w->count; i++) {
		munmap(w->rings[i].head, (RING_PAGES + 1) * w->page);
		close(w->rings[i].fd);
	}
	free(w);
}

/* Copy `len` bytes at position `at` of the ring, which may wrap. */
static void copy_out(const struct cpu_ring *ring, size_t page, uint64_t at, void *to, size_t len)
{
	const char *data = (const char *)ring->head + page;
	size_t size = RING_PAGES * page, start = at % size;
	size_t first = len < size - start ? len : size - start;

	memcpy(to, data + start, first);
	memcpy((char *)to + first, data, len - first);
}

/* { u32 pid, tid; u64 addr, len, pgoff; u32 maj, min; u64 ino, ino_generation; u32 prot, flags;
 * char filename[] } */
static bool decode_mmap(struct cursor *c, struct image_event *e)
{
	uint32_t pid, tid;

	if (!cursor_u32(c, &pid) || !cursor_u32(c, &tid) || !cursor_u64(c, &e->start) ||
	    !cursor_u64(c, &e->len) || !cursor_u64(c, &e->offset) || !cursor_u32(c, &e->major) ||
	    !cursor_u32(c, &e->minor) || !cursor_u64(c, &e->inode) ||
	    !cursor_u64(c, &e->generation) || !cursor_skip(c, 8) || !cursor_text(c, &e->path))
		return false;
	e->kind = IMAGE_MAPPED;
	e->pid = (pid_t)pid;
	return true;
}

/* { u32 pid, ppid, tid, ptid; u64 time }: of a thread when pid stays the same. */
static bool decode_task(struct cursor *c, uint32_t type, struct image_event *e)
{
	uint32_t pid, parent, tid;

	if (!cursor_u32(c, &pid) || !cursor_u32(c, &parent) || !cursor_u32(c, &tid))
		return false;
	e->kind = type == PERF_RECORD_FORK ? IMAGE_FORK : IMAGE_EXIT;
	e->pid = (pid_t)pid;
	e->parent = (pid_t)parent;
	return tid == pid;
}

static bool decode(const struct perf_event_header *head, struct cursor *c, struct image_event *e)
{
	switch (head->type) {
	case PERF_RECORD_MMAP2: return decode_mmap(c, e);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT: return decode_task(c, head->type, e);
	default: return false;
	}
}

static void read_ring(struct image_watch *w, struct cpu_ring *ring, image_event_fn *fn, void *arg)
{
	uint64_t head = atomic_load_explicit((_Atomic uint64_t *)&ring->head->data_head,
					     memory_order_acquire);
	uint64_t tail = ring->head->data_tail;
	char bytes[RECORD_MAX];

	while (tail < head) {
		struct perf_event_header record;
		struct image_event event = {0};
		struct cursor c;

		copy_out(ring, w->page, tail, &record, sizeof(record));
		if (record.size < sizeof(record) || record.size > head - tail)
			break;
		w->lost |= record.type == PERF_RECORD_LOST;
		if (record.size <= sizeof(bytes)) {
			copy_out(ring, w->page, tail, bytes, record.size);
			c = cursor_of(bytes + sizeof(record), record.size - sizeof(record), false);
			c.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
			if (decode(&record, &c, &event))
				fn(arg, &event);
		}
		tail += record.size;
	}
	atomic_store_explicit((_Atomic uint64_t *)&ring->head->data_tail, head,
			      memory_order_release);
}

bool image_watch_read(struct image_watch *w, image_event_fn *fn, void *arg)
{
	bool lost;

	for (unsigned i = 0; i < w->count; i++)
		read_ring(w, &w->rings[i], fn, arg);
	lost = w->lost;
	w->lost = false;
	return lost;
}

unsigned image_watch_fds(struct image_watch *w, struct pollfd *fds, unsigned max)
{
	unsigned count = w->count < max ? w->count : max;

	for (unsigned i = 0; i < count; i++)
		fds[i] = (struct pollfd){.fd = w->rings[i].fd, .events = POLLIN};
	return count;
}
