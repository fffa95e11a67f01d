/* What /proc says of processes: their status, their children, what files they have open. */
#ifndef NOPAL_BASE_PROC_H
#define NOPAL_BASE_PROC_H

#include <sys/types.h>

#include "base/buf.h"

/* Read the first bytes of /proc/PID/NAME by one read(2); how many, 0: it cannot be read. */
size_t process_read_start(pid_t pid, const char *name, void *out, size_t size);
/* A number of /proc/PID/stat by its place, from 1, after the second; 0: the process has ended. */
uint64_t process_stat_number(pid_t pid, unsigned place);
#define STAT_PARENT 4
#define STAT_PROGRAM \
	26 /* where its code begins; 0: it has no memory any more, or is the kernel's */

/* How many files it has open; 0 also if that cannot be seen. */
uint64_t process_count_files(pid_t pid);

/* The text of /proc/PID/status, of a process or a thread, into `text`; -errno. */
int process_status(pid_t pid, struct buf *text);
/* What its line "NAME:" says, without blanks at either end; empty: there is no such line. */
struct str process_status_line(struct str status, const char *name);
/* A number of a line such as "NSpid:\t17\t1", by its place, from 0; or the last. False: there is
 * no such line. */
#define STATUS_LAST UINT32_MAX
bool process_status_number(struct str status, const char *name, uint32_t place, uint64_t *out);

/* Each process, by number; a non-zero result of `fn` ends the walk and is returned. */
int processes_each(int (*fn)(void *arg, pid_t pid), void *arg);
/* The same for each child of a process. One may be missed while its brothers end. */
int processes_each_child(pid_t pid, int (*fn)(void *arg, pid_t pid), void *arg);

#endif
