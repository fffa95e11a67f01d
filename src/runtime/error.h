/* What calls of <nopal/runtime.h> say when they fail. */
#ifndef NOPAL_RUNTIME_ERROR_H
#define NOPAL_RUNTIME_ERROR_H

#include "nopal/runtime.h"

/* Fill *e, which may be NULL, and return `code`. %m is errno's text. */
int runtime_fail(struct nopal_error *e, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
