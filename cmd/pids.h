/* The processes of several -p: the run ends with the last of them. The library knows about one. */
#ifndef NOPAL_CMD_PIDS_H
#define NOPAL_CMD_PIDS_H

#include <stdbool.h>
#include <sys/types.h>

/* Watch these processes until the program ends, at most RUN_MAX_PIDS. False after a message: one of
 * them cannot be traced. */
bool pids_watch(const pid_t *pids, unsigned count);
/* Have all of them ended? False if none is watched. */
bool pids_have_ended(void);

#endif
