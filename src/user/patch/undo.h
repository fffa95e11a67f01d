/* Giving back what sessions have put into a process: this one's, and that of tracers that are gone.
 */
#ifndef NOPAL_USER_PATCH_UNDO_H
#define NOPAL_USER_PATCH_UNDO_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"

struct inject;
struct threads;

/* All threads are stopped, and all sites of these sessions have their bytes: unmap what no
 * thread is in, or will return to. *kept: bytes of the others. `is_given[]`: those that are gone.
 */
int leave_sessions(struct inject *x, const struct threads *t, const uint64_t *ledgers,
		   unsigned count, bool *is_given, uint64_t *kept);
/* Undo what is in a ledger: of the tracer `only`; 0: of one that is gone. The number of sites.
 * *busy: a tracer that is not gone. All threads are stopped. */
int undo_ledger(struct inject *x, uint64_t ledger, pid_t only, pid_t *busy);
/* Undo what is in the ledgers of tracers that are gone, and unmap it; those that must stay are then
 * in x->old. 0 or -errno; -EBUSY with a message: there is one of a tracer that is not gone. */
int undo_old(struct inject *x, struct diag *d);

#endif
