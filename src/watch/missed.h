/* Files with probes that followed processes have mapped, as the kernel reports it: what a
 * process fires that ends before its files are looked at is missed. */
#ifndef NOPAL_WATCH_MISSED_H
#define NOPAL_WATCH_MISSED_H

#include "watch/watch.h"

/* The process has mapped a file with probes; the path is borrowed. */
void missed_mapped(struct watch *w, const struct watch_event *event, struct str path);
/* The process is traced as far as it had files mapped when the look at them began: what was mapped
 * before may still be reported. */
void missed_looked(struct watch *w, pid_t pid, uint64_t began);
/* The program of the process has ended; NULL is fine. */
void missed_ended(struct watch *w, struct watch_process *p);
/* How many were missed, if those that wait are not looked at any more; *first: the first file. */
uint64_t missed_count(const struct watch *w, struct str *first);

#endif
