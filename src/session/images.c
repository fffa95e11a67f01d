/* The image watch: one dummy perf event a CPU whose ring carries side-band records only. */
#include "session/images.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_PAGES 32 /* data pages a CPU: a power of two */

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *head;
};

struct image_watch {
	unsigned count;
	size_t page;		  /* bytes of a page here */
	struct news_ring *unread; /* while reading */
	struct cpu_ring rings[];
};

static int open_ring(int cpu, size_t page, struct cpu_ring *out)
{
	/* Only samples count as events for wakeup_events; what comes here wakes by its bytes. */
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.mmap = 1,
		.mmap2 = 1,
		.task = 1,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1, /* with each event; 0: when the ring is half full */
	};
	int err = 0;

	out->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (out->fd < 0)
		return -errno;
	out->head =
		mmap(NULL, (RING_PAGES + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, out->fd, 0);
	if (out->head == MAP_FAILED) {
		err = -errno;
		close(out->fd);
	}
	return err;
}

int image_watch_open(struct image_watch **out, struct diag *d)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct image_watch *w = calloc(1, sizeof(*w) + (size_t)cpus * sizeof(w->rings[0]));
	int err = w ? 0 : -ENOMEM;

	if (w)
		w->unread = calloc((size_t)cpus, sizeof(*w->unread));
	if (w && !w->unread)
		err = -ENOMEM;
	if (w)
		w->page = (size_t)sysconf(_SC_PAGESIZE);
	for (int cpu = 0; !err && cpu < cpus; cpu++) {
		err = open_ring(cpu, w->page, &w->rings[w->count]);
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
	if (w)
		free(w->unread);
	free(w);
}

/* All heads are taken before anything is read: what comes meanwhile is of the next time. */
uint64_t image_watch_read(struct image_watch *w, image_event_fn *fn, void *arg)
{
	uint64_t lost;

	for (unsigned i = 0; i < w->count; i++) {
		struct perf_event_mmap_page *page = w->rings[i].head;

		w->unread[i] = (struct news_ring){
			.data = (const char *)page + w->page,
			.size = RING_PAGES * w->page,
			.tail = page->data_tail,
			.head = atomic_load_explicit((_Atomic uint64_t *)&page->data_head,
						     memory_order_acquire),
		};
	}
	lost = news_read(w->unread, w->count, fn, arg);
	for (unsigned i = 0; i < w->count; i++)
		atomic_store_explicit((_Atomic uint64_t *)&w->rings[i].head->data_tail,
				      w->unread[i].head, memory_order_release);
	return lost;
}

unsigned image_watch_fds(struct image_watch *w, struct pollfd *fds, unsigned max)
{
	unsigned count = w->count < max ? w->count : max;

	for (unsigned i = 0; i < count; i++)
		fds[i] = (struct pollfd){.fd = w->rings[i].fd, .events = POLLIN};
	return count;
}
