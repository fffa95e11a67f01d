/* What processes have mapped as code: the one parser of /proc/PID/maps, and the ways to the file of
 * a mapping: also when it was deleted, is a memfd, or is of another mount namespace. */
#ifndef NOPAL_SYMBOLS_MAPS_H
#define NOPAL_SYMBOLS_MAPS_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"

/* One mapping. */
struct mapped_file {
	pid_t pid;
	uint64_t start, end;
	char access[4];	 /* "r-xp" */
	uint64_t offset; /* of `start` in the file */
	uint64_t device; /* major << 32 | minor */
	uint64_t inode;	 /* 0: no file */
	struct str path; /* as the kernel names it: "/usr/bin/x (deleted)", "[vdso]", "" */
};

#define MAPPED_DELETED " (deleted)" /* what the kernel adds to the path of such a file */

bool mapped_is_deleted(const struct mapped_file *file);

/* Non-zero ends the walk and is returned. Text is borrowed until the callback returns. */
typedef int mapped_fn(void *arg, const struct mapped_file *file);

/* The text of /proc/PID/maps, into `text`. -ESRCH: the process has ended; -EACCES. */
int maps_read(pid_t pid, struct buf *text);
/* Each executable mapping in that text. */
int maps_parse(struct str text, pid_t pid, mapped_fn *fn, void *arg);
/* Each mapping, of data too. */
int maps_parse_all(struct str text, pid_t pid, mapped_fn *fn, void *arg);
/* Each mapping of code that has a file, but not its path or access, read from the process: much
 * faster than the text. -ENOTSUP: this kernel has no such call; -ESRCH: the process has ended, or
 * is a thread of the kernel; -EACCES. */
int maps_each_code(pid_t pid, mapped_fn *fn, void *arg);
/* Each file that the process has mapped as code, by its first executable mapping; again when the
 * mappings of another file came between. `text` is a buffer for the maps. */
int maps_each_file(pid_t pid, struct buf *text, mapped_fn *fn, void *arg);
int maps_parse_files(struct str text, pid_t pid, mapped_fn *fn, void *arg);

/* A name that open(2) takes for a mapped file, into `name`, and what stat(2) says of it. Only
 * regular files. -ENOENT: the file cannot be reached (any more, or by this user). */
int mapped_file_locate(const struct mapped_file *file, struct buf *name, struct stat *st);
/* A descriptor of a mapped file. Its process may be gone and its number another's, so no way to
 * another inode is taken. -ENOENT as above. */
int mapped_file_open(const struct mapped_file *file);

#endif
