/* Addresses -> names. A process is remembered (its maps, start time) as soon as it is seen, so that
 * stacks can be named after it has exited; ELF symbol tables are read only when a name is asked
 * for, and shared between processes by device and inode. */
#ifndef NOPAL_REPORT_SYMBOLS_H
#define NOPAL_REPORT_SYMBOLS_H

#include <sys/types.h>

#include "base/buf.h"

struct symbols;

int symbols_new(struct symbols **out);
void symbols_free(struct symbols *s);
/* Remember a process's maps now; again after new images were mapped. Cheap when nothing changed. */
void symbols_see(struct symbols *s, pid_t pid);
/* "main+18", or "0x55d1..." when nothing is known; `with_module` adds " (/usr/bin/x)". C++ names
 * are demangled when the demangler is there. */
void symbols_user(struct symbols *s, pid_t pid, uint64_t address, bool with_module,
		  struct buf *out);
void symbols_kernel(struct symbols *s, uint64_t address, struct buf *out);

#endif
