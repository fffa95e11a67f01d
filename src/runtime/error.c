/* Error texts; see runtime_error.h. */
#include "runtime/error.h"

#include <stdarg.h>
#include <stdio.h>

int runtime_fail(struct nopal_error *e, int code, const char *format, ...)
{
	va_list args;

	if (!e)
		return code;
	e->code = code;
	va_start(args, format);
	vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	return code;
}
