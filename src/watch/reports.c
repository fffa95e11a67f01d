/* Dummy perf events, whose ring of each CPU carries side-band records only; see reports.h. */
#include "watch/reports.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "engine/bpf/kernel/bpf_syscall.h"
#include "watch/perf_merge.h"

#define RING_PAGES  32	 /* data pages a CPU: a power of two */
#define EVENTS_MOST 1024 /* of the threads of one process */
#define PASSES	    8	 /* over these, while there are new ones */
#define ROUNDS	    4	 /* of one reading, while there are later records */

struct cpu_ring {
	int fd, cpu;
	struct perf_event_mmap_page *head;
};

struct reports {
	unsigned count;
	uint32_t wakes_at;	  /* bytes; 0: when a ring is half full */
	size_t page;		  /* bytes of a page here */
	struct perf_ring *unread; /* while reading */
	int *events;		  /* of threads, which write into the same rings; owned */
	size_t event_count, event_cap;
	pid_t *threads; /* while opening; owned */
	size_t thread_count, thread_cap;
	struct cpu_ring rings[];
};

/* Of all processes (-1), or of a thread and all that it will start. */
static int open_event(const struct reports *w, int cpu, pid_t thread)
{
	/* Only samples count as events for wakeup_events; what comes here wakes by its bytes. */
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.inherit = thread != -1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = w->wakes_at,
	};

	return kernel_perf_open(&attr, thread, cpu);
}

static int open_ring(const struct reports *w, int cpu, pid_t thread, struct cpu_ring *out)
{
	int fd = open_event(w, cpu, thread), err = 0;

	if (fd < 0)
		return fd;
	*out = (struct cpu_ring){.fd = fd, .cpu = cpu};
	out->head =
		mmap(NULL, (RING_PAGES + 1) * w->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (out->head == MAP_FAILED) {
		err = -errno;
		close(fd);
	}
	return err;
}

static int open_rings(struct reports *w, pid_t thread)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int err = 0;

	for (int cpu = 0; !err && cpu < cpus; cpu++) {
		err = open_ring(w, cpu, thread, &w->rings[w->count]);
		if (err == -ENODEV) /* the CPU is offline */
			err = 0;
		else if (!err)
			w->count++;
	}
	return err;
}

/* ---- one process */

static bool has_thread(const struct reports *w, pid_t thread)
{
	for (size_t i = 0; i < w->thread_count; i++)
		if (w->threads[i] == thread)
			return true;
	return false;
}

static int add_event(struct reports *w, const struct cpu_ring *ring, pid_t thread)
{
	int fd, err;

	if (w->event_count == EVENTS_MOST)
		return -EMFILE;
	if (array_grow(w->events, w->event_count, w->event_cap))
		return -ENOMEM;
	fd = open_event(w, ring->cpu, thread);
	if (fd < 0)
		return fd;
	w->events[w->event_count++] = fd;
	err = ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd);
	return err ? -errno : 0;
}

/* One that has ended has no more news. */
static int add_thread(struct reports *w, pid_t thread)
{
	int err = 0;

	if (array_grow(w->threads, w->thread_count, w->thread_cap))
		return -ENOMEM;
	w->threads[w->thread_count++] = thread;
	for (unsigned i = 0; i < w->count && !err; i++)
		err = add_event(w, &w->rings[i], thread);
	return err == -ESRCH ? 0 : err;
}

static int add_threads(struct reports *w, DIR *tasks)
{
	struct dirent *task;
	int err = 0;

	rewinddir(tasks);
	while (!err && (task = readdir(tasks))) {
		pid_t thread = atoi(task->d_name);

		if (thread > 0 && !has_thread(w, thread))
			err = add_thread(w, thread);
	}
	return err;
}

/* Its first thread has the rings; those that others start meanwhile are found in the next pass. */
static int open_process(struct reports *w, pid_t pid)
{
	char path[32];
	size_t before = 0;
	DIR *tasks;
	int err = open_rings(w, pid);

	if (err)
		return err;
	if (array_grow(w->threads, w->thread_count, w->thread_cap))
		return -ENOMEM;
	w->threads[w->thread_count++] = pid;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (!tasks)
		return -errno;
	for (unsigned i = 0; i < PASSES && before < w->thread_count && !err; i++) {
		before = w->thread_count;
		err = add_threads(w, tasks);
	}
	closedir(tasks);
	return err;
}

/* ---- the watch */

static void close_events(struct reports *w)
{
	for (unsigned i = 0; i < w->count; i++) {
		munmap(w->rings[i].head, (RING_PAGES + 1) * w->page);
		close(w->rings[i].fd);
	}
	for (size_t i = 0; i < w->event_count; i++)
		close(w->events[i]);
	w->count = 0;
	w->event_count = w->thread_count = 0;
}

static int open_events(struct reports *w, pid_t pid)
{
	int err = open_rings(w, -1);

	if (!pid || (err != -EACCES && err != -EPERM))
		return err;
	close_events(w);
	return open_process(w, pid);
}

int reports_open(pid_t pid, bool at_once, struct reports **out, struct diag *d)
{
	size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF);
	struct reports *w = calloc(1, sizeof(*w) + cpus * sizeof(w->rings[0]));
	int err = w ? 0 : -ENOMEM;

	if (w)
		w->unread = calloc(cpus, sizeof(*w->unread));
	if (w && !w->unread)
		err = -ENOMEM;
	if (w) {
		w->page = (size_t)sysconf(_SC_PAGESIZE);
		w->wakes_at = at_once; /* each event is longer than that */
	}
	if (!err)
		err = open_events(w, pid);
	if (err) {
		reports_close(w);
		return diag_error(d, err, "watch-failed",
				  "cannot watch for new images: perf_event_open: %s",
				  strerror(-err));
	}
	*out = w;
	return 0;
}

void reports_close(struct reports *w)
{
	if (!w)
		return;
	close_events(w);
	free(w->unread);
	free(w->events);
	free(w->threads);
	free(w);
}

static void take_heads(struct reports *w)
{
	for (unsigned i = 0; i < w->count; i++) {
		struct perf_event_mmap_page *page = w->rings[i].head;

		w->unread[i] = (struct perf_ring){
			.data = (const char *)page + w->page,
			.size = RING_PAGES * w->page,
			.tail = page->data_tail,
			.head = atomic_load_explicit((_Atomic uint64_t *)&page->data_head,
						     memory_order_acquire),
		};
	}
}

/* Is anything left? */
static bool give_tails(struct reports *w)
{
	bool is_left = false;

	for (unsigned i = 0; i < w->count; i++) {
		atomic_store_explicit((_Atomic uint64_t *)&w->rings[i].head->data_tail,
				      w->unread[i].tail, memory_order_release);
		is_left |= w->unread[i].tail != w->unread[i].head;
	}
	return is_left;
}

/* What led to a record is in its ring before that: so it is there at the heads, if the record is
 * older than the time before these were taken. Later ones stay for the next round. */
uint64_t reports_read(struct reports *w, watch_event_fn *fn, void *arg)
{
	bool is_left = true;
	uint64_t lost = 0;

	for (unsigned i = 0; i < ROUNDS && is_left; i++) {
		uint64_t until = clock_now();

		take_heads(w);
		lost += perf_merge(w->unread, w->count, until, fn, arg);
		is_left = give_tails(w);
	}
	return lost;
}

unsigned reports_fds(struct reports *w, struct pollfd *fds, unsigned max)
{
	unsigned count = w->count < max ? w->count : max;

	for (unsigned i = 0; i < count; i++)
		fds[i] = (struct pollfd){.fd = w->rings[i].fd, .events = POLLIN};
	return count;
}
