/* ustack(mixed): the frames of native code, and those of a script in place of the function that
 * evaluates it. */
#ifndef NOPAL_REPORT_MIXED_STACK_H
#define NOPAL_REPORT_MIXED_STACK_H

#include "report/render.h"

/* As stack_text() and stack_json(). */
void mixed_stack_text(const struct renderer *r, const struct value *v, unsigned indent,
		      struct buf *out);
void mixed_stack_json(const struct renderer *r, const struct value *v, struct buf *out);

#endif
