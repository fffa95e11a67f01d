/* Open links, which is all that holds our probes: when their fds are gone, by whatever way, so are
 * the probes and the raised semaphores. */
#ifndef NOPAL_ENGINE_BPF_KERNEL_LINKS_H
#define NOPAL_ENGINE_BPF_KERNEL_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code;
struct features;

struct links {
	int *fds;
	size_t count, cap;
	bool is_slow; /* some are perf events of uprobes: see stop.c */
};

/* The links take over the descriptor; -ENOMEM closes it. */
int links_keep(struct links *l, int fd);
/* The program to one event of perf, which is taken over, with a cookie where the kernel can. */
int links_event(struct links *l, int program_fd, int event, uint64_t cookie, struct features *f);
/* A program of ours, for one of the kernel's tracepoints by its name alone; the code is freed. */
int links_raw(struct links *l, struct code *c, const char *name, const char *tracepoint);
/* The number in such a file of /sys; -errno. */
int links_event_type(const char *path);
/* Close those from number `first` on. */
void links_cut(struct links *l, size_t first);
/* Close all. A perf event takes the kernel a tenth of a second: several are closed at once. */
void links_close(struct links *l);

#endif
