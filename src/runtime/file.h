/* The file of an image: a sealed memfd, or a file with a name. */
#ifndef NOPAL_RUNTIME_FILE_H
#define NOPAL_RUNTIME_FILE_H

#include "base/str.h"
#include "nopal/runtime.h"

#define MEMFD_NAME_MAX 249 /* bytes of a name that memfd_create() accepts */

/* A memfd called `name` with these bytes, sealed. A descriptor, or -1 with errno set. */
int memfd_make(const char *name, struct str content);
/* A file with these bytes in the user's run-time directory; *path, to be freed, is its name. A
 * descriptor, or a negative enum nopal_error_code. */
int named_file_make(const char *provider, struct str content, char **path, struct nopal_error *e);

#endif
