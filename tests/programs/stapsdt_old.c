/* A program made for libstapsdt, that knows only its binary interface; opens the library by name as
 * wrappers do. Provider pythonapp, probe firstProbe(uint64, int32); says each step that is not as
 * it has to be. */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stapsdt_abi.h"

static struct old_provider *(*provider_init)(const char *);
static int (*provider_use_memfd)(struct old_provider *, int);
static struct old_probe *(*provider_add)(struct old_provider *, const char *, int, ...);
static int (*provider_load)(struct old_provider *), (*provider_unload)(struct old_provider *);
static void (*provider_destroy)(struct old_provider *);
static void (*probe_fire)(struct old_probe *, ...);
static int (*probe_enabled)(struct old_probe *);

static const struct {
	const char *name;
	void *to;
} functions[] = {
	{"providerInit", &provider_init},     {"providerUseMemfd", &provider_use_memfd},
	{"providerAddProbe", &provider_add},  {"providerLoad", &provider_load},
	{"providerUnload", &provider_unload}, {"providerDestroy", &provider_destroy},
	{"probeFire", &probe_fire},	      {"probeIsEnabled", &probe_enabled},
};

static void must(int condition, const char *what)
{
	if (condition)
		return;
	printf("wrong: %s\n", what);
	exit(1);
}

static void open_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);

	must(library != NULL, "dlopen");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *symbol = dlsym(library, functions[i].name);

		must(symbol != NULL, functions[i].name);
		memcpy(functions[i].to, &symbol, sizeof(symbol));
	}
}

static void check_new(struct old_provider *p)
{
	must(!strcmp(p->name, "pythonapp"), "provider->name");
	must(p->number == OLD_NO_ERROR && !p->error && !p->handle && !p->filename, "new provider");
	must(!p->probes && p->use_memfd == 1, "new provider's list");
}

static void check_contracts(struct old_provider *p, struct old_probe *first)
{
	struct old_probe *second;

	must(!strcmp(first->name, "firstProbe") && first->count == 2, "probe");
	must(first->formats[0] == OLD_UINT64 && first->formats[1] == OLD_INT32, "argFmt");
	must(first->provider == p && !first->fire, "probe->provider, _fire");
	probe_fire(first, 1ull, 2); /* not loaded: nothing */
	must(!probe_enabled(first), "enabled before load");
	must(provider_unload(p) == 0, "unload of what is not loaded");
	must(provider_load(p) == 0 && first->fire && p->handle && p->filename, "load");
	must(provider_load(p) == 0, "second load");
	free(p->filename);
	p->filename = NULL; /* as a wrapper does */
	must(provider_unload(p) == 0 && !first->fire, "unload");
	probe_fire(first, 1ull, 2);
	second = provider_add(p, "firstProbe", 0);
	must(second && p->probes == (struct old_list *)second, "the newest is first");
	must(&p->probes->next->probe == first, "list");
	must(!provider_add(p, "seven", 7, 8, 8, 8, 8, 8, 8, 8) && p->error, "seven arguments");
	must(!probe_enabled(NULL), "what was not added is not enabled");
	probe_fire(NULL, 1ull);
	must(provider_load(p) == 0 && second->fire && second->fire != first->fire, "two of a name");
	must(p->number == OLD_NO_ERROR && !p->error, "error after success");
	must(provider_unload(p) == 0, "unload");
}

static void check_errors(void)
{
	char name[400];
	struct old_provider *p;

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	p = provider_init(name);
	must(provider_load(p) == -1 && p->error && p->number == OLD_TMP,
	     "a provider's name too long");
	provider_destroy(p);
	p = provider_init("long");
	provider_add(p, name, 0);
	must(provider_load(p) == -1 && p->error && p->number == OLD_TMP, "a probe's name too long");
	provider_destroy(p);
	p = provider_init("none");
	must(provider_load(p) == 0 && !p->filename && p->memfd == -1, "load of no probes");
	provider_destroy(p);
	p = provider_init("files");
	must(provider_use_memfd(p, 0) == 1 && p->use_memfd == 0, "providerUseMemfd");
	provider_add(p, "p", 1, OLD_INT64);
	must(provider_load(p) == 0, "load of a file");
	provider_destroy(p); /* loaded */
}

static void check_closed_handle(void)
{
	struct old_provider *p = provider_init("closed");
	struct old_probe *probe = provider_add(p, "p", 0);

	for (int round = 0; round < 2; round++) {
		must(provider_load(p) == 0 && p->handle, "load");
		must(dlclose(p->handle) == 0, "dlclose");
		must(provider_unload(p) == -1 && p->error && p->number == OLD_CLOSE,
		     "unload of what was closed");
		must(!probe->fire && !p->handle, "unloaded all the same");
		must(provider_unload(p) == 0 && p->number == OLD_NO_ERROR, "unload again");
	}
	must(provider_load(p) == 0, "load");
	dlclose(p->handle);
	provider_destroy(p);
}

/* What bindings inline: Go's salp takes a probe for enabled when these bits are not set. No nop of
 * another CPU has them. */
static int looks_enabled(const struct old_probe *probe)
{
#if defined __x86_64__
	return (*(const volatile unsigned char *)probe->fire & 0x90) != 0x90;
#else
	return probe != NULL;
#endif
}

static volatile sig_atomic_t is_over;

/* SIGTERM: the last round. */
static void end(int signal)
{
	is_over = signal;
}

int main(int argc, char **argv)
{
	struct old_provider *p;
	struct old_probe *first;

	must(argc > 1, "path of the library");
	open_library(argv[1]);
	check_errors();
	check_closed_handle();
	p = provider_init("pythonapp");
	check_new(p);
	first = provider_add(p, "firstProbe", 2, OLD_UINT64, OLD_INT32);
	check_contracts(p, first);
	provider_destroy(p);
	p = provider_init("pythonapp");
	first = provider_add(p, "firstProbe", 2, OLD_UINT64, OLD_INT32);
	must(provider_load(p) == 0, "load");
#if defined __x86_64__
	must(*(const unsigned char *)first->fire == 0x90, "_fire begins with 0x90");
	must(!looks_enabled(first), "not enabled for who looks at _fire");
#endif
	signal(SIGTERM, end);
	puts("ready");
	fflush(stdout);
	for (int i = 0; !is_over && i < (argc > 2 ? atoi(argv[2]) : 0); i++) {
		if (probe_enabled(first) && looks_enabled(first)) {
			puts("Probe fired!");
			fflush(stdout);
		}
		probe_fire(first, (uint64_t)(uintptr_t) "a text", -7);
		usleep(20000);
	}
	must(provider_unload(p) == 0, "unload");
	provider_destroy(p);
	puts("done");
	return 0;
}
