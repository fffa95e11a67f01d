/* The options of a caller, checked and as large as ours. */
#include "session/session.h"

#include <errno.h>
#include <string.h>

int session_take_options(const struct nopal_trace_options *options, struct nopal_trace_options *out,
			 struct diag *d)
{
	size_t size = options ? options->size : 0;

	if (!options)
		return diag_error(d, -EINVAL, "bad-options",
				  "'options' is NULL: give a struct nopal_trace_options");
	if (size < offsetof(struct nopal_trace_options, param_count) || size > 4096)
		return diag_error(d, -EINVAL, "bad-options",
				  "'options.size' must be sizeof(struct nopal_trace_options)");
	if (options->pid && options->command)
		return diag_error(d, -EINVAL, "bad-options",
				  "a process to trace and a command to start exclude each other");
	*out = (struct nopal_trace_options){0};
	memcpy(out, options, size < sizeof(*out) ? size : sizeof(*out));
	out->size = sizeof(*out);
	out->follow |= out->command != NULL;
	return 0;
}
