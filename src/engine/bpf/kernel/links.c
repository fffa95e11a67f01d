/* Keeping links, and closing many of them at once; see links.h. */
#include "engine/bpf/kernel/links.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "engine/bpf/kernel/bpf_syscall.h"
#include "engine/bpf/kernel/features.h"

#define CLOSERS	     64
#define CLOSER_STACK (64u << 10)

int links_keep(struct links *l, int fd)
{
	if (array_grow(l->fds, l->count, l->cap)) {
		close(fd);
		return -ENOMEM;
	}
	l->fds[l->count++] = fd;
	return 0;
}

void links_cut(struct links *l, size_t first)
{
	while (l->count > first)
		close(l->fds[--l->count]);
}

int links_raw(struct links *l, struct code *c, const char *name, const char *tracepoint)
{
	struct kernel_program k = {.type = BPF_PROG_TYPE_RAW_TRACEPOINT, .name = name};
	int fd = kernel_program_load_code(c, k);
	int link = fd < 0 ? fd : kernel_link_raw(fd, tracepoint);

	if (fd >= 0)
		close(fd);
	return link < 0 ? link : links_keep(l, link);
}

int links_event_type(const char *path)
{
	FILE *f = fopen(path, "re");
	int type = -1;

	if (!f && errno == EMFILE && file_raise_limit())
		f = fopen(path, "re");
	if (!f)
		return -errno;
	if (fscanf(f, "%d", &type) != 1)
		type = -ENOENT;
	fclose(f);
	return type;
}

int links_event(struct links *l, int program_fd, int event, uint64_t cookie, struct features *f)
{
	int link = feature_has(f, FEATURE_COOKIE) ? kernel_link_perf(program_fd, event, cookie)
						  : -EINVAL;

	if (link >= 0) { /* it holds the event */
		close(event);
		return links_keep(l, link);
	}
	if (!cookie && !ioctl(event, PERF_EVENT_IOC_SET_BPF, program_fd) &&
	    !ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		return links_keep(l, event);
	link = cookie ? link : -errno;
	close(event);
	return link;
}

struct closing {
	const int *fds;
	size_t count, next;
};

static void *close_some(void *arg)
{
	struct closing *c = arg;
	size_t i;

	while ((i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->count)
		close(c->fds[i]);
	return NULL;
}

/* Closing a uprobe_multi link waits for a grace period of the kernel. Links of 40 files take 2 s
 * one after the other, and as long as one of them, 0.1 s, when all are closed at once. */
void links_close(struct links *l)
{
	struct closing c = {.fds = l->fds, .count = l->count};
	pthread_t threads[CLOSERS];
	pthread_attr_t attr;
	size_t started = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, CLOSER_STACK);
	while (started < CLOSERS && started + 1 < l->count &&
	       !pthread_create(&threads[started], &attr, close_some, &c))
		started++;
	close_some(&c);
	while (started)
		pthread_join(threads[--started], NULL);
	pthread_attr_destroy(&attr);
	free(l->fds);
	*l = (struct links){0};
}
