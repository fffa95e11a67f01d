/* Images for debuggers. gdb and lldb look for probes in the files that the dynamic loader has
 * loaded, and ours it has not; but they also take ELF files from memory that a program puts into a
 * list, made for compilers at run time ("JIT Compilation Interface" in gdb's manual). */
#ifndef NOPAL_RUNTIME_DEBUG_H
#define NOPAL_RUNTIME_DEBUG_H

#include "runtime/map.h"

struct debug_image;

/* One caller at a time. NULL when memory is short: then debuggers know nothing of it. */
struct debug_image *debug_image_add(const struct probe_room *room, const char *provider);
void debug_image_remove(struct debug_image *image); /* NULL is fine */

#endif
