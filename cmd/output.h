/* Files that appear whole or not at all. */
#ifndef NOPAL_CMD_OUTPUT_H
#define NOPAL_CMD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* Make `path` hold these bytes: through a file beside it that is renamed over it, so that a reader
 * or another writer never sees half of it; directly when it is a device or a pipe. A link stays a
 * link. False with errno. */
bool output_write(const char *path, const char *bytes, size_t len);

#endif
