/* Reading to the end, within a limit. */
#include "base/slurp.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PIECE (64u << 10)

int slurp_fd(int fd, size_t most, struct buf *out)
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

int slurp(const char *path, size_t most, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = slurp_fd(fd, most, out);
	close(fd);
	return err;
}
