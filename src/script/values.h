/* What the files of builtins share beside their rows. */
#ifndef NOPAL_SCRIPT_VALUES_H
#define NOPAL_SCRIPT_VALUES_H

#include "script/builtins.h"

/* Why argument n of the place cannot be read; NULL: it can. */
const char *place_unreadable(const struct place *p, unsigned n);
/* Can argument `n` be read at this place? */
int check_readable(struct check *c, const struct expr *e, const struct place *p, unsigned n);
/* The field of this name; NULL: there is none. */
const struct trace_field *event_field(const struct trace_event *event, struct str name);

#endif
