/* The numbers that the kernel has for cgroups (version 2): what `cgroup` is in a script. */
#ifndef NOPAL_CMD_CGROUP_H
#define NOPAL_CMD_CGROUP_H

#include <stdint.h>

enum cgroup_kind {
	CGROUP_PATH,	  /* a folder, or its path below the mount */
	CGROUP_UNIT,	  /* systemd's: "nginx" or "nginx.service" */
	CGROUP_CONTAINER, /* the ID of a container, or how it begins */
};

/* Store the numbers of all cgroups that `name` means, and of those below them. How many there are,
 * which may be more than `most`; 0: none; -1: there is no cgroup2 file system. */
int cgroup_find(enum cgroup_kind kind, const char *name, uint64_t *ids, int most);
/* The message of a name that no cgroup has, with one "%s". */
const char *cgroup_missing(enum cgroup_kind kind);

#endif
