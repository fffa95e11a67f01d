/* Probe patterns as text: "usdt:PATH:PROVIDER:NAME" taken apart. */
#ifndef NOPAL_API_PATTERN_H
#define NOPAL_API_PATTERN_H

#include "base/diag.h"
#include "find/find.h"

/* Text -> query; its parts live in `a`. -EINVAL with a message. */
int pattern_parse(struct str text, struct arena *a, struct find_query *out, struct diag *d);

#endif
