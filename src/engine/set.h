/* Several engines that run one program together, and look like one engine. Clauses that share a map
 * stay together; each such group goes to the first engine that can run all of it. So BEGIN, END and
 * intervals run where their maps are. */
#ifndef NOPAL_ENGINE_SET_H
#define NOPAL_ENGINE_SET_H

#include "engine/engine.h"

#define ENGINES_MAX 4

/* Open engines of these kinds, in order of preference; one alone is not wrapped. */
int engine_set_open(const struct engine_ops *const *kinds, unsigned count,
		    const struct engine_options *options, struct engine **out, struct diag *d);

#endif
