/* Programs that a test runs by the shell: compilers, binutils. */
#ifndef HELP_SHELL_H
#define HELP_SHELL_H

#include <stdbool.h>

/* Run a command, up to 1023 bytes, and wait for it: as system(3). */
int shell_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Is the program of this command line there? */
bool shell_has(const char *command);

#endif
