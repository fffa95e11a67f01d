/* Strings in double quotes with the escapes of C, as scripts and probe patterns have them. */
#ifndef NOPAL_BASE_QUOTE_H
#define NOPAL_BASE_QUOTE_H

#include "base/diag.h"

/* Add what the string at `at->at` of a source means to `out`; `at->at` moves to after its closing
 * quote. A string in an argument of a command need not be on one line, and a backslash may be
 * before any byte of it, for the shell has rules of its own. -EINVAL with a message: the string has
 * no end, or an escape that is not known. */
int quote_read(struct span *at, bool is_argument, struct buf *out, struct diag *d);

#endif
