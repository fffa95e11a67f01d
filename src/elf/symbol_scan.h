/* Every symbol of an image in one pass, for callers that look for few of them: no table is kept, so
 * it costs the time to read them once. */
#ifndef NOPAL_ELF_SYMBOL_SCAN_H
#define NOPAL_ELF_SYMBOL_SCAN_H

#include "elf/symbols.h"

/* Each symbol of the full table, of the image or its debug file, and of the dynamic one; those in
 * both come twice. Names longer than `name_most` are empty; 0: no names are read. `path`, `root`:
 * as for symtab_read(). Non-zero from `fn` ends it and is returned. -ENOMEM; -E2BIG or -EINTR when
 * the image's budget is used up. */
int symbols_scan(const struct image *image, struct str path, struct str root, size_t name_most,
		 symbol_fn *fn, void *arg);

#endif
