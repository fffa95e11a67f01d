/* Libraries that come to one address by turns. A site belongs to a file at an address: while
 * another file is mapped there, it rests, and the sites of that one can have the same landings. No
 * thread is in code of a file that is unmapped, so none is on its way to a trampoline of it. */
#include "user/patch/site.h"

#include "user/patch/ledger.h"
#include "user/patch/patch.h"
#include "user/patch/plan.h"

/* The site's semaphore is gone with its file: `clean` must not lower another's. The other file may
 * have been mapped just when the site was enabled again; none of its code has run, since its thread
 * waits for us. */
int inject_rest(struct inject *x, struct inject_site *s)
{
	bool was_raised = s->is_raised;
	int err = patch_restore(x, s);

	s->is_raised = false;
	site_step(s, SITE_IS_GIVEN_UP);
	if (!err && s->is_listed && was_raised)
		err = ledger_mark(x, s);
	if (s->form != INJECT_NONE)
		plan_forget(x, s);
	s->form = INJECT_NONE;
	s->is_taken = false;
	s->why = "another file is mapped there now";
	jumps_free(x); /* they were those of its file */
	return err;
}

/* ORDER: the ledger has the new bytes before the process does. */
int inject_resume(struct inject *x, struct inject_site *s)
{
	const struct inject_site old = *s;
	int err = inject_plan(x, s);

	s->is_listed = old.is_listed;
	s->entry = old.entry;
	if (old.body && s->resume == old.resume)
		s->body = old.body;
	if (!err && s->is_listed && s->form != INJECT_NONE)
		err = ledger_mark(x, s);
	return err;
}
