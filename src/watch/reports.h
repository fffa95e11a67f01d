/* What the kernel reports of processes: at once when one maps a new image (dlopen, exec, memfd),
 * forks, calls exec or ends, through perf events (perf_event_open(2), PERF_RECORD_MMAP2). One ring
 * per CPU. */
#ifndef NOPAL_WATCH_REPORTS_H
#define NOPAL_WATCH_REPORTS_H

#include <poll.h>

#include "base/diag.h"
#include "watch/event.h"

struct reports;

/* Watch all processes, or who may not do that, `pid` (0: none) and the children it has from now on,
 * which takes the kernel some 10 ms. Descriptors become readable with each event, if it is
 * read at once, else when a ring is half full. -EACCES or -EPERM without the privilege; -EMFILE:
 * the process has too many threads. */
int reports_open(pid_t pid, bool at_once, struct reports **out, struct diag *d);
void reports_close(struct reports *w); /* NULL is fine */
/* Hand over all events that have come, in the order of time, also from one call to the next: what
 * a process does comes after its fork. Returns how many were lost (the rings were full): when some
 * were, look again at all. */
uint64_t reports_read(struct reports *w, watch_event_fn *fn, void *arg);
/* Its file descriptors, to poll for POLLIN: at most `max`; number of them. */
unsigned reports_fds(struct reports *w, struct pollfd *fds, unsigned max);

#endif
