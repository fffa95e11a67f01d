/* Kernel tracepoints as tracefs describes them: events/CATEGORY/EVENT/format. */
#ifndef NOPAL_FIND_TRACEFS_H
#define NOPAL_FIND_TRACEFS_H

#include "base/diag.h"

#define TRACEFS_MAX_FIELDS 1024 /* in one event; the kernel's own have less than 64 */

struct trace_field {
	struct str name;
	struct str c_type; /* "const char *", "__data_loc char[]", "pid_t", "char[16]" */
	uint32_t offset;   /* in the event's bytes */
	uint32_t size;
	bool is_signed;
	bool is_array;	  /* char comm[16] */
	bool is_data_loc; /* u32: offset | length << 16 */
	bool is_rel_loc;  /* the same, but the offset counts from the end of this field */
};

struct trace_event {
	struct str name; /* without its category, which the text does not have */
	uint32_t id;
	const struct trace_field *fields;
	unsigned field_count;
	struct str print; /* how the kernel shows it: "..." and what goes into it, as in C */
};

/* The directory of tracefs: $NOPAL_TRACEFS, or where it is mounted; mounted at /sys/kernel/tracing
 * if it is not mounted and we may. NULL with a message if that fails. */
const char *tracefs_dir(struct diag *d);
/* Parse one format file's text; all text lives in `a`. */
int trace_event_parse(struct arena *a, struct str text, struct trace_event *out, struct diag *d);
/* 0; -ENOENT: there is no such event; -EINVAL: the name cannot be one; or the errors of open(2) and
 * read(2). */
int trace_event_read(struct arena *a, struct str category, struct str name, struct trace_event *out,
		     struct diag *d);
/* Each event that matches, names only ("sched", "sched_switch"), in the order of their names. No
 * match is not an error: 0 without a call. Non-zero from `fn` ends the search and is returned. */
typedef int trace_event_fn(void *arg, struct str category, struct str name);
int trace_events_each(struct str category, struct str name, trace_event_fn *fn, void *arg,
		      struct diag *d);

#endif
