/* Names of providers, probes and arguments that every tracer can take. */
#ifndef NOPAL_RUNTIME_NAME_H
#define NOPAL_RUNTIME_NAME_H

#include <stdbool.h>

#include "base/str.h"
#include "nopal/runtime.h"

/* A letter or _, then letters, digits, _ and the characters of `more`. */
bool name_is_plain(struct str name, const char *more);
/* Bytes of a name for a message, at most `max`: no UTF-8 character is cut in two. */
int name_shown(const char *name, size_t max);
/* 0 or NOPAL_BAD_NAME for the name of a `what` ("probe") of up to `max` bytes. */
int name_check(const char *what, const char *name, size_t max, unsigned flags,
	       struct nopal_error *e);

#endif
