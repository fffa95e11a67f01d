#include "help/runtime.h"

#include <stdlib.h>

struct nopal_provider *provider(const char *name)
{
	struct nopal_error e;
	struct nopal_provider *r = nopal_provider_new(name, 0, &e);

	if (!r)
		fail_msg("%s", e.text);
	return r;
}

struct nopal_probe *probe(struct nopal_provider *r, const char *name,
			  const struct nopal_probe_arg *args, unsigned count)
{
	struct nopal_error e;
	struct nopal_probe *p = nopal_provider_probe(r, name, args, count, NULL, &e);

	if (!p)
		fail_msg("%s", e.text);
	return p;
}

void load(struct nopal_provider *r)
{
	struct nopal_error e;

	if (nopal_provider_load(r, &e))
		fail_msg("%s", e.text);
}

void unload(struct nopal_provider *r)
{
	struct nopal_error e;

	if (nopal_provider_unload(r, &e))
		fail_msg("%s", e.text);
}
