/* The engines that a run may use, by name. */
#ifndef NOPAL_SESSION_ENGINES_H
#define NOPAL_SESSION_ENGINES_H

#include "engine/set.h"

struct engine_choice {
	const struct engine_ops *kinds[ENGINES_MAX]; /* in order of preference */
	unsigned count;
};

/* "bpf", "bpf,interp"; NULL: the default. -EINVAL with the names of all engines. */
int engines_choose(const char *names, struct engine_choice *out, struct diag *d);
/* For struct script_source: why none of them can read the operand; NULL: one can. */
const char *engines_unreadable(const struct engine_choice *c, const struct arch *arch,
			       const struct operand *o);

#endif
