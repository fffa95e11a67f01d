/* The opaque types of include/nopal/ that more than one module hands out. */
#ifndef NOPAL_BASE_PUBLIC_H
#define NOPAL_BASE_PUBLIC_H

#include "base/diag.h"
#include "nopal/diag.h"

struct nopal_diag {
	struct diag diag;
	struct buf text; /* what nopal_diag_text() returned last */
};

/* The collector inside; NULL for NULL. */
static inline struct diag *diag_inner(struct nopal_diag *d)
{
	return d ? &d->diag : NULL;
}

#endif
