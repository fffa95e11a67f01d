/* Files with probes that followed processes have mapped, as the kernel reports it: what a
 * process fires that ends before its files are looked at is missed. */
#ifndef NOPAL_USER_RUN_MISSED_H
#define NOPAL_USER_RUN_MISSED_H

#include "base/str.h"
#include "program/program.h"
#include "watch/event.h"

/* A process that has mapped such a file, and was not looked at since. */
struct missed_mapping {
	pid_t pid;
	uint64_t time;
	struct str path; /* the attachment's */
};

struct missed_look {
	pid_t pid;
	uint64_t time; /* when it began: what was mapped before is traced */
};

#define MISSED_LOOKS 256 /* news of what was mapped before these may still come */

struct missed {
	struct missed_mapping *waiting; /* owned; one of each process */
	size_t count, cap;
	struct missed_look looks[MISSED_LOOKS];
	size_t next_look;
	uint64_t missed;  /* processes that have ended */
	struct str first; /* the file of the first one */
};

/* The process has mapped a file with probes of this attachment. Without memory it counts as missed.
 */
void missed_mapped(struct missed *t, const struct watch_event *news, const struct attach *at);
/* The process is traced as far as it had files mapped when the look at them began. */
void missed_looked(struct missed *t, pid_t pid, uint64_t began);
/* The program of the process has ended. */
void missed_ended(struct missed *t, pid_t pid);
/* How many were missed, if those that wait are not looked at any more; *first: the first file. */
uint64_t missed_count(const struct missed *t, struct str *first);
void missed_free(struct missed *t);

#endif
