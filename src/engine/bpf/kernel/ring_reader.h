/* The reader of a BPF ring buffer. It is mapped once, not twice in a row as usual, since mapped
 * pages count as memory of ours: a record that runs over the end is copied to a buffer. Lengths and
 * positions come from the kernel, yet none is believed beyond the ring's size. */
#ifndef NOPAL_ENGINE_BPF_KERNEL_RING_READER_H
#define NOPAL_ENGINE_BPF_KERNEL_RING_READER_H

#include "base/diag.h"

typedef int ring_fn(void *arg, struct str bytes); /* non-zero ends the drain and is returned */

struct ring {
	int fd, wait_fd;
	size_t size;	      /* of the data, a power of two */
	uint64_t *consumer;   /* one page: how far we are */
	unsigned char *pages; /* one page: how far the kernel is; then the data */
	unsigned char *bounce;
	size_t bounce_size;
};

int ring_open(struct ring *r, size_t size, struct diag *d);
void ring_close(struct ring *r); /* NULL fds are fine */
/* Hand over every record that is complete; their number, or what `fn` returned, or -EPROTO when the
 * ring is not one. */
int ring_drain(struct ring *r, ring_fn *fn, void *arg);

#endif
