/* Announcing images of run-time probes, which neither the dynamic loader nor a debugger knows.
 *
 * gdb and lldb search for probes in the files that the dynamic loader has loaded. They also read
 *ELF files from memory that a program puts into a list, made for compilers at run time ("JIT
 * Compilation Interface" in gdb's manual).
 *
 * Tracers can use two static probes:
 *
 *	nopal:provider_loaded(const char *provider, int fd, void *code, size_t probes)
 *	nopal:provider_unloaded(the same)
 *
 * loaded fires once tracers can attach; unloaded fires while they still can. */
#ifndef NOPAL_RUNTIME_ANNOUNCE_H
#define NOPAL_RUNTIME_ANNOUNCE_H

#include "runtime/slot.h"

struct debug_image;

/* Not at the same time from two threads. NULL: memory is short, and debuggers do not see the image.
 */
struct debug_image *debug_image_add(const struct image_slot *slot, const char *provider);
void debug_image_remove(struct debug_image *image); /* NULL is fine */

void announce_loaded(const char *provider, const struct image_slot *slot);
void announce_unloaded(const char *provider, const struct image_slot *slot);

#endif
