/* Files with probes that followed processes have mapped, as the kernel reports it: what a
 * process fires that ends before its files are looked at is missed. */
#ifndef NOPAL_USER_RUN_MISSED_H
#define NOPAL_USER_RUN_MISSED_H

#include "base/str.h"
#include "engine/engine.h"

/* A process that has mapped such a file, and was not looked at since. */
struct trail_mapping {
	pid_t pid;
	uint64_t time;
	struct str path; /* the attachment's */
};

struct trail_look {
	pid_t pid;
	uint64_t time; /* when it began: what was mapped before is traced */
};

#define TRAIL_LOOKS 256 /* news of what was mapped before these may still come */

struct native_trail {
	struct trail_mapping *waiting; /* owned; one of each process */
	size_t count, cap;
	struct trail_look looks[TRAIL_LOOKS];
	size_t next_look;
	uint64_t missed;  /* processes that have ended */
	struct str first; /* the file of the first one */
};

/* The process has mapped a file with probes of this attachment. Without memory it counts as missed.
 */
void trail_mapped(struct native_trail *t, const struct engine_news *news, const struct attach *at);
/* The process is traced as far as it had files mapped when the look at them began. */
void trail_looked(struct native_trail *t, pid_t pid, uint64_t began);
/* The program of the process has ended. */
void trail_ended(struct native_trail *t, pid_t pid);
/* How many were missed, if those that wait are not looked at any more; *first: the first file. */
uint64_t trail_missed(const struct native_trail *t, struct str *first);
void trail_free(struct native_trail *t);

#endif
