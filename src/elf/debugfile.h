/* The separate debug file of a stripped image: found by build-id under /usr/lib/debug/.build-id, or
 * by the name in .gnu_debuglink beside the image and under /usr/lib/debug, as debuggers find it; in
 * the folders that NOPAL_DEBUGINFO names, with colons between; or among what debuginfod-find(1) has
 * fetched before. */
#ifndef NOPAL_ELF_DEBUGFILE_H
#define NOPAL_ELF_DEBUGFILE_H

#include "elf/image.h"

/* `path`: where the image was opened, for .gnu_debuglink; `root` goes before /usr/lib/debug: ""
 * or "/proc/7/root". The file that is found belongs to the image: it has the same build-id, or the
 * checksum that the link names; its budget is the image's. NULL: there is none, or the budget was
 * used up while looking.
 *
 * The build-id of a file is public: a user with a mount namespace of their own can make a debug
 * file for any library. Where code is changed is decided by the image, or by a debug file that only
 * root can have made: DEBUG_TRUSTED as `root` ignores all others. */
#define DEBUG_TRUSTED STR("/")
struct image *debugfile_open(const struct image *image, struct str path, struct str root);
/* The same for its symbols: NULL when it has a full table of its own. */
struct image *debugfile_open_symbols(const struct image *image, struct str path, struct str root);
/* Where the file of a build-id, of 2 bytes or more, is. ptr is NULL without memory. */
struct str debugfile_name(struct arena *a, struct str root, struct str id);

#endif
