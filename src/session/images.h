/* A watch on executable mappings: tells at once when a process maps a new image (dlopen, exec,
 * memfd), through the kernel's own mmap, fork and exec events (perf_event_open(2),
 * PERF_RECORD_MMAP2). One ring per CPU, all processes. */
#ifndef NOPAL_SESSION_IMAGES_H
#define NOPAL_SESSION_IMAGES_H

#include <poll.h>

#include "base/diag.h"
#include "session/news.h"

struct image_watch;

/* `at_once`: its descriptors become readable with each event, else when there are many. -EACCES or
 * -EPERM without the privilege. */
int image_watch_open(bool at_once, struct image_watch **out, struct diag *d);
void image_watch_close(struct image_watch *w); /* NULL is fine */
/* Hand over all events that have come, in the order of time. Returns how many were lost (the rings
 * were full): when some were, look again at all. */
uint64_t image_watch_read(struct image_watch *w, image_event_fn *fn, void *arg);
/* Its file descriptors, to poll for POLLIN: at most `max`; number of them. */
unsigned image_watch_fds(struct image_watch *w, struct pollfd *fds, unsigned max);

#endif
