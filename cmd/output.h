/* Files that appear whole or not at all. */
#ifndef NOPAL_CMD_OUTPUT_H
#define NOPAL_CMD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* Write these bytes to `path`: to a temporary file that is renamed over it, so that a reader or
 * another writer never sees half of it; directly if it is a device or a pipe. A symbolic link stays
 * one. False with errno. */
bool output_write(const char *path, const char *bytes, size_t len);
/* The same, with the permissions that the file has. */
bool output_rewrite(const char *path, const char *bytes, size_t len);

#endif
