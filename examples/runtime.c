/* Using <nopal/runtime.h>: a provider and a probe whose names are given on the command line.
 *
 *	runtime shop sale 30 &
 *	nopal -p $! -e 'usdt::shop:sale { printf("%s %d cents, %d left\n", str(arg0), arg1, arg2) }'
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nopal/runtime.h"

int main(int argc, char **argv)
{
	static const struct nopal_probe_arg args[] = {
		{NOPAL_STRING, "what"},
		{NOPAL_INT64, "cents"},
		{NOPAL_UINT32, "left"},
	};
	struct nopal_error error;
	struct nopal_provider *shop;
	struct nopal_probe *sale;

	if (argc < 3)
		return fprintf(stderr, "usage: runtime PROVIDER PROBE [SECONDS]\n"), 2;
	shop = nopal_provider_new(argv[1], 0, &error);
	sale = shop ? nopal_provider_probe(shop, argv[2], args, 3, "something was sold", &error)
		    : NULL;
	if (!sale || nopal_provider_load(shop, &error)) {
		fprintf(stderr, "runtime: %s\n", error.text);
		return 1;
	}
	for (unsigned left = 10 * (unsigned)atoi(argc > 3 ? argv[3] : "10"); left; left--) {
		nopal_probe_fire(sale, left % 2 ? "tea" : "coffee", left % 2 ? 250 : 320, left);
		usleep(100000);
	}
	nopal_provider_destroy(shop);
	return 0;
}
