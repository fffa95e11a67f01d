/* Whole texts from files and from other commands. Each function returns NULL after a message on
 * standard error; otherwise the caller frees the text. */
#ifndef NOPAL_CMD_INPUT_H
#define NOPAL_CMD_INPUT_H

#include <stddef.h>

#include "words.h"

/* All bytes of a file, and a NUL; "-" is standard input. */
char *input_read(const char *path, size_t *len);
/* The same of a script, which is text. */
char *input_script(const char *path);
/* What a command prints on its standard output; NULL also when it does not exit with 0. */
char *input_from_command(struct words *command, size_t *len);

#endif
