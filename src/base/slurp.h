/* Whole files of /proc and the like, whose size is not known before. */
#ifndef NOPAL_BASE_SLURP_H
#define NOPAL_BASE_SLURP_H

#include "base/buf.h"

/* Append the file to `out`. -errno; -EFBIG: it has more than `most` bytes. */
int slurp(const char *path, size_t most, struct buf *out);
int slurp_fd(int fd, size_t most, struct buf *out);

#endif
