/* Ending a run: programs stop, then their links are closed. One uprobe_multi link closes in a
 * moment. Kernels without it have a perf event for each site and take some 50 ms to close one, one
 * after the other; so they are closed by a child process that has nothing else to do. When that is
 * killed, the kernel closes what is left. */
#include "engine/bpf/run/bpf.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/bpf/kernel/control.h"
#include "engine/bpf/run/helper.h"

#define QUIET_MS   1000 /* for programs that were running, and may wait for a page of a disk */
#define IN_MAPS_MS 10000

/* Until every stripe of a count of programs has been seen at 0: those that begin later see what was
 * written before this was called. */
static bool wait_for_programs(const struct bpf_engine *e, unsigned count, int most_ms)
{
	for (unsigned stripe = 0; stripe < SENT_STRIPES; stripe++) {
		const uint64_t *word = &e->control[count + stripe * SENT_STRIDE / 8];

		for (; __atomic_load_n(word, __ATOMIC_SEQ_CST); poll(NULL, 0, 1))
			if (!most_ms--)
				return false;
	}
	return true;
}

bool bpf_stop_programs(struct bpf_engine *e)
{
	if (!e->control)
		return true;
	__atomic_store_n(&e->control[CONTROL_STOP], 1, __ATOMIC_SEQ_CST);
	return e->world.counts_running && wait_for_programs(e, CONTROL_RUNNING, QUIET_MS);
}

/* A program that changes a map never sleeps; it may only have to wait for its CPU. Beyond that
 * time, what it adds may be lost, and is counted so. */
void bpf_wait_for_maps(void *engine)
{
	struct bpf_engine *e = engine;

	if (wait_for_programs(e, CONTROL_IN_MAPS, IN_MAPS_MS))
		return;
	for (unsigned stripe = 0; stripe < SENT_STRIPES; stripe++)
		__atomic_fetch_add(
			&e->control[CONTROL_LOST_UPDATES],
			__atomic_load_n(&e->control[CONTROL_IN_MAPS + stripe * SENT_STRIDE / 8],
					__ATOMIC_SEQ_CST),
			__ATOMIC_RELAXED);
}

static int compare_fds(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* In the child, after fork. Who closes a link last does the work, so it waits until the tracer has
 * closed its own: then the other end of the socket is closed, too. */
static void detach_last(const int *fds, size_t count, int socket)
{
	char byte;

	bpf_become_helper("nopal-detach", fds, count);
	if (read(socket, &byte, 1) < 0)
		byte = 0; /* there is none */
	_exit(0);	  /* which closes them */
}

bool bpf_hand_over(struct bpf_engine *e)
{
	const struct links *u = &e->uprobes, *l = &e->links;
	size_t count = u->count + l->count;
	int *fds = calloc(count + 1, sizeof(*fds)), ends[2] = {-1, -1};
	bool can_wait; /* else the work may be ours after all */
	pid_t pid;

	if (!fds)
		return false;
	can_wait = !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
	if (u->count)
		memcpy(fds, u->fds, u->count * sizeof(*fds));
	if (l->count)
		memcpy(fds + u->count, l->fds, l->count * sizeof(*fds));
	if (can_wait)
		fds[count++] = ends[0];
	qsort(fds, count, sizeof(*fds), compare_fds);
	pid = fork();
	if (pid == 0)
		detach_last(fds, count, ends[0]);
	free(fds);
	if (pid > 0) {
		links_close(&e->uprobes); /* at once: the child has them, too */
		links_close(&e->links);
	}
	if (can_wait) {
		close(ends[0]);
		close(ends[1]);
	}
	return pid > 0;
}
