/* Opening files once; see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

bool file_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max) {
		errno = EMFILE;
		return false;
	}
	limit.rlim_cur = limit.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_raising(const char *path, int flags)
{
	int fd = open(path, flags);

	if (fd < 0 && errno == EMFILE && file_raise_limit())
		fd = open(path, flags);
	return fd < 0 ? -errno : fd;
}

/* Opening a device or a fifo can have effects, so the name is opened with O_PATH first, and then
 * read only if it is a regular file. Without /proc its name must do, if it still leads to the same
 * file. */
int file_open_regular(const char *path, int flags)
{
	int path_fd = open_raising(path, O_PATH | O_CLOEXEC | flags), fd;
	char link[FILE_LINK_SIZE];
	struct stat was = {0}, st;

	if (path_fd < 0)
		return path_fd;
	file_link(&(struct file){.fd = path_fd}, link);
	fd = fstat(path_fd, &was)   ? -errno
	     : S_ISREG(was.st_mode) ? open_raising(link, READ_FLAGS)
	     : S_ISDIR(was.st_mode) ? -EISDIR
				    : -ENOEXEC;
	close(path_fd);
	if (fd != -ENOENT || !S_ISREG(was.st_mode))
		return fd;
	fd = open_raising(path, READ_FLAGS | flags);
	if (fd < 0 || (!fstat(fd, &st) && st.st_dev == was.st_dev && st.st_ino == was.st_ino))
		return fd;
	close(fd);
	return -ESTALE;
}

static uint32_t generation_of(int fd)
{
	unsigned number[2] = {0}; /* some file systems write a long */

	return ioctl(fd, FS_IOC_GETVERSION, number) ? 0 : number[0];
}

int file_take(int fd, struct str path, struct file **out)
{
	struct file *f = calloc(1, sizeof(*f));
	struct buf safe = BUF_INIT;
	struct stat st;
	int err = f ? 0 : -ENOMEM;

	buf_escaped(&safe, path);
	if (!err && safe.failed)
		err = -ENOMEM;
	if (!err && fstat(fd, &st))
		err = -errno;
	if (err) {
		close(fd);
		buf_free(&safe);
		free(f);
		return err;
	}
	*f = (struct file){
		.fd = fd,
		.path = buf_as_str(&safe),
		.text = safe,
		.device = st.st_dev,
		.inode = st.st_ino,
		.generation = generation_of(fd),
		.owner = st.st_uid,
		.mode = st.st_mode,
		.size = st.st_size,
		.changed = st.st_mtim,
		.holders = 1,
	};
	*out = f;
	return 0;
}

int file_open(const char *path, struct file **out, struct diag *d)
{
	int fd = file_open_regular(path, 0), err = fd < 0 ? fd : file_take(fd, str_from(path), out);
	struct buf safe = BUF_INIT;

	if (!err)
		return 0;
	buf_escaped(&safe, str_from(path));
	if (err == -ENOEXEC)
		diag_error(d, 0, "not-elf", "'%.*s' is not a regular file",
			   STR_FMT(buf_as_str(&safe)));
	else
		diag_error(d, err, err == -ENOENT ? "no-file" : "cannot-open",
			   "cannot open '%.*s': %s", STR_FMT(buf_as_str(&safe)), strerror(-err));
	diag_hint_permission(d, err, "as a user who may read it");
	buf_free(&safe);
	return err;
}

struct file *file_hold(struct file *f)
{
	f->holders++;
	return f;
}

void file_drop(struct file *f)
{
	if (!f || --f->holders)
		return;
	close(f->fd);
	buf_free(&f->text);
	free(f);
}

void file_link(const struct file *f, char link[FILE_LINK_SIZE])
{
	snprintf(link, FILE_LINK_SIZE, "/proc/self/fd/%d", f->fd);
}

bool file_is(const struct file *f, const struct stat *st)
{
	return f->device == st->st_dev && f->inode == st->st_ino;
}

bool file_is_roots(const struct file *f)
{
	char link[FILE_LINK_SIZE], path[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (f->owner || f->mode & (S_IWGRP | S_IWOTH))
		return false;
	/* Does the name that the kernel has for it lead to it from here? */
	file_link(f, link);
	len = readlink(link, path, sizeof(path));
	if (len <= 0 || (size_t)len >= sizeof(path))
		return false;
	path[len] = '\0';
	return *path == '/' && strncmp(path, "/proc/", 6) && !stat(path, &st) && file_is(f, &st);
}

int file_check(const struct file *f, struct diag *d)
{
	char link[FILE_LINK_SIZE];
	struct stat st;
	int err;

	file_link(f, link);
	if (stat(link, &st)) {
		err = -errno;
		diag_error(d, err, "no-proc", "cannot reach '%.*s' as %s: %s", STR_FMT(f->path),
			   link, strerror(-err));
		diag_hint(d, "mount this PID namespace's own /proc: mount -t proc proc /proc");
		return err;
	}
	if (file_is(f, &st) && generation_of(f->fd) == f->generation)
		return 0;
	diag_error(d, -ESTALE, "other-file", "%s is not '%.*s' but another file", link,
		   STR_FMT(f->path));
	diag_hint(d, "something else is mounted on /proc: mount -t proc proc /proc");
	return -ESTALE;
}

#define PIECE (64u << 10)

int file_read_all(int fd, size_t most, struct buf *out)
{
	size_t start = out->len;
	ssize_t got = 1;
	int err = 0;

	while (!err && got && !(err = buf_reserve(out, PIECE))) {
		got = read(fd, out->ptr + out->len, PIECE);
		if (got < 0 && errno != EINTR)
			err = -errno;
		out->len += got > 0 ? (size_t)got : 0;
		if (!err && out->len - start > most)
			err = -EFBIG;
	}
	if (!err)
		out->ptr[out->len] = '\0';
	return err;
}

int file_slurp(const char *path, size_t most, struct buf *out)
{
	int fd = open(path, READ_FLAGS), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (!err)
		err = file_read_all(fd, most, out);
	close(fd);
	return err;
}
