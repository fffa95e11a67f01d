/* The bytes of a site as they were, and as they are written. */
#ifndef NOPAL_USER_PATCH_PATCH_H
#define NOPAL_USER_PATCH_PATCH_H

#include "user/patch/site.h"

struct ledger_entry;

/* What happens to the bytes of a site; site_step() has the stage that comes next. */
enum site_event {
	SITE_IS_WRITTEN,
	SITE_IS_RESTORED,
	SITE_IS_GIVEN_UP, /* its file has gone, or it could not be written */
	SITE_EVENTS,
};

void site_step(struct inject_site *site, enum site_event event);

/* Write the bytes of a site as they were before, if they are as we have written them. */
int patch_restore(struct inject *x, const struct inject_site *s);
/* Are the bytes of a form written in one piece? */
bool form_is_whole(enum inject_form form);
/* Are these the bytes that were written? */
bool patch_is_written(const uint8_t *now, const uint8_t *before, const uint8_t *after,
		      unsigned len);
/* Write the bytes before of an entry of a ledger; 1: other bytes were there. -errno. */
int patch_write_before(struct inject *x, const struct ledger_entry *e);
/* Add to a semaphore; what is 0 is not lowered. */
int patch_semaphore(struct inject *x, uint64_t address, int by);

#endif
