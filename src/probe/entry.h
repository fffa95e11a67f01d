/* Sites that are the first instruction of a function: nothing below the stack pointer is in use
 * there, so a tracer may do what it must not in the middle of one. */
#ifndef NOPAL_PROBE_ENTRY_H
#define NOPAL_PROBE_ENTRY_H

#include "elf/image.h"
#include "probe/probe.h"

/* Set is_entry of those sites of `program` where it matters: x86's 5-byte nops. Symbols are read
 * only when there is one. `path`, `root`: as for
 * symtab_read(). 0; -ENOMEM; -E2BIG or -EINTR
 * when the image's budget is used up. */
int sites_find_entries(const struct image *program, struct str path, struct str root,
		       struct site_list *list);

#endif
