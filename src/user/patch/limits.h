/* The limits of a process, looked at before anything is mapped in it. */
#ifndef NOPAL_USER_PATCH_LIMITS_H
#define NOPAL_USER_PATCH_LIMITS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"

/* May `size` bytes of shared memory and code be mapped in the process, and would it not miss them?
 * -ENOSPC with a message: a limit is too near. */
int inject_check_limits(pid_t pid, uint64_t size, struct diag *d);
/* An error: the process has no number left for a descriptor. */
int limits_refuse_files(pid_t pid, struct diag *d);

/* Has it locked any memory, or is that not known? */
/* Has it locked any memory, or is that not known? (limits.c) */
bool process_locks_memory(pid_t pid);

#endif
