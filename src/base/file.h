/* Files: one that is looked up once and held, and small ones that are read whole.
 *
 * A held file is a regular file. It is read, and later given to the kernel, through the same
 * descriptor, so that it does not matter if its name leads elsewhere by then. Each holder drops it;
 * the last one closes it. */
#ifndef NOPAL_BASE_FILE_H
#define NOPAL_BASE_FILE_H

#include <sys/stat.h>

#include "base/buf.h"
#include "base/diag.h"

struct file {
	int fd;
	struct str path; /* as it was opened, for messages: safe for a terminal */
	dev_t device;
	ino_t inode;
	uint32_t generation; /* of the inode number; 0 where the file system has none */
	uid_t owner;
	mode_t mode;
	off_t size;
	struct timespec changed;
	unsigned holders;
	struct buf text; /* holds the path */
};

#define FILE_LINK_SIZE 32

/* Only regular files are opened: nothing happens to a device or a fifo. Errors: errno of open(2),
 * -EISDIR, -ENOEXEC for other things than regular files. */
int file_open(const char *path, struct file **out, struct diag *d);
/* The same as a descriptor, without a message; `flags`: 0, or O_NOFOLLOW. */
int file_open_regular(const char *path, int flags);
/* Takes the descriptor, even if it fails. */
int file_take(int fd, struct str path, struct file **out);
struct file *file_hold(struct file *f); /* returns `f` */
void file_drop(struct file *f);		/* NULL is fine */
/* The name by which the kernel takes the open file: "/proc/self/fd/7". */
void file_link(const struct file *f, char link[FILE_LINK_SIZE]);
/* Does that name lead to this very file? -ENOENT: /proc is not mounted here, or is that of another
 * PID namespace; -ESTALE: it leads to another file. With a message. */
int file_check(const struct file *f, struct diag *d);
/* A run over thousands of images holds as many descriptors: raise the soft limit to the hard one.
 * False: it cannot be raised further; errno is EMFILE again. */
bool file_raise_limit(void);
/* Is this the file that stat(2) described? */
bool file_is(const struct file *f, const struct stat *st);
/* Can only root have written to it, and is it below our own root directory, not that of another
 * mount namespace? */
bool file_is_roots(const struct file *f);

/* Append a whole file to `out`: for example of /proc, whose size is not known before. Only
 * regular files are read. -errno; -EINVAL: it is something else; -EFBIG: it has more than `most`
 * bytes. */
int file_slurp(const char *path, size_t most, struct buf *out);
/* The same of a descriptor, from where it is. */
int file_read_all(int fd, size_t most, struct buf *out);

#endif
