/* Mapping memory of ours into a process: its parts of the shared memory, and code. */
#ifndef NOPAL_USER_PATCH_MAP_H
#define NOPAL_USER_PATCH_MAP_H

#include <stddef.h>

#include "base/diag.h"

struct inject;

/* Bytes at the start of memory for code where none is: an address of that first byte, which the
 * program may have from what was mapped there before, does not lead into the code. */
#define INJECT_MARGIN 16
/* Addresses for `size` bytes of code that reach `near` and its neighbourhood by a direct jump.
 * -ENOSPC, -ENOMEM. */
int inject_reserve(struct inject *x, uint64_t near, size_t size, uint64_t *out);
/* `size` bytes of the shared memory at `offset`, whole pages, will be met by many events:
 * inject_map() lets the kernel map their pages at once. */
void inject_expect(struct inject *x, uint64_t offset, size_t size);

/* Parts of the shared memory that inject_map() maps beside its first `shared_size` bytes, at the
 * same distance from these as in the file; after each there are free addresses, up to `span` bytes
 * from the first. The caller keeps them. */
struct inject_part {
	uint64_t at, size;
};

void inject_share(struct inject *x, const struct inject_part *parts, size_t count, uint64_t span);
/* Children of fork shall not have the shared memory: they may drop their rights, and must not read
 * then what the process goes on to fire. To be called before inject_map(). */
void inject_keep_private(struct inject *x);
/* Map what was planned and reserved. What the process has mapped itself meanwhile is given up:
 * inject_is_lost() says which sites have such landings, and inject_enable() leaves them out; when
 * it is what was reserved, -EEXIST without a message: inject_reread() and reserve again. The first
 * time also `shared_size` bytes of the file `shared_fd` (a sealed memfd) and the page of the
 * process. */
int inject_map(struct inject *x, int shared_fd, size_t shared_size, struct diag *d);

#endif
