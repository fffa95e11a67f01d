/* Help for tests of run-time probes: calls that must not fail. */
#ifndef NOPAL_TESTS_HELP_RUNTIME_H
#define NOPAL_TESTS_HELP_RUNTIME_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "help/spy.h"

static inline struct nopal_provider *provider(const char *name)
{
	struct nopal_error e;
	struct nopal_provider *r = nopal_provider_new(name, 0, &e);

	if (!r)
		fail_msg("%s", e.text);
	return r;
}

static inline struct nopal_probe *probe(struct nopal_provider *r, const char *name,
					const struct nopal_probe_arg *args, unsigned count)
{
	struct nopal_error e;
	struct nopal_probe *p = nopal_provider_probe(r, name, args, count, NULL, &e);

	if (!p)
		fail_msg("%s", e.text);
	return p;
}

static inline void load(struct nopal_provider *r)
{
	struct nopal_error e;

	if (nopal_provider_load(r, &e))
		fail_msg("%s", e.text);
}

static inline void unload(struct nopal_provider *r)
{
	struct nopal_error e;

	if (nopal_provider_unload(r, &e))
		fail_msg("%s", e.text);
}

#endif
