/* Making the files of images. A sealed memfd cannot be changed. A file with a name is in a
 * directory that only the user can write to. It gets its name when it is complete, and stays locked
 * while a process has it open: a file without a lock was left by a process that was killed, and the
 * next one removes it. */
#include "runtime/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From <linux/memfd.h> and <linux/fcntl.h>; older libcs lack some of them, and the call. */
#define MEMFD_CLOEXEC	  1u
#define MEMFD_SEALABLE	  2u
#define MEMFD_NOEXEC_SEAL 8u /* mapped as code, but never executed as a program */
#define ADD_SEALS	  (1024 + 9)
#define SEAL_ALL	  (1 | 2 | 4 | 8) /* seal, shrink, grow, write */

#define ATTEMPTS 100

static int write_all(int fd, struct str content)
{
	while (content.len) {
		ssize_t written = write(fd, content.ptr, content.len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return -1;
		content.ptr += written;
		content.len -= (size_t)written;
	}
	return 0;
}

static void close_keeping_errno(int fd)
{
	int saved = errno;

	close(fd);
	errno = saved;
}

int memfd_make(const char *name, struct str content)
{
	unsigned flags = MEMFD_CLOEXEC | MEMFD_SEALABLE;
	int fd = (int)syscall(SYS_memfd_create, name, flags | MEMFD_NOEXEC_SEAL);

	/* Later kernels warn if the flag is missing; those before 6.3 refuse it. */
	if (fd < 0 && errno == EINVAL)
		fd = (int)syscall(SYS_memfd_create, name, flags);
	if (fd < 0 || (!write_all(fd, content) && !fcntl(fd, ADD_SEALS, SEAL_ALL)))
		return fd;
	close_keeping_errno(fd);
	return -1;
}

static int runtime_directory(char *out, size_t size, struct nopal_error *e)
{
	const char *dir = secure_getenv("XDG_RUNTIME_DIR");
	struct stat st;
	int len;

	if (dir && *dir == '/')
		len = snprintf(out, size, "%s", dir);
	else
		len = snprintf(out, size, "/run/user/%u", (unsigned)getuid());
	if (len < 0 || (size_t)len >= size)
		return runtime_fail(e, NOPAL_SYSTEM, "the path in $XDG_RUNTIME_DIR is too long");
	if (stat(out, &st))
		return runtime_fail(e, NOPAL_SYSTEM, "cannot use the directory '%s': %m", out);
	if (!S_ISDIR(st.st_mode) || st.st_uid != getuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return runtime_fail(
			e, NOPAL_SYSTEM,
			"cannot use '%s': it is not a directory that only this user can "
			"write to",
			out);
	return 0;
}

/* Remove the files of ours that no process has open. */
static void remove_left_files(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct str name = str_from(entry->d_name);
		int fd = -1;

		if (str_starts(name, STR("nopal-")) && str_ends(name, STR(".so")))
			fd = openat(dirfd(dir), name.ptr,
				    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0)
			continue;
		if (!flock(fd, LOCK_EX | LOCK_NB))
			unlinkat(dirfd(dir), name.ptr, 0);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

/* Give the open file a new name: numbers are tried until one is free. */
static int give_name(int fd, const char *dir, const char *provider, char *path, size_t size)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	for (int i = 0; i < ATTEMPTS; i++) {
		int len = snprintf(path, size, "%s/nopal-%.200s-%d-%d.so", dir, provider,
				   (int)getpid(), i);

		if (len < 0 || (size_t)len >= size) {
			errno = ENAMETOOLONG;
			return -1;
		}
		if (!linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW))
			return 0;
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

int named_file_make(const char *provider, struct str content, char **path, struct nopal_error *e)
{
	char dir[4096], name[4096];
	int fd, err = runtime_directory(dir, sizeof(dir), e);

	if (err)
		return err;
	remove_left_files(dir);
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 &&
	    (write_all(fd, content) || fchmod(fd, 0400) || flock(fd, LOCK_SH | LOCK_NB))) {
		close_keeping_errno(fd);
		fd = -1;
	}
	if (fd < 0)
		return runtime_fail(e, NOPAL_SYSTEM, "cannot create a file in '%.128s': %m", dir);
	if (give_name(fd, dir, provider, name, sizeof(name))) {
		err = runtime_fail(e, NOPAL_SYSTEM, "cannot name the file '%.128s': %m", name);
	} else {
		*path = strdup(name);
		if (*path)
			return fd;
		err = runtime_fail(e, NOPAL_NO_MEMORY, "out of memory for a file name");
		unlink(name);
	}
	close(fd);
	return err;
}
