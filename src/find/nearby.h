/* What a user may have meant by a file that is not there, or that has nothing to trace. */
#ifndef NOPAL_FIND_NEARBY_H
#define NOPAL_FIND_NEARBY_H

#include "base/diag.h"
#include "elf/image.h"

/* Add a hint to the newest message, "there is no file PATH": a similar name in that folder, or a
 * process that has such a file below its own root. */
void nearby_hint(struct diag *d, struct str path);
/* The names of the libraries that an image asks the loader for, the soname of each. Untrusted:
 * at most a few hundred. A non-zero result of `fn` ends it and is returned. */
int nearby_libraries(const struct image *image, int (*fn)(void *arg, struct str name), void *arg);

#endif
