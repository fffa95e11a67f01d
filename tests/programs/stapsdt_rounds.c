/* Opens libstapsdt, loads a provider, and closes the library without destroying it, again and
 * again. Prints how many mappings there are more than after the first round. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "stapsdt_abi.h"

static void *library;

static void find(void *to, const char *name)
{
	void *symbol = dlsym(library, name);

	memcpy(to, &symbol, sizeof(symbol));
}

static int play(const char *path)
{
	struct old_provider *(*init)(const char *);
	struct old_probe *(*add)(struct old_provider *, const char *, int, ...);
	int (*load)(struct old_provider *);
	struct old_provider *p;
	int err;

	library = dlopen(path, RTLD_NOW);
	if (!library)
		return -1;
	find(&init, "providerInit");
	find(&add, "providerAddProbe");
	find(&load, "providerLoad");
	p = init("rounds");
	add(p, "probe", 0);
	err = load(p);
	dlclose(library);
	return err;
}

static int mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	int c, lines = 0;

	while ((c = getc(f)) != EOF)
		lines += c == '\n';
	fclose(f);
	return lines;
}

int main(int argc, char **argv)
{
	int first = 0;

	for (int i = 0; i < 6; i++) {
		if (argc < 2 || play(argv[1]))
			return 1;
		if (!i)
			first = mappings();
	}
	printf("%d mappings more\n", mappings() - first);
	return 0;
}
