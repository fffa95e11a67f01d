/* libstapsdt.so.0 on top of <nopal/runtime.h>. The struct of a provider or probe that users see is
 * the first member of ours. The nopal_provider is made by the first load, because the kind of file
 * can be chosen until then, and it lives until the provider is destroyed: other threads may fire
 * probes while this one unloads. */
#pragma GCC visibility push(default)
#include "libstapsdt.h"
#pragma GCC visibility pop

#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nopal/runtime.h"

struct provider {
	SDTProvider_t shown;
	struct nopal_provider *handle; /* NULL: never loaded */
};

struct probe {
	SDTProbeList_t shown;
	struct nopal_probe *handle; /* NULL: not yet in a provider; set once, read by any thread */
};

/* Offsets that programs have compiled in. libstapsdt itself is for 64-bit CPUs only. */
#if defined(__LP64__)
_Static_assert(sizeof(SDTProvider_t) == 56 && offsetof(SDTProvider_t, error) == 24, "ABI");
_Static_assert(sizeof(SDTProbe_t) == 56 && offsetof(SDTProbe_t, _fire) == 32, "ABI");
_Static_assert(sizeof(SDTProbeList_t) == 64 && offsetof(SDTProbeList_t, next) == 56, "ABI");
#endif

static void forget_error(SDTProvider_t *p)
{
	free(p->error);
	p->error = NULL;
	p->errno = noError;
}

static int fail(SDTProvider_t *p, SDTError_t number, const char *text)
{
	free(p->error);
	p->error = strdup(text);
	p->errno = number;
	return -1;
}

SDTProvider_t *providerInit(const char *name)
{
	struct provider *p = name ? calloc(1, sizeof(*p)) : NULL;

	if (!p)
		return NULL;
	p->shown.name = strdup(name);
	if (!p->shown.name) {
		free(p);
		return NULL;
	}
	p->shown.errno = noError;
	p->shown._memfd = -1;
	p->shown._use_memfd = memfd_enabled;
	return &p->shown;
}

int providerUseMemfd(SDTProvider_t *provider, const MemFDOption_t use_memfd)
{
	provider->_use_memfd = use_memfd;
	return 1;
}

/* 0: not a type. */
static enum nopal_type type_of(ArgType_t type)
{
	switch (type) {
	case uint8: return NOPAL_UINT8;
	case int8: return NOPAL_INT8;
	case uint16: return NOPAL_UINT16;
	case int16: return NOPAL_INT16;
	case uint32: return NOPAL_UINT32;
	case int32: return NOPAL_INT32;
	case uint64: return NOPAL_UINT64;
	case int64: return NOPAL_INT64;
	case noarg: break;
	}
	return (enum nopal_type)0;
}

static struct probe *new_probe(const char *name)
{
	struct probe *probe = calloc(1, sizeof(*probe));

	if (!probe)
		return NULL;
	probe->shown.probe.name = strdup(name);
	if (probe->shown.probe.name)
		return probe;
	free(probe);
	return NULL;
}

SDTProbe_t *providerAddProbe(SDTProvider_t *provider, const char *name, int argCount, ...)
{
	struct probe *probe;
	va_list types;

	if (argCount < 0 || argCount > MAX_ARGUMENTS) {
		fail(provider, elfCreationError, "a probe has 0 to 6 arguments");
		return NULL;
	}
	probe = name ? new_probe(name) : NULL;
	if (!probe) {
		fail(provider, elfCreationError, name ? "out of memory" : "a probe needs a name");
		return NULL;
	}
	probe->shown.probe.argCount = argCount;
	probe->shown.probe.provider = provider;
	va_start(types, argCount);
	for (int i = 0; i < argCount; i++)
		probe->shown.probe.argFmt[i] = va_arg(types, ArgType_t);
	va_end(types);
	probe->shown.next = provider->probes;
	provider->probes = &probe->shown;
	return &probe->shown.probe;
}

/* ---- Loading ---- */

static int open_runtime(struct provider *p, struct nopal_error *e)
{
	unsigned flags = NOPAL_RUNTIME_ANY_NAME | NOPAL_RUNTIME_ONE_BYTE_NOP;

	if (p->shown._use_memfd == memfd_disabled)
		flags |= NOPAL_RUNTIME_FILE;
	if (!p->handle)
		p->handle = nopal_provider_new(p->shown.name, flags, e);
	return p->handle ? 0 : e->code;
}

static int add_to_provider(struct provider *p, struct probe *probe, struct nopal_error *e)
{
	struct nopal_probe_arg args[MAX_ARGUMENTS] = {{(enum nopal_type)0, NULL}};
	const SDTProbe_t *shown = &probe->shown.probe;
	struct nopal_probe *handle;

	for (int i = 0; i < shown->argCount; i++)
		args[i].type = type_of(shown->argFmt[i]);
	handle = nopal_provider_probe(p->handle, shown->name, args, (unsigned)shown->argCount, NULL,
				      e);
	if (!handle)
		return e->code;
	__atomic_store_n(&probe->handle, handle, __ATOMIC_RELEASE);
	return 0;
}

/* The list has the newest first; images have the oldest first. */
static int add_all(struct provider *p, SDTProbeList_t *from, struct nopal_error *e)
{
	size_t count = 0, i = 0;
	struct probe **all;
	int err = 0;

	for (SDTProbeList_t *at = from; at; at = at->next)
		count++;
	all = calloc(count + 1, sizeof(*all));
	if (!all) {
		snprintf(e->text, sizeof(e->text), "out of memory");
		return NOPAL_NO_MEMORY;
	}
	for (SDTProbeList_t *at = from; at; at = at->next)
		all[count - ++i] = (struct probe *)at;
	for (i = 0; i < count && !err; i++)
		if (!all[i]->handle)
			err = add_to_provider(p, all[i], e);
	free(all);
	return err;
}

/* Without a directory for files, use a memfd. */
static int load_provider(struct provider *p, struct nopal_error *e)
{
	int err = nopal_provider_load(p->handle, e);

	if (err != NOPAL_SYSTEM || p->shown._use_memfd != memfd_disabled ||
	    nopal_provider_is_loaded(p->handle))
		return err;
	nopal_provider_use_memfd(p->handle);
	return nopal_provider_load(p->handle, e);
}

/* A user may have closed the handle, and then unloading fails. So it belongs to an object that
 * stays in memory even if it is closed, and that others hardly open: the vDSO; where there is none
 * (valgrind) libc; and where both have other names the program. */
static void *open_handle(void)
{
	static const char *const names[] = {"linux-vdso.so.1", "libc.so.6", NULL};
	void *handle = NULL;

	for (size_t i = 0; !handle && i < sizeof(names) / sizeof(names[0]); i++)
		handle = dlopen(names[i], names[i] ? RTLD_LAZY | RTLD_NOLOAD : RTLD_LAZY);
	return handle;
}

static void show_loaded(SDTProvider_t *p)
{
	char name[64];

	for (SDTProbeList_t *at = p->probes; at; at = at->next) {
		const struct nopal_probe *handle = ((struct probe *)at)->handle;

		at->probe._fire = (char *)(uintptr_t)handle - NOPAL_PROBE_DISTANCE;
		p->_memfd = nopal_probe_fd(handle);
	}
	if (!p->_handle)
		p->_handle = open_handle();
	free(p->_filename);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", p->_memfd);
	p->_filename = p->probes ? strdup(name) : NULL;
}

/* Of these libstapsdt says that it cannot make its file. */
static SDTError_t number_of(int err)
{
	return err == NOPAL_SYSTEM || err == NOPAL_BAD_NAME ? tmpCreationError : elfCreationError;
}

int providerLoad(SDTProvider_t *provider)
{
	struct provider *p = (struct provider *)provider;
	struct nopal_error e = {0, ""};
	int err = open_runtime(p, &e);

	forget_error(provider);
	if (!err)
		err = add_all(p, provider->probes, &e);
	if (!err)
		err = load_provider(p, &e);
	if (err)
		return fail(provider, number_of(err), e.text);
	show_loaded(provider);
	return 0;
}

/* A wrapper may have taken _filename for itself and left NULL. Returns what dlclose() does. */
static int show_unloaded(SDTProvider_t *p)
{
	int err = p->_handle ? dlclose(p->_handle) : 0;

	for (SDTProbeList_t *at = p->probes; at; at = at->next)
		at->probe._fire = NULL;
	p->_handle = NULL;
	free(p->_filename);
	p->_filename = NULL;
	p->_memfd = -1;
	return err;
}

int providerUnload(SDTProvider_t *provider)
{
	struct provider *p = (struct provider *)provider;
	struct nopal_error e;

	forget_error(provider);
	if (!p->handle)
		return 0;
	if (nopal_provider_unload(p->handle, &e))
		return fail(provider, sharedLibraryCloseError, e.text);
	if (show_unloaded(provider))
		return fail(
			provider, sharedLibraryCloseError,
			"the handle of the provider was closed before: its probes are unloaded");
	return 0;
}

void providerDestroy(SDTProvider_t *provider)
{
	struct provider *p = (struct provider *)provider;

	if (!p)
		return;
	show_unloaded(provider);
	nopal_provider_destroy(p->handle);
	while (provider->probes) {
		SDTProbeList_t *first = provider->probes;

		provider->probes = first->next;
		free(first->probe.name);
		free(first);
	}
	free(provider->error);
	free(provider->name);
	free(p);
}

/* ---- Firing ---- */

/* Wrappers fire what providerAddProbe() returned, NULL too. */
static const struct nopal_probe *handle_of(const SDTProbe_t *probe)
{
	if (!probe)
		return NULL;
	return __atomic_load_n(&((const struct probe *)probe)->handle, __ATOMIC_ACQUIRE);
}

int probeIsEnabled(SDTProbe_t *probe)
{
	const struct nopal_probe *handle = handle_of(probe);

	return handle && nopal_probe_enabled(handle);
}

/* Every argument takes a register or a place on the stack, whatever its width; what is above its
 * width there is cut off. */
void probeFire(SDTProbe_t *probe, ...)
{
	struct nopal_value values[MAX_ARGUMENTS];
	const struct nopal_probe *handle = handle_of(probe);
	va_list args;

	if (!handle || !nopal_probe_enabled(handle))
		return;
	va_start(args, probe);
	for (int i = 0; i < probe->argCount; i++)
		values[i] = (struct nopal_value){va_arg(args, uint64_t), NOPAL_FROM_UNSIGNED};
	va_end(args);
	nopal_probe_fire_values(handle, values, (unsigned)probe->argCount);
}
