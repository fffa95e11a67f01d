/* Providers made at run time: their names and probes, loading and unloading. One lock is around
 * everything but firing. It is a global, because a process that forks must be able to hold it: the
 * child gets it unlocked, whatever other threads were doing. */
#include "runtime/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "runtime/announce.h"
#include "runtime/error.h"
#include "runtime/fork.h"
#include "runtime/name.h"
#include "base/export.h"

#define KNOWN_FLAGS   (NOPAL_RUNTIME_FILE | NOPAL_RUNTIME_ANY_NAME | NOPAL_RUNTIME_ONE_BYTE_NOP)
#define FIRST_BUCKETS 8

struct nopal_provider {
	char *name;
	unsigned flags;
	struct probe_room *rooms, *last; /* in the order they were made */
	struct probe_info **buckets;	 /* of probes by the hash of their names */
	size_t bucket_count;		 /* a power of two */
	size_t probe_count;
	struct nopal_provider *next, **link; /* all providers */
};

static struct {
	pthread_mutex_t lock;
	struct nopal_provider *providers;
	bool exiting;
} global = {PTHREAD_MUTEX_INITIALIZER, NULL, false};

static void lock(void)
{
	pthread_mutex_lock(&global.lock);
}

static void unlock(void)
{
	pthread_mutex_unlock(&global.lock);
}

static void remove_files(void)
{
	lock();
	for (struct nopal_provider *r = global.providers; r; r = r->next)
		for (struct probe_room *room = r->rooms; room; room = room->next)
			room_unlink(room);
	unlock();
}

/* In a child, right after fork(). */
static void begin_child(void)
{
	generation_next();
	for (struct nopal_provider *r = global.providers; r; r = r->next)
		for (struct probe_room *room = r->rooms; room; room = room->next)
			room_adopt(room);
	unlock();
}

static void begin_exit(void)
{
	global.exiting = true;
	remove_files();
}

static void prepare_process(void)
{
	generation_init();
	pthread_atfork(lock, unlock, begin_child);
	atexit(begin_exit);
}

/* ---- Probes by name ---- */

static uint32_t hash_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h;
}

static struct probe_info *find(const struct nopal_provider *r, const char *name, uint32_t hash)
{
	struct probe_info *p = r->buckets[hash & (r->bucket_count - 1)];

	while (p && (p->hash != hash || strcmp(p->image.name.ptr, name)))
		p = p->next;
	return p;
}

/* Twice as many buckets; without memory for them it only gets slower. */
static void grow_buckets(struct nopal_provider *r)
{
	size_t count = r->bucket_count * 2;
	struct probe_info **buckets = calloc(count, sizeof(struct probe_info *));

	if (!buckets)
		return;
	for (size_t i = 0; i < r->bucket_count; i++)
		while (r->buckets[i]) {
			struct probe_info *p = r->buckets[i];

			r->buckets[i] = p->next;
			p->next = buckets[p->hash & (count - 1)];
			buckets[p->hash & (count - 1)] = p;
		}
	free(r->buckets);
	r->buckets = buckets;
	r->bucket_count = count;
}

static void remember(struct nopal_provider *r, struct probe_info *p)
{
	struct probe_info **bucket;

	if (r->probe_count >= r->bucket_count)
		grow_buckets(r);
	bucket = &r->buckets[p->hash & (r->bucket_count - 1)];
	p->next = *bucket;
	*bucket = p;
	r->probe_count++;
}

/* ---- Providers ---- */

static void join_providers(struct nopal_provider *r)
{
	lock();
	r->next = global.providers;
	r->link = &global.providers;
	if (r->next)
		r->next->link = &r->next;
	global.providers = r;
	unlock();
}

static void leave_providers(struct nopal_provider *r)
{
	if (!r->link)
		return;
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	r->link = NULL;
}

/* NOPAL_RUNTIME=file: for tracers that want a path, whatever the program asks for. */
static unsigned flags_of_environment(void)
{
	const char *value = secure_getenv("NOPAL_RUNTIME");

	return value && !strcmp(value, "file") ? ROOM_FILE_IF_POSSIBLE : 0;
}

NOPAL_EXPORT struct nopal_provider *nopal_provider_new(const char *name, unsigned flags,
						       struct nopal_error *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct nopal_provider *r;

	if (!stub_host(false) || flags & ~KNOWN_FLAGS) {
		runtime_fail(e, NOPAL_UNSUPPORTED,
			     stub_host(false) ? "unknown flags 0x%x"
					      : "no run-time probes on this CPU (flags 0x%x)",
			     flags);
		return NULL;
	}
	if (name_check("provider", name, NOPAL_MAX_PROVIDER, flags, e))
		return NULL;
	pthread_once(&once, prepare_process);
	r = calloc(1, sizeof(*r));
	if (r) {
		r->flags = flags | flags_of_environment();
		r->name = strdup(name);
		r->bucket_count = FIRST_BUCKETS;
		r->buckets = calloc(FIRST_BUCKETS, sizeof(struct probe_info *));
	}
	if (!r || !r->name || !r->buckets) {
		runtime_fail(e, NOPAL_NO_MEMORY, "no memory for a provider");
		nopal_provider_destroy(r);
		return NULL;
	}
	join_providers(r);
	return r;
}

static void free_probes(struct nopal_provider *r)
{
	for (size_t i = 0; r->buckets && i < r->bucket_count; i++)
		while (r->buckets[i]) {
			struct probe_info *p = r->buckets[i];

			r->buckets[i] = p->next;
			free(p);
		}
	free(r->buckets);
}

NOPAL_EXPORT void nopal_provider_destroy(struct nopal_provider *r)
{
	if (!r)
		return;
	lock();
	leave_providers(r);
	while (r->rooms) {
		struct probe_room *room = r->rooms;

		r->rooms = room->next;
		if (room->fd >= 0)
			announce_unloaded(r->name, room);
		room_close(room);
	}
	unlock();
	free_probes(r);
	free(r->name);
	free(r);
}

/* dlclose() of the library takes its functions away, and with them all that could be done with the
 * providers that are left. When it is the program that ends, other threads may still fire: then the
 * handlers of atexit() run before destructors, not after them. */
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
			return runtime_fail(e, NOPAL_BAD_ARGS,
					    "argument %u cannot be called '%.*s': a letter or _, "
					    "then letters, digits and _",
					    i, name_shown(args[i].name, 100), args[i].name);
		*values += n;
		*text += name.len + 1;
		if (*values > NOPAL_MAX_VALUES)
			return runtime_fail(e, NOPAL_BAD_ARGS,
					    "the arguments have more than %d values",
					    NOPAL_MAX_VALUES);
	}
	return 0;
}

/* Copy a text, with a NUL, to *at and move on. */
static struct str keep(char **at, struct str s)
{
	char *start = *at;

	if (s.len)
		memcpy(start, s.ptr, s.len);
	start[s.len] = '\0';
	*at += s.len + 1;
	return str_of(start, s.len);
}

static void fill_info(struct probe_info *p, struct str name, const struct nopal_probe_arg *args,
		      unsigned count, struct str description)
{
	char *at = p->text;
	unsigned values = 0;

	p->image.name = keep(&at, name);
	p->image.description = keep(&at, description);
	for (unsigned i = 0; i < count; i++) {
		unsigned n = runtime_value_types(args[i].type, &p->types[values]);

		p->arg_types[i] = (uint8_t)args[i].type;
		p->arg_values[i] = (uint8_t)values;
		p->names[values] = keep(&at, str_from(args[i].name));
		if (n > 1)
			p->names[values + 1] = p->names[values];
		values += n;
	}
	p->arg_count = (uint8_t)count;
	p->image.value_count = values;
	p->image.types = p->types;
	p->image.names = p->names;
	p->hash = hash_of(p->image.name.ptr);
}

static int new_info(const char *name, const struct nopal_probe_arg *args, unsigned count,
		    struct str description, struct probe_info **out, struct nopal_error *e)
{
	struct str s = str_from(name);
	size_t text = s.len + 1 + description.len + 1;
	unsigned values;
	int err = check_args(args, count, &values, &text, e);

	if (err)
		return err;
	if (description.len > NOPAL_MAX_DESCRIPTION)
		return runtime_fail(e, NOPAL_BAD_ARGS, "a description has more than %d bytes",
				    NOPAL_MAX_DESCRIPTION);
	*out = calloc(1, sizeof(**out) + text);
	if (!*out)
		return runtime_fail(e, NOPAL_NO_MEMORY, "no memory for a probe");
	fill_info(*out, s, args, count, description);
	return 0;
}

static int room_for_probe(struct nopal_provider *r, struct probe_room **out, struct nopal_error *e)
{
	int err;

	if (!r->last || !room_takes_more(r->last)) {
		struct probe_room *room;

		err = room_open(r->flags, &room, e);
		if (err)
			return err;
		if (r->last)
			r->last->next = room;
		else
			r->rooms = room;
		r->last = room;
	}
	*out = r->last;
	return 0;
}

static int add_probe(struct nopal_provider *r, struct probe_info *p, struct nopal_error *e)
{
	int err;

	if (!(r->flags & NOPAL_RUNTIME_ANY_NAME) && find(r, p->image.name.ptr, p->hash))
		return runtime_fail(e, NOPAL_NAME_TAKEN, "'%.*s' has a probe '%.*s' already",
				    name_shown(r->name, 60), r->name,
				    name_shown(p->image.name.ptr, 100), p->image.name.ptr);
	p->provider = r;
	err = room_for_probe(r, &p->room, e);
	if (!err)
		err = room_add(p->room, &p->image, p, &p->handle, e);
	if (!err)
		remember(r, p);
	return err;
}

NOPAL_EXPORT struct nopal_probe *nopal_provider_probe(struct nopal_provider *r, const char *name,
						      const struct nopal_probe_arg *args,
						      unsigned arg_count, const char *description,
						      struct nopal_error *e)
{
	struct probe_info *p = NULL;
	int err;

	if (!r)
		return NULL;
	err = name_check("probe", name, NOPAL_MAX_NAME, r->flags, e);
	if (!err)
		err = new_info(name, args, arg_count, str_from(description), &p, e);
	if (err || !p)
		return NULL;
	lock();
	err = add_probe(r, p, e);
	unlock();
	if (!err)
		return p->handle;
	free(p);
	return NULL;
}

/* ---- Loading ---- */

NOPAL_EXPORT int nopal_provider_load(struct nopal_provider *r, struct nopal_error *e)
{
	int err = 0;

	lock();
	for (struct probe_room *room = r->rooms; room && !err; room = room->next) {
		if (room->fd >= 0)
			continue;
		err = room_load(room, r->name, r->flags, e);
		if (!err)
			announce_loaded(r->name, room);
	}
	unlock();
	return err;
}

NOPAL_EXPORT int nopal_provider_unload(struct nopal_provider *r, struct nopal_error *e)
{
	int err = 0;

	lock();
	for (struct probe_room *room = r->rooms; room && !err; room = room->next) {
		if (room->fd < 0)
			continue;
		announce_unloaded(r->name, room);
		err = room_unload(room, e);
	}
	unlock();
	return err;
}

NOPAL_EXPORT void nopal_provider_use_memfd(struct nopal_provider *r)
{
	lock();
	r->flags &= ~(NOPAL_RUNTIME_FILE | ROOM_FILE_IF_POSSIBLE);
	unlock();
}

/* ---- Questions ---- */

NOPAL_EXPORT const char *nopal_provider_name(const struct nopal_provider *r)
{
	return r->name;
}

NOPAL_EXPORT bool nopal_provider_is_loaded(struct nopal_provider *r)
{
	bool loaded = false;

	lock();
	for (struct probe_room *room = r->rooms; room && !loaded; room = room->next)
		loaded = room->fd >= 0;
	unlock();
	return loaded;
}

NOPAL_EXPORT unsigned nopal_provider_probe_count(struct nopal_provider *r)
{
	size_t count;

	lock();
	count = r->probe_count;
	unlock();
	return (unsigned)count;
}

NOPAL_EXPORT struct nopal_probe *nopal_provider_find(struct nopal_provider *r, const char *name)
{
	struct probe_info *p;

	lock();
	p = name ? find(r, name, hash_of(name)) : NULL;
	unlock();
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

	lock();
	fd = p->info->room->fd;
	unlock();
	return fd;
}
