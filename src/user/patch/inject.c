/* A process with code of ours, from its first step to its last. */
#include "user/patch/inject.h"

#include "user/patch/ledger.h"
#include "user/patch/undo.h"

int inject_open(pid_t pid, struct inject **out, struct diag *d)
{
	struct inject *x;
	int err = process_open(pid, &x, d);

	if (err)
		return err;
	err = undo_old(x, d);
	if (!err)
		*out = x;
	else
		process_close(x);
	return err;
}

void inject_close(struct inject *x)
{
	if (x && x->ledger && !x->has_left)
		inject_leave(x);
	if (x)
		ledger_end(x);
	process_close(x);
}
