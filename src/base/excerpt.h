/* What a message shows of a text that may be long: the span, and a little around it. */
#ifndef NOPAL_BASE_EXCERPT_H
#define NOPAL_BASE_EXCERPT_H

#include "base/buf.h"
#include "base/diag.h"

/* The source line of a span, safe for a terminal, and a line of marks under it. */
void excerpt_source(struct span span, struct buf *out);
/* A text safe for a terminal; of a very long one the start and the end. */
void excerpt_text(struct str text, struct buf *out);

#endif
