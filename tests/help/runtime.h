/* Help for tests of run-time probes: calls that must not fail. */
#ifndef NOPAL_TESTS_HELP_RUNTIME_H
#define NOPAL_TESTS_HELP_RUNTIME_H

#include "help/check.h"
#include "help/spy.h"

struct nopal_provider *provider(const char *name);
struct nopal_probe *probe(struct nopal_provider *r, const char *name,
			  const struct nopal_probe_arg *args, unsigned count);
void load(struct nopal_provider *r);
void unload(struct nopal_provider *r);

#endif
