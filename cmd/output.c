/* Writing a file whole: first a temporary file in the same directory, then a rename. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

/* Write into an existing device, pipe, or file in a directory where no file can be created. */
static bool write_in_place(const char *path, const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	bool ok = fd >= 0 && write_all(fd, bytes, len);

	return fd >= 0 && close(fd) == 0 && ok;
}

static mode_t usual_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* A new file in the directory of `path`, with these permissions. */
static int create_beside(const char *path, mode_t mode, char **temporary)
{
	int fd;

	if (asprintf(temporary, "%s.XXXXXX", path) < 0) {
		*temporary = NULL;
		return -1;
	}
	fd = mkostemp(*temporary, O_CLOEXEC);
	if (fd >= 0)
		fchmod(fd, mode);
	return fd;
}

/* Write a temporary file, then rename it over the output. */
static bool write_and_rename(const char *path, mode_t mode, const char *bytes, size_t len)
{
	char *temporary;
	int fd = create_beside(path, mode, &temporary), err;
	bool ok;

	if (fd < 0) {
		bool there;

		err = errno;
		there = (err == EACCES || err == EROFS) && !access(path, W_OK);
		free(temporary);
		/* The error of creating the file says more than that there is no old one. */
		errno = err;
		return there && write_in_place(path, bytes, len);
	}
	ok = write_all(fd, bytes, len);
	ok = close(fd) == 0 && ok && rename(temporary, path) == 0;
	err = errno;
	if (!ok)
		unlink(temporary);
	free(temporary);
	errno = err;
	return ok;
}

/* `keep`: the permissions of an old file, if there is one. */
static bool write_file(const char *path, bool keep, const char *bytes, size_t len)
{
	bool is_old, ok;
	char *target;
	struct stat st;

	is_old = !stat(path, &st);
	if (is_old && !S_ISREG(st.st_mode)) {
		if (!S_ISDIR(st.st_mode))
			return write_in_place(path, bytes, len);
		errno = EISDIR;
		return false;
	}
	target = realpath(path, NULL);
	ok = write_and_rename(target ? target : path,
			      is_old && keep ? st.st_mode & 07777 : usual_mode(), bytes, len);
	free(target);
	return ok;
}

bool output_write(const char *path, const char *bytes, size_t len)
{
	return write_file(path, false, bytes, len);
}

bool output_rewrite(const char *path, const char *bytes, size_t len)
{
	return write_file(path, true, bytes, len);
}
