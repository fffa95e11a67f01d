/* Probe patterns as text: "usdt:PATH:PROVIDER:NAME" taken apart and put together. */
#ifndef NOPAL_SESSION_PATTERN_H
#define NOPAL_SESSION_PATTERN_H

#include "base/diag.h"
#include "find/find.h"

/* Text -> query; its parts live in `a`. -EINVAL with a message. */
int pattern_parse(struct str text, struct arena *a, struct find_query *out, struct diag *d);
/* One part, quoted when a script would read it otherwise. */
void pattern_quote(struct str part, struct buf *out);

#endif
