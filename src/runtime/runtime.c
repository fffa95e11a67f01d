/* Providers made at run time: their names and probes, loading and unloading. One lock protects
 * everything but firing. It is a global because it is held over fork(): so the child gets it in a
 * known state, whatever other threads were doing. */
#include "runtime/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/export.h"

#define KNOWN_FLAGS   (NOPAL_RUNTIME_FILE | NOPAL_RUNTIME_ANY_NAME | NOPAL_RUNTIME_ONE_BYTE_NOP)
#define FIRST_BUCKETS 8

struct nopal_provider {
	char *name;
	unsigned flags;
	struct image_slot *slots, *last; /* in the order of their creation */
	struct probe_info **buckets;	 /* the probes, by the hash of their names */
	size_t bucket_count;		 /* a power of two */
	size_t probe_count;
	struct nopal_provider *next, **link; /* all providers */
};

static struct {
	pthread_mutex_t lock;
	struct nopal_provider *providers;
	bool exiting;
} global = {PTHREAD_MUTEX_INITIALIZER, NULL, false};

static void lock_runtime(void)
{
	pthread_mutex_lock(&global.lock);
}

static void unlock_runtime(void)
{
	pthread_mutex_unlock(&global.lock);
}

/* Runs in the child, right after fork(). */
static void begin_child(void)
{
	generation_next();
	for (struct nopal_provider *provider = global.providers; provider;
	     provider = provider->next)
		for (struct image_slot *slot = provider->slots; slot; slot = slot->next)
			slot_adopt(slot);
	unlock_runtime();
}

static void begin_exit(void)
{
	global.exiting = true;
	lock_runtime();
	for (struct nopal_provider *provider = global.providers; provider;
	     provider = provider->next)
		for (struct image_slot *slot = provider->slots; slot; slot = slot->next)
			slot_unlink(slot);
	unlock_runtime();
}

static void prepare_process(void)
{
	generation_init();
	pthread_atfork(lock_runtime, unlock_runtime, begin_child);
	atexit(begin_exit);
}

/* ---- Messages, and names that every tracer accepts ---- */

int runtime_fail(struct nopal_error *e, int code, const char *format, ...)
{
	va_list args;

	if (!e)
		return code;
	e->code = code;
	va_start(args, format);
	vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	return code;
}

/* A letter or _, then letters, digits, _ and the characters of `more`. */
static bool name_is_plain(struct str name, const char *more)
{
	for (size_t i = 1; i < name.len; i++)
		if (!char_is_word(name.ptr[i]) && !(*more && strchr(more, name.ptr[i])))
			return false;
	return str_is_word(str_of(name.ptr, name.len > 1 ? 1 : name.len));
}

/* Bytes of a name for a message, at most `max`: no UTF-8 character is cut in two. */
static int name_shown(const char *name, size_t max)
{
	size_t len = strnlen(name, max + 1);

	if (len <= max)
		return (int)len;
	for (len = max; len && ((unsigned char)name[len] & 0xc0) == 0x80;)
		len--;
	return (int)len;
}

/* 0 or NOPAL_BAD_NAME for the name of a `what` ("probe") of up to `max` bytes. */
static int name_check(const char *what, const char *name, size_t max, unsigned flags,
		      struct nopal_error *e)
{
	struct str s = str_from(name);

	if (!s.len)
		return runtime_fail(e, NOPAL_BAD_NAME, "a %s needs a name", what);
	if (s.len > max)
		return runtime_fail(e, NOPAL_BAD_NAME,
				    "the name '%.*s...' of a %s has %zu bytes: the limit is %zu",
				    name_shown(name, 32), name, what, s.len, max);
	if (!(flags & NOPAL_RUNTIME_ANY_NAME) && !name_is_plain(s, "-."))
		return runtime_fail(e, NOPAL_BAD_NAME,
				    "'%.*s' cannot be the name of a %s: write a letter or _, then "
				    "letters, digits, _, - or .",
				    name_shown(name, 100), name, what);
	return 0;
}

/* ---- Probes by name: a table of their own and not base/hash.h, because the static library is
 * linked into programs that may have functions called hash_add() themselves. ---- */

static uint32_t hash_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h;
}

static struct probe_info *find_probe(const struct nopal_provider *provider, const char *name,
				     uint32_t hash)
{
	struct probe_info *p = provider->buckets[hash & (provider->bucket_count - 1)];

	while (p && (p->hash != hash || strcmp(p->image.name.ptr, name)))
		p = p->next;
	return p;
}

/* Double the buckets. If memory is short, searching only gets slower. */
static void grow_buckets(struct nopal_provider *provider)
{
	size_t count = provider->bucket_count * 2;
	struct probe_info **buckets = calloc(count, sizeof(struct probe_info *));

	if (!buckets)
		return;
	for (size_t i = 0; i < provider->bucket_count; i++)
		while (provider->buckets[i]) {
			struct probe_info *p = provider->buckets[i];

			provider->buckets[i] = p->next;
			p->next = buckets[p->hash & (count - 1)];
			buckets[p->hash & (count - 1)] = p;
		}
	free(provider->buckets);
	provider->buckets = buckets;
	provider->bucket_count = count;
}

/* ---- Providers ---- */

NOPAL_EXPORT struct nopal_provider *nopal_provider_new(const char *name, unsigned flags,
						       struct nopal_error *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *kind = secure_getenv("NOPAL_RUNTIME");
	struct nopal_provider *provider;

	if (!stub_host(false) || flags & ~KNOWN_FLAGS) {
		runtime_fail(e, NOPAL_UNSUPPORTED,
			     stub_host(false)
				     ? "unknown flags 0x%x"
				     : "run-time probes do not exist for this CPU (flags 0x%x)",
			     flags);
		return NULL;
	}
	if (name_check("provider", name, NOPAL_MAX_PROVIDER, flags, e))
		return NULL;
	pthread_once(&once, prepare_process);
	provider = calloc(1, sizeof(*provider));
	if (provider) {
		/* NOPAL_RUNTIME=file makes files for tracers that need a path, whatever the
		 * program asks for. */
		provider->flags =
			flags | (kind && !strcmp(kind, "file") ? FLAG_FILE_IF_POSSIBLE : 0);
		provider->name = strdup(name);
		provider->bucket_count = FIRST_BUCKETS;
		provider->buckets = calloc(FIRST_BUCKETS, sizeof(struct probe_info *));
	}
	if (!provider || !provider->name || !provider->buckets) {
		runtime_fail(e, NOPAL_NO_MEMORY, "out of memory for a provider");
		nopal_provider_destroy(provider);
		return NULL;
	}
	lock_runtime();
	provider->next = global.providers;
	provider->link = &global.providers;
	if (provider->next)
		provider->next->link = &provider->next;
	global.providers = provider;
	unlock_runtime();
	return provider;
}

NOPAL_EXPORT void nopal_provider_destroy(struct nopal_provider *provider)
{
	if (!provider)
		return;
	lock_runtime();
	if (provider->link)
		*provider->link = provider->next;
	if (provider->link && provider->next)
		provider->next->link = provider->link;
	while (provider->slots) {
		struct image_slot *slot = provider->slots;

		provider->slots = slot->next;
		if (slot->fd >= 0)
			announce_unloaded(provider->name, slot);
		slot_close(slot);
	}
	unlock_runtime();
	for (size_t i = 0; provider->buckets && i < provider->bucket_count; i++)
		while (provider->buckets[i]) {
			struct probe_info *p = provider->buckets[i];

			provider->buckets[i] = p->next;
			free(p);
		}
	free(provider->buckets);
	free(provider->name);
	free(provider);
}

/* After dlclose() of this library the remaining providers could not be destroyed any more. When the
 * whole program ends, other threads may still be firing, so nothing is destroyed; the handlers of
 * atexit() run before destructors then. */
static __attribute__((destructor)) void close_library(void)
{
	if (global.exiting)
		return;
	while (global.providers)
		nopal_provider_destroy(global.providers);
	generation_end();
}

/* ---- Probes ---- */

static int check_args(const struct nopal_probe_arg *args, unsigned count, unsigned *values,
		      size_t *text, struct nopal_error *e)
{
	*values = 0;
	for (unsigned i = 0; i < count; i++) {
		const struct value_type *types[2];
		unsigned n = runtime_value_types(args[i].type, types);
		struct str name = str_from(args[i].name);

		if (!n)
			return runtime_fail(e, NOPAL_BAD_ARGS, "argument %u has unknown type %d", i,
					    (int)args[i].type);
		if (name.len > NOPAL_MAX_NAME || (name.len && !name_is_plain(name, "")))
			return runtime_fail(
				e, NOPAL_BAD_ARGS,
				"argument %u cannot be called '%.*s': write a letter or "
				"_, then letters, digits or _",
				i, name_shown(args[i].name, 100), args[i].name);
		*values += n;
		*text += name.len + 1;
		if (*values > NOPAL_MAX_VALUES)
			return runtime_fail(e, NOPAL_BAD_ARGS,
					    "too many values in the arguments: the limit is %d",
					    NOPAL_MAX_VALUES);
	}
	return 0;
}

/* Copy a text and a NUL to *at, which moves past them. */
static struct str keep_text(char **at, struct str s)
{
	char *start = *at;

	if (s.len)
		memcpy(start, s.ptr, s.len);
	start[s.len] = '\0';
	*at += s.len + 1;
	return str_of(start, s.len);
}

static int new_info(const char *name, const struct nopal_probe_arg *args, unsigned count,
		    struct str description, struct probe_info **out, struct nopal_error *e)
{
	struct str s = str_from(name);
	size_t text = s.len + 1 + description.len + 1;
	struct probe_info *p;
	unsigned values;
	char *at;
	int err = check_args(args, count, &values, &text, e);

	if (err)
		return err;
	if (description.len > NOPAL_MAX_DESCRIPTION)
		return runtime_fail(e, NOPAL_BAD_ARGS,
				    "the description is too long: the limit is %d bytes",
				    NOPAL_MAX_DESCRIPTION);
	p = *out = calloc(1, sizeof(*p) + text);
	if (!p)
		return runtime_fail(e, NOPAL_NO_MEMORY, "out of memory for a probe");
	at = p->text;
	p->image.name = keep_text(&at, s);
	p->image.description = keep_text(&at, description);
	p->image.value_count = values;
	p->image.types = p->types;
	p->image.names = p->names;
	p->arg_count = (uint8_t)count;
	p->hash = hash_of(p->image.name.ptr);
	for (unsigned i = 0, value = 0; i < count; i++) {
		unsigned n = runtime_value_types(args[i].type, &p->types[value]);

		p->arg_types[i] = (uint8_t)args[i].type;
		p->arg_values[i] = (uint8_t)value;
		p->names[value] = keep_text(&at, str_from(args[i].name));
		if (n > 1)
			p->names[value + 1] = p->names[value];
		value += n;
	}
	return 0;
}

static int add_probe(struct nopal_provider *provider, struct probe_info *p, struct nopal_error *e)
{
	struct probe_info **bucket;
	struct image_slot *slot;
	int err = 0;

	if (!(provider->flags & NOPAL_RUNTIME_ANY_NAME) &&
	    find_probe(provider, p->image.name.ptr, p->hash))
		return runtime_fail(e, NOPAL_NAME_TAKEN, "'%.*s' already has a probe '%.*s'",
				    name_shown(provider->name, 60), provider->name,
				    name_shown(p->image.name.ptr, 100), p->image.name.ptr);
	if (!provider->last || !slot_takes_more(provider->last)) {
		err = slot_open(provider->flags, &slot, e);
		if (err)
			return err;
		*(provider->last ? &provider->last->next : &provider->slots) = slot;
		provider->last = slot;
	}
	p->provider = provider;
	p->slot = provider->last;
	err = slot_add(p->slot, &p->image, p, &p->handle, e);
	if (err)
		return err;
	if (provider->probe_count >= provider->bucket_count)
		grow_buckets(provider);
	bucket = &provider->buckets[p->hash & (provider->bucket_count - 1)];
	p->next = *bucket;
	*bucket = p;
	provider->probe_count++;
	return 0;
}

NOPAL_EXPORT struct nopal_probe *nopal_provider_probe(struct nopal_provider *provider,
						      const char *name,
						      const struct nopal_probe_arg *args,
						      unsigned arg_count, const char *description,
						      struct nopal_error *e)
{
	struct probe_info *p = NULL;
	int err;

	if (!provider)
		return NULL;
	err = name_check("probe", name, NOPAL_MAX_NAME, provider->flags, e);
	if (!err)
		err = new_info(name, args, arg_count, str_from(description), &p, e);
	if (err || !p)
		return NULL;
	lock_runtime();
	err = add_probe(provider, p, e);
	unlock_runtime();
	if (!err)
		return p->handle;
	free(p);
	return NULL;
}

/* ---- Loading ---- */

NOPAL_EXPORT int nopal_provider_load(struct nopal_provider *provider, struct nopal_error *e)
{
	bool any = false;
	int err = 0;

	lock_runtime();
	for (struct image_slot *slot = provider->slots; slot && !err; slot = slot->next) {
		if (slot->fd >= 0)
			continue;
		err = slot_load(slot, provider->name, provider->flags, e);
		if (!err)
			announce_loaded(provider->name, slot);
		any |= !err;
	}
	unlock_runtime();
	if (any)
		announce_to_debuggers();
	return err;
}

NOPAL_EXPORT int nopal_provider_unload(struct nopal_provider *provider, struct nopal_error *e)
{
	int err = 0;

	lock_runtime();
	for (struct image_slot *slot = provider->slots; slot && !err; slot = slot->next) {
		if (slot->fd < 0)
			continue;
		announce_unloaded(provider->name, slot);
		err = slot_unload(slot, e);
	}
	unlock_runtime();
	return err;
}

NOPAL_EXPORT void nopal_provider_use_memfd(struct nopal_provider *provider)
{
	lock_runtime();
	provider->flags &= ~(NOPAL_RUNTIME_FILE | FLAG_FILE_IF_POSSIBLE);
	unlock_runtime();
}

/* ---- Questions ---- */

NOPAL_EXPORT const char *nopal_provider_name(const struct nopal_provider *provider)
{
	return provider->name;
}

NOPAL_EXPORT bool nopal_provider_is_loaded(struct nopal_provider *provider)
{
	bool loaded = false;

	lock_runtime();
	for (struct image_slot *slot = provider->slots; slot && !loaded; slot = slot->next)
		loaded = slot->fd >= 0;
	unlock_runtime();
	return loaded;
}

NOPAL_EXPORT unsigned nopal_provider_probe_count(struct nopal_provider *provider)
{
	size_t count;

	lock_runtime();
	count = provider->probe_count;
	unlock_runtime();
	return (unsigned)count;
}

NOPAL_EXPORT struct nopal_probe *nopal_provider_find(struct nopal_provider *provider,
						     const char *name)
{
	struct probe_info *p;

	lock_runtime();
	p = name ? find_probe(provider, name, hash_of(name)) : NULL;
	unlock_runtime();
	return p ? p->handle : NULL;
}

NOPAL_EXPORT const char *nopal_probe_name(const struct nopal_probe *p)
{
	return p->info->image.name.ptr;
}

NOPAL_EXPORT struct nopal_provider *nopal_probe_provider(const struct nopal_probe *p)
{
	return p->info->provider;
}

NOPAL_EXPORT unsigned nopal_probe_arg_count(const struct nopal_probe *p)
{
	return p->info->arg_count;
}

NOPAL_EXPORT unsigned nopal_probe_value_count(const struct nopal_probe *p)
{
	return p->info->image.value_count;
}

NOPAL_EXPORT enum nopal_type nopal_probe_arg_type(const struct nopal_probe *p, unsigned i)
{
	return i < p->info->arg_count ? (enum nopal_type)p->info->arg_types[i] : (enum nopal_type)0;
}

NOPAL_EXPORT const char *nopal_probe_arg_name(const struct nopal_probe *p, unsigned i)
{
	return i < p->info->arg_count ? p->info->names[p->info->arg_values[i]].ptr : "";
}

NOPAL_EXPORT int nopal_probe_fd(const struct nopal_probe *p)
{
	int fd;

	lock_runtime();
	fd = p->info->slot->fd;
	unlock_runtime();
	return fd;
}
