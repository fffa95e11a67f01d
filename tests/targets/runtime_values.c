/* Provider values: run-time probes of every type, fired with all edges of it.
 *
 *   runtime_values [EXPECTED]   says "ready"; when a line comes fires each probe once with each
 *                               value, and writes to EXPECTED what a tracer has to print
 *
 * The probes and values are in tests/help/values.h. */
#include <stdlib.h>

#include "../help/values.h"

static struct nopal_probe *made[VALUES_PROBES];

static void make(struct nopal_provider *r)
{
	struct nopal_error e = {0, ""};

	for (size_t i = 0; i < VALUES_PROBES; i++) {
		const struct values_probe *v = &values_probes[i];

		made[i] = nopal_provider_probe(r, v->name, v->args, v->count,
					       "every type, with its edges", &e);
	}
	if (!e.code && !nopal_provider_load(r, &e))
		return;
	fprintf(stderr, "runtime_values: %s\n", e.text);
	exit(1);
}

int main(int argc, char **argv)
{
	FILE *expected = fopen(argc > 1 ? argv[1] : "/dev/null", "w");
	struct nopal_provider *r = nopal_provider_new("values", 0, NULL);

	if (!r || !expected)
		return 1;
	make(r);
	puts("ready");
	fflush(stdout);
	getchar();
	for (size_t i = 0; i < VALUES_PROBES; i++)
		values_probes[i].fire(made[i], expected);
	fclose(expected);
	nopal_provider_destroy(r);
	return 0;
}
