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

/* A new file in the directory of `path`, with the usual permissions of a new file. */
static int create_beside(const char *path, char **temporary)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(temporary, "%s.XXXXXX", path) < 0) {
		*temporary = NULL;
		return -1;
	}
	fd = mkostemp(*temporary, O_CLOEXEC);
	if (fd >= 0)
		fchmod(fd, 0666 & ~mask);
	return fd;
}

/* Write a temporary file, then rename it over the output. */
static bool write_and_rename(const char *path, const char *bytes, size_t len)
{
	char *temporary;
	int fd = create_beside(path, &temporary), err;
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

bool output_write(const char *path, const char *bytes, size_t len)
{
	char *target;
	struct stat st;
	bool ok;

	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		if (!S_ISDIR(st.st_mode))
			return write_in_place(path, bytes, len);
		errno = EISDIR;
		return false;
	}
	target = realpath(path, NULL);
	ok = write_and_rename(target ? target : path, bytes, len);
	free(target);
	return ok;
}
