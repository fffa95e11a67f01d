/* Why calls of <nopal/runtime.h> fail: their messages, and the checks of names. */
#ifndef NOPAL_RUNTIME_ERROR_H
#define NOPAL_RUNTIME_ERROR_H

#include "base/str.h"
#include "nopal/runtime.h"

/* Fill *e, which may be NULL, and return `code`. %m is the text of errno. */
int runtime_fail(struct nopal_error *e, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A letter or _, then letters, digits, _ and the characters of `more`. */
bool name_is_plain(struct str name, const char *more);
/* Bytes of a name for a message, at most `max`: no UTF-8 character is cut in two. */
int name_shown(const char *name, size_t max);
/* 0 or NOPAL_BAD_NAME for the name of a `what` ("probe") of up to `max` bytes. */
int name_check(const char *what, const char *name, size_t max, unsigned flags,
	       struct nopal_error *e);

#endif
