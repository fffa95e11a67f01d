/* The files a process has mapped as code, and how to open each of them: also files that were
 * deleted, memfds, and files of other mount namespaces. */
#ifndef NOPAL_FIND_MAPS_H
#define NOPAL_FIND_MAPS_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"

struct mapped_file {
	pid_t pid;
	struct str path; /* as the kernel knows it, " (deleted)" included */
	bool deleted;
	uint64_t start, end; /* of its first executable mapping */
	uint64_t inode;
};

/* Non-zero ends the walk and is returned. Text is borrowed until the callback returns. */
typedef int mapped_fn(void *arg, const struct mapped_file *file);

/* Each file once a run of its mappings. `text` is room for the maps, to be used again. -ESRCH: the
 * process is gone; -EACCES. */
int maps_each(pid_t pid, struct buf *text, mapped_fn *fn, void *arg);
/* The same of what was read. */
int maps_parse(struct str text, pid_t pid, mapped_fn *fn, void *arg);

/* A name that open(2) takes for a mapped file, into `name`, and what stat(2) says of it. Only
 * regular files. -ENOENT: it cannot be had (any more, or by this user). */
int mapped_file_locate(const struct mapped_file *file, struct buf *name, struct stat *st);

/* Each process; a non-zero result of `fn` ends the walk and is returned. */
int processes_each(int (*fn)(void *arg, pid_t pid), void *arg);

#endif
