/* Addresses of symbols by name. */
#ifndef NOPAL_FIND_ADDRESS_H
#define NOPAL_FIND_ADDRESS_H

#include "find/find.h"

/* The address of a symbol of the running kernel. -ENOENT with a message: it has none of that name,
 * or hides it. */
int finder_kernel_symbol(struct finder *f, struct str name, uint64_t *out, struct diag *d);

/* A symbol of a file, and the place at `offset` of the file: link-time addresses. */
struct found_symbol {
	uint64_t address, size; /* size 0: not known */
	uint64_t site;
	uint64_t first,
		end; /* of the file: there `site` moves with the offset; both 0: not known */
};
/* -ENOENT without a message: there is none; -errno with one. `path` is where the file is, to find
 * its debug file. */
int finder_symbol(struct file *file, struct str path, uint64_t offset, struct str name,
		  struct found_symbol *out, struct diag *d);

#endif
