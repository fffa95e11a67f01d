/* Whole texts from files and from other commands. Every function says on stderr what went wrong,
 * in the name of `self`, and returns NULL then; else the caller frees. */
#ifndef NOPAL_CMD_INPUT_H
#define NOPAL_CMD_INPUT_H

#include <stddef.h>

#include "words.h"

/* All bytes of a descriptor; `path` is what messages call it. */
char *input_read(const char *self, int fd, const char *path, size_t *len);
/* What a command prints on its standard output; NULL too when it does not exit with 0. */
char *input_from_command(const char *self, struct words *command, size_t *len);

#endif
