/* cat() and system(): what a file or a command says, as bytes. */
#ifndef NOPAL_REPORT_COMMAND_H
#define NOPAL_REPORT_COMMAND_H

#include "base/buf.h"

#define CAT_BYTES_MOST	   10240      /* of one file */
#define COMMAND_BYTES_MOST (1u << 20) /* of one command; more is not read */

/* The start of a file. -errno: it cannot be opened or read; -EFBIG: there is more of it. */
int command_cat(const char *path, struct buf *out);
/* Run /bin/sh with these arguments to its end, and take its standard output. -EFBIG: it wrote more.
 * When `stop_fd` (0: none) is readable the shell gets SIGTERM, and is waited for no longer than a
 * second: -EINTR. */
int command_run(char **argv, int stop_fd, struct buf *out);

#endif
