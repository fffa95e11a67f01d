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

static int cannot_open(const char *path, int err, struct diag *d)
{
	struct buf safe = BUF_INIT;

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

static int check_regular(const struct stat *st)
{
	return S_ISREG(st->st_mode) ? 0 : S_ISDIR(st->st_mode) ? -EISDIR : -ENOEXEC;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Open the file of an O_PATH descriptor for reading. Without /proc its name must do, if it still
 * leads to the same file. */
static int reopen_for_reading(int path_fd, const char *path, const struct stat *was)
{
	char link[FILE_LINK_SIZE];
	struct stat st;
	int fd;

	file_link(&(struct file){.fd = path_fd}, link);
	fd = open_raising(link, READ_FLAGS);
	if (fd != -ENOENT)
		return fd;
	fd = open_raising(path, READ_FLAGS);
	if (fd < 0 || (!fstat(fd, &st) && is_same_file(&st, was)))
		return fd;
	close(fd);
	return -ESTALE;
}

/* Opening a device or a fifo can have effects, so the name is opened with O_PATH first, and then
 * read only if it is a regular file. */
static int open_regular(const char *path)
{
	int path_fd = open_raising(path, O_PATH | O_CLOEXEC), fd;
	struct stat st;

	if (path_fd < 0)
		return path_fd;
	fd = fstat(path_fd, &st) ? -errno : check_regular(&st);
	if (!fd)
		fd = reopen_for_reading(path_fd, path, &st);
	close(path_fd);
	return fd;
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
	int fd = open_regular(path), err;

	if (fd < 0)
		return cannot_open(path, fd, d);
	err = file_take(fd, str_from(path), out);
	return err ? cannot_open(path, err, d) : 0;
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

/* Does the name that the kernel has for it lead to it from here? */
static bool is_below_our_root(const struct file *f)
{
	char link[FILE_LINK_SIZE], path[PATH_MAX];
	struct stat st;
	ssize_t len;

	file_link(f, link);
	len = readlink(link, path, sizeof(path));
	if (len <= 0 || (size_t)len >= sizeof(path))
		return false;
	path[len] = '\0';
	return *path == '/' && strncmp(path, "/proc/", 6) && !stat(path, &st) && file_is(f, &st);
}

bool file_is_roots(const struct file *f)
{
	return !f->owner && !(f->mode & (S_IWGRP | S_IWOTH)) && is_below_our_root(f);
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

static int slurp_fd(int fd, size_t most, struct buf *out)
{
	size_t start = out->len;
	ssize_t got;

	for (;;) {
		if (buf_reserve(out, PIECE))
			return -ENOMEM;
		got = read(fd, out->ptr + out->len, PIECE);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		out->len += (size_t)got;
		if (out->len - start > most)
			return -EFBIG;
	}
	out->ptr[out->len] = '\0';
	return 0;
}

int file_slurp(const char *path, size_t most, struct buf *out)
{
	int fd = open(path, READ_FLAGS), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (!err)
		err = slurp_fd(fd, most, out);
	close(fd);
	return err;
}
