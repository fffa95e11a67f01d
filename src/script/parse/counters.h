/* Events that perf counts, by the names that scripts have for them: software and hardware probes.
 */
#ifndef NOPAL_SCRIPT_COUNTERS_H
#define NOPAL_SCRIPT_COUNTERS_H

#include "script/parse/probe_spec.h"

struct counter {
	enum probe_type type;
	const char *name, *other;
	uint64_t config; /* perf's number of it */
	uint64_t period; /* if the script gives none */
};

/* NULL: there is none by this name. */
const struct counter *counter_find(enum probe_type type, struct str name);
/* The n-th of this type; NULL: there are fewer. */
const struct counter *counter_at(enum probe_type type, size_t n);
/* The nearest name to a misspelt one; empty when none is near. */
struct str counter_guess(enum probe_type type, struct str name);
unsigned counter_perf_type(enum probe_type type);

#endif
