/* Fuzz the format files of tracepoints: no crash, and what is accepted stays within its bounds. */
#include <stdlib.h>

#include "find/tracefs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_field(const struct trace_field *f)
{
	if (!f->name.len || !f->c_type.len || f->offset + f->size < f->offset)
		abort();
	if ((f->is_data_loc || f->is_rel_loc) && f->size != 4)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT;
	struct trace_event event;
	struct diag d = DIAG_INIT;
	int err = trace_event_parse(&arena, str_of((const char *)data, size), &event, &d);

	if (err ? !d.errors : d.errors || event.field_count > TRACEFS_MAX_FIELDS)
		abort();
	for (unsigned i = 0; !err && i < event.field_count; i++)
		check_field(&event.fields[i]);
	diag_free(&d);
	arena_free(&arena);
	return 0;
}
