/* Which programs may load libraries or make run-time probes while they run: those in which a file
 * takes dlopen(), dlmopen() or _r_debug from another one. A C library loads some on its own, for
 * names of users or character sets: these are found when they are mapped, a few milliseconds later.
 */
#ifndef NOPAL_USER_RUN_LOADS_H
#define NOPAL_USER_RUN_LOADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LOADS_FILES 256

/* What is known of files; the oldest is replaced. All zeros: nothing. */
struct native_loads {
	struct loads_file {
		uint64_t device, inode, size; /* of its mapping of code */
		bool loads;
	} files[LOADS_FILES];
	unsigned next;
};

/* True also where that is not known. */
bool loads_may_come(struct native_loads *l, pid_t pid);

#endif
