/* Operands that name a symbol get their number here, from the symbols of the file. */
#ifndef NOPAL_PROBE_RESOLVE_H
#define NOPAL_PROBE_RESOLVE_H

#include "elf/image.h"
#include "probe/probe.h"

/* Resolve all operands of the sites, in one pass over the symbols; one becomes OPERAND_BAD when it
 * has no certain number. `path`, `root`: as for symtab_read(). 0; -ENOMEM; -E2BIG or -EINTR when
 * the image's budget is used up. */
int sites_resolve(const struct image *image, struct str path, struct str root,
		  struct site_list *list);

#endif
