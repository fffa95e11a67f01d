/* The runtimes of a run's processes, and the functions that were met in them. A function is known
 * by its process and its object; what the kernel copied of it is kept, and read as if it were the
 * process's memory, when a name is asked for. What was not copied is read from the process, if it
 * lives. */
#include "lang/inside.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "symbols/maps.h"

#define RUNTIMES_MOST	 8	    /* of a process */
#define ALL_MOST	 65536	    /* runtimes of all processes */
#define DEFINITIONS_MOST (1u << 17) /* functions of all processes */
#define MEMORY_MOST	 (128u << 20)

/* One runtime in one process. Kept until the end, for its number is in definitions. */
struct known_runtime {
	pid_t pid;
	bool is_gone, is_first;
	bool is_given; /* to the kernel */
	struct lang_runtime runtime;
	struct lang_target target;
};

struct definition {
	struct lang_definition head;
	char *bytes; /* owned; NULL: none could be kept */
	size_t len;
};

/* A function by its name: the same in all processes. */
struct named {
	struct str function, file; /* owned */
};

struct lang_names {
	struct named *named;
	size_t named_count, named_cap;
	struct hash by_name;
	struct lang_images images;
	size_t files; /* images that were handed over as files */
	struct known_runtime **known;
	size_t known_count, known_cap;
	struct hash by_pid;
	bool is_changed;
	struct definition *definitions;
	size_t count, cap;
	struct hash by_object;
	size_t memory;
};

int lang_names_new(struct lang_names **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void lang_names_free(struct lang_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->known_count; i++) {
		lang_runtime_free(&n->known[i]->runtime);
		free(n->known[i]);
	}
	for (size_t i = 0; i < n->count; i++)
		free(n->definitions[i].bytes);
	for (size_t i = 0; i < n->named_count; i++) {
		free((char *)n->named[i].function.ptr);
		free((char *)n->named[i].file.ptr);
	}
	free(n->named);
	hash_free(&n->by_name);
	free(n->known);
	lang_images_free(&n->images);
	free(n->definitions);
	hash_free(&n->by_pid);
	hash_free(&n->by_object);
	free(n);
}

/* ---- processes */

static uint64_t hash_pid(const struct lang_names *n, pid_t pid)
{
	return hash_bytes((uintptr_t)n, &pid, sizeof(pid));
}

/* The first runtime that a process has now, of a kind or any. */
static struct known_runtime *find_known(const struct lang_names *n, pid_t pid, enum lang_kind kind)
{
	struct known_runtime *found = NULL;

	hash_each(i, &n->by_pid, hash_pid(n, pid)) {
		struct known_runtime *k = n->known[i];

		if (k->pid == pid && !k->is_gone && (kind == LANG_NONE || kind == k->runtime.kind))
			found = k;
	}
	return found;
}

const struct lang_target *lang_names_target(const struct lang_names *n, pid_t pid,
					    enum lang_kind kind)
{
	const struct known_runtime *k = find_known(n, pid, kind);

	return k && k->runtime.layout ? &k->target : NULL;
}

bool lang_names_has(const struct lang_names *n, pid_t pid)
{
	return find_known(n, pid, LANG_NONE);
}

int names_add(struct lang_names *n, pid_t pid, struct lang_runtime *runtime)
{
	struct known_runtime *k = n->known_count < ALL_MOST ? calloc(1, sizeof(*k)) : NULL;
	bool is_first = !lang_names_has(n, pid);

	if (!k || array_grow(n->known, n->known_count, n->known_cap) ||
	    hash_add(&n->by_pid, hash_pid(n, pid), n->known_count)) {
		free(k);
		lang_runtime_free(runtime);
		return -ENOMEM;
	}
	k->pid = pid;
	k->runtime = *runtime;
	k->runtime.path = buf_as_str(&k->runtime.text);
	k->is_first = is_first;
	lang_target(&k->runtime, (uint32_t)n->known_count, &k->target);
	n->known[n->known_count++] = k;
	n->is_changed = true;
	return 0;
}

/* Each image that is a runtime is known as one of process 0, too: for processes that run it and are
 * not known yet. */
static void add_images(struct lang_names *n)
{
	const struct lang_runtime *image;

	while (lang_images_next(&n->images, &n->files, &image)) {
		struct lang_runtime copy = *image;

		if (!image->layout)
			continue;
		copy.code_type = 0; /* link-time */
		copy.text = (struct buf)BUF_INIT;
		buf_str(&copy.text, image->path);
		names_add(n, 0, &copy);
	}
}

void lang_names_add_file(struct lang_names *n, const char *path)
{
	if (!lang_images_add(&n->images, path))
		add_images(n);
}

static bool is_same(const struct lang_runtime *a, const struct lang_runtime *b)
{
	return a->kind == b->kind && a->root == b->root && a->tls_offset == b->tls_offset &&
	       a->layout == b->layout && str_eq(a->path, b->path);
}

/* All of a process but those that are still there. */
static void forget_others(struct lang_names *n, pid_t pid, const struct lang_runtime *found,
			  int count)
{
	hash_each(i, &n->by_pid, hash_pid(n, pid)) {
		struct known_runtime *k = n->known[i];
		bool is_here = false;

		for (int f = 0; f < count; f++)
			is_here |= is_same(&k->runtime, &found[f]);
		if (k->pid != pid || k->is_gone || is_here)
			continue;
		k->is_gone = true;
		k->is_given = false;
		n->is_changed = true;
	}
}

void lang_names_forget(struct lang_names *n, pid_t pid)
{
	forget_others(n, pid, NULL, 0);
}

void lang_names_see(struct lang_names *n, pid_t pid)
{
	struct lang_runtime found[RUNTIMES_MOST];
	struct buf maps = BUF_INIT;
	int count = maps_read(pid, &maps);

	if (!count && maps.len)
		count = lang_recognise(pid, buf_as_str(&maps), &n->images, found, RUNTIMES_MOST);
	if (count > 0 || (!count && maps.len))
		forget_others(n, pid, found, count);
	buf_free(&maps);
	add_images(n);
	for (int i = 0; i < count; i++) {
		const struct known_runtime *before = find_known(n, pid, found[i].kind);

		if (before && is_same(&before->runtime, &found[i]))
			lang_runtime_free(&found[i]);
		else
			names_add(n, pid, &found[i]);
	}
}

void lang_names_fork(struct lang_names *n, pid_t parent, pid_t child)
{
	for (unsigned kind = LANG_NONE + 1; kind < LANG_KINDS; kind++) {
		const struct known_runtime *from = find_known(n, parent, (enum lang_kind)kind);
		struct lang_runtime copy;

		if (!from || find_known(n, child, (enum lang_kind)kind))
			continue;
		copy = from->runtime;
		copy.text = (struct buf)BUF_INIT;
		buf_str(&copy.text, from->runtime.path);
		names_add(n, child, &copy);
	}
}

void lang_names_changes(struct lang_names *n, lang_target_fn *fn, void *arg)
{
	if (!n->is_changed)
		return;
	n->is_changed = false;
	for (size_t i = 0; i < n->known_count; i++) {
		struct known_runtime *k = n->known[i];
		const struct lang_target *target = k->is_gone ? NULL : &k->target;

		if (k->is_given || !k->runtime.layout)
			continue;
		k->is_given = true;
		fn(arg, k->pid, k->runtime.kind, target);
		if (k->is_first && k->pid)
			fn(arg, k->pid, LANG_NONE, target);
	}
}

/* ---- functions */

static uint64_t hash_object(const struct lang_names *n, uint64_t pid, uint64_t object,
			    uint64_t position)
{
	const uint64_t words[] = {pid, object, position};

	return hash_bytes((uintptr_t)n, words, sizeof(words));
}

/* The newest definition of an object. */
static const struct definition *find_definition(const struct lang_names *n, uint64_t pid,
						struct lang_frame frame)
{
	const uint64_t positions[] = {0, frame.position};

	for (unsigned k = 0; k < COUNT(positions); k++)
		hash_each(i, &n->by_object, hash_object(n, pid, frame.object, positions[k])) {
			const struct lang_definition *head = &n->definitions[i].head;

			if (head->pid == pid && head->object == frame.object &&
			    head->position == positions[k])
				return &n->definitions[i];
		}
	return NULL;
}

/* Chunks lie in the bytes and hold no more than was sent. */
static bool is_sound(const struct lang_names *n, const struct lang_definition *head, size_t len)
{
	if (head->id >= n->known_count || head->pid > INT32_MAX)
		return false;
	for (unsigned i = 0; i < LANG_CHUNKS; i++) {
		const struct lang_chunk *c = &head->chunks[i];

		if (c->len > LANG_CHUNK_MOST || c->at > len || len - c->at < c->len)
			return false;
	}
	return true;
}

void lang_names_define(struct lang_names *n, struct str bytes)
{
	struct definition d;

	if (bytes.len < sizeof(d.head) || bytes.len > sizeof(d.head) + LANG_BYTES)
		return;
	memcpy(&d.head, bytes.ptr, sizeof(d.head));
	d.len = bytes.len - sizeof(d.head);
	if (!is_sound(n, &d.head, d.len) || n->count >= DEFINITIONS_MOST ||
	    n->memory + d.len > MEMORY_MOST || array_grow(n->definitions, n->count, n->cap))
		return;
	d.bytes = malloc(d.len + 1);
	if (!d.bytes)
		return;
	memcpy(d.bytes, bytes.ptr + sizeof(d.head), d.len);
	if (hash_add(&n->by_object, hash_object(n, d.head.pid, d.head.object, d.head.position),
		     n->count)) {
		free(d.bytes);
		return;
	}
	n->definitions[n->count++] = d;
	n->memory += d.len;
}

/* Memory of a process as it was when a function was met, then as it is. */
struct snapshot {
	const struct definition *definition; /* NULL: none */
	pid_t pid;
};

static bool read_snapshot(void *self, uint64_t address, void *to, size_t len)
{
	const struct snapshot *s = self;
	const pid_t pid = s->pid;
	struct lang_memory live;

	for (unsigned i = 0; s->definition && i < LANG_CHUNKS; i++) {
		const struct lang_chunk *c = &s->definition->head.chunks[i];

		if (address < c->address || address - c->address > c->len ||
		    c->len - (address - c->address) < len)
			continue;
		memcpy(to, s->definition->bytes + c->at + (address - c->address), len);
		return true;
	}
	if (!pid)
		return false;
	live = lang_memory_of(&pid);
	return live.read(live.self, address, to, len);
}

/* Is what lies at the object's address now still what was walked? */
static bool is_still_it(const struct lang_runtime *r, pid_t pid, struct lang_frame frame)
{
	const struct lang_memory live = lang_memory_of(&pid);
	uint8_t check = r->layout->shape.check;
	uint32_t word;

	return check == LANG_NOTHING ||
	       (read_u32(&live, LANG_ADDRESS(frame.object) + check, &word) &&
		(word & 0xffff) == frame.object >> 48);
}

/* ---- the same in all processes */

/* The number of a function, from 1; 0: there is no memory for it. */
static uint64_t number_of(struct lang_names *n, const struct lang_name *name)
{
	struct str function = buf_as_str(&name->function), file = buf_as_str(&name->file);
	uint64_t hash = hash_str(hash_str((uintptr_t)n, function), file);
	struct named new;

	hash_each(i, &n->by_name, hash)
		if (str_eq(n->named[i].function, function) && str_eq(n->named[i].file, file))
			return i + 1;
	if (n->named_count >= DEFINITIONS_MOST ||
	    array_grow(n->named, n->named_count, n->named_cap))
		return 0;
	new = (struct named){str_copy(function), str_copy(file)};
	if (!new.function.ptr || !new.file.ptr || hash_add(&n->by_name, hash, n->named_count)) {
		free((char *)new.function.ptr);
		free((char *)new.file.ptr);
		return 0;
	}
	n->named[n->named_count++] = new;
	return n->named_count;
}

/* A frame that lang_names_unify() has made. */
static void find_unified(const struct lang_names *n, struct lang_frame frame, struct lang_name *out)
{
	if (!frame.object || frame.object > n->named_count)
		return;
	buf_str(&out->function, n->named[frame.object - 1].function);
	buf_str(&out->file, n->named[frame.object - 1].file);
	out->line = frame.position;
}

void lang_names_find(struct lang_names *n, pid_t pid, struct lang_frame frame,
		     struct lang_name *out)
{
	frame.object &= ~LANG_ENTRY;

	struct snapshot s = {find_definition(n, (uint64_t)pid, frame), 0};
	const struct lang_memory m = {&s, read_snapshot};
	const struct known_runtime *k =
		s.definition ? n->known[s.definition->head.id] : find_known(n, pid, LANG_NONE);

	buf_clear(&out->function);
	buf_clear(&out->file);
	out->line = 0;
	out->is_hidden = false;
	if (!pid)
		find_unified(n, frame, out);
	if (!pid || !k || !k->runtime.layout)
		return;
	if (is_still_it(&k->runtime, pid, frame))
		s.pid = pid;
	frame.object = LANG_ADDRESS(frame.object);
	lang_name(&k->runtime, &m, frame, out);
}

bool lang_names_problem(const struct lang_names *n, pid_t pid, struct buf *out)
{
	hash_each(i, &n->by_pid, hash_pid(n, pid)) {
		const struct known_runtime *k = n->known[i];

		if (k->pid != pid || k->runtime.layout || !k->runtime.problem)
			continue;
		lang_print(&k->runtime, out);
		buf_printf(out, ": %s", k->runtime.problem);
		return true;
	}
	return false;
}

bool lang_names_evaluates(const struct lang_names *n, uint64_t device, uint64_t inode,
			  uint64_t offset)
{
	for (size_t i = 0; i < n->images.count; i++) {
		const struct lang_image *image = n->images.items[i];

		if (image->device == device && image->inode == inode &&
		    offset >= image->runtime.evaluator.start &&
		    offset < image->runtime.evaluator.end)
			return true;
	}
	return false;
}

/* A note that says more of this process than of others. */
static bool is_of_process(const struct lang_names *n, pid_t pid, const struct lang_frame *frames,
			  size_t count)
{
	struct buf problem = BUF_INIT;
	bool is = count && !frames[0].object && frames[0].position == LANG_NO_RUNTIME &&
		  lang_names_problem(n, pid, &problem);

	buf_free(&problem);
	return is;
}

bool lang_names_unify(struct lang_names *n, pid_t pid, struct lang_frame *frames, size_t *count)
{
	struct lang_name name = {0};
	bool ok = !is_of_process(n, pid, frames, *count);
	size_t kept = 0;

	for (size_t i = 0; i < *count && ok; i++) {
		struct lang_frame frame = frames[i];
		const uint64_t entry = frame.object & LANG_ENTRY;

		if (LANG_ADDRESS(frame.object)) {
			lang_names_find(n, pid, frame, &name);
			if (name.is_hidden) {
				frames[kept - !!kept].object |= kept ? entry : 0;
				continue;
			}
			frame = (struct lang_frame){name.function.len ? number_of(n, &name) : 0,
						    name.line};
			ok = frame.object;
			frame.object |= entry;
		}
		frames[kept++] = frame;
	}
	lang_name_free(&name);
	*count = kept;
	return ok;
}
