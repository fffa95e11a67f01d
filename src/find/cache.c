/* The cache of images: a hash table that grows. */
#include "find/cache.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "elf/debugfile.h"
#include "probe/sites.h"

static void free_finding(struct finding *f)
{
	free((char *)f->image.path.ptr);
	free((char *)f->image.open_path.ptr);
	free((char *)f->mapped_path.ptr);
	free(f);
}

static void free_image(struct cached_image *e)
{
	for (struct finding *f = e->findings, *next; f; f = next) {
		next = f->next;
		free_finding(f);
	}
	file_drop(e->file);
	site_list_free(&e->sites);
	symtab_free(e->symbols);
	symtab_free(e->names);
	diag_free(&e->diag);
	free(e);
}

static void free_chain(struct cached_image *e)
{
	for (struct cached_image *next; e; e = next) {
		next = e->next;
		free_image(e);
	}
}

void cache_free(struct cache *c)
{
	for (size_t i = 0; i < c->bucket_count; i++)
		free_chain(c->buckets[i]);
	free_chain(c->retired);
	free(c->buckets);
	*c = (struct cache){0};
}

void cache_show(struct cache *c, struct cached_image *image)
{
	c->shown += !image->is_shown;
	image->is_shown = true;
}

void cache_trim(struct cache *c, size_t most)
{
	if (c->count - c->shown <= most)
		return;
	for (size_t i = 0; i < c->bucket_count; i++)
		for (struct cached_image **at = &c->buckets[i], *e; (e = *at);) {
			if (e->is_shown) {
				at = &e->next;
				continue;
			}
			*at = e->next;
			free_image(e);
		}
	c->count = c->shown;
}

static size_t bucket_of(const struct cache *c, dev_t device, ino_t inode)
{
	uint64_t h = ((uint64_t)device * 31 + inode) * 0x9e3779b97f4a7c15ull;

	return (size_t)(h >> 20) & (c->bucket_count - 1);
}

static int grow(struct cache *c)
{
	size_t count = c->bucket_count ? c->bucket_count * 2 : 64;
	struct cache bigger = *c;

	if (c->count < c->bucket_count)
		return 0;
	bigger.bucket_count = count;
	bigger.buckets = calloc(count, sizeof(*bigger.buckets));
	if (!bigger.buckets)
		return -ENOMEM;
	for (size_t i = 0; i < c->bucket_count; i++)
		for (struct cached_image *e = c->buckets[i], *next; e; e = next) {
			struct cached_image **bucket =
				&bigger.buckets[bucket_of(&bigger, e->device, e->inode)];

			next = e->next;
			e->next = *bucket;
			*bucket = e;
		}
	free(c->buckets);
	*c = bigger;
	return 0;
}

static bool is_same(const struct cached_image *e, const struct stat *st)
{
	return e->inode == st->st_ino && e->device == st->st_dev && e->size == st->st_size &&
	       e->changed.tv_sec == st->st_mtim.tv_sec && e->changed.tv_nsec == st->st_mtim.tv_nsec;
}

struct cached_image *cache_image(struct cache *c, const struct stat *st)
{
	struct cached_image **bucket, *e;

	if (grow(c))
		return NULL;
	bucket = &c->buckets[bucket_of(c, st->st_dev, st->st_ino)];
	for (e = *bucket; e; e = e->next)
		if (is_same(e, st))
			return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->device = st->st_dev;
	e->inode = st->st_ino;
	e->size = st->st_size;
	e->changed = st->st_mtim;
	e->next = *bucket;
	*bucket = e;
	c->count++;
	return e;
}

static struct str copy_text(struct str s)
{
	char *copy = strndup(s.ptr, s.len);

	return str_of(copy, copy ? s.len : 0);
}

struct finding *cache_finding(struct cached_image *image, struct str path, struct str open_path,
			      struct str mapped_path, pid_t pid)
{
	struct finding *f;

	for (f = image->findings; f; f = f->next)
		if (f->image.pid == pid && str_eq(f->image.path, path) &&
		    str_eq(f->image.open_path, open_path))
			return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->image = (struct found_image){
		.path = copy_text(path),
		.open_path = copy_text(open_path),
		.pid = pid,
		.sites = &image->sites,
	};
	f->cached = image;
	f->mapped_path = copy_text(mapped_path);
	if (!f->image.path.ptr || !f->image.open_path.ptr || !f->mapped_path.ptr) {
		free_finding(f);
		return NULL;
	}
	f->next = image->findings;
	image->findings = f;
	return f;
}

/* Debug files are looked for where the image's own mount namespace has them. */
static struct str root_of(struct finding *f, struct arena *a)
{
	if (!str_starts(f->image.open_path, STR("/proc/")))
		return STR("");
	return f->image.pid ? arena_printf(a, "/proc/%d/root", (int)f->image.pid) : STR("");
}

/* The image's place for .gnu_debuglink: its own path, below the root. */
static struct str place_of(struct finding *f, struct str root, struct arena *a)
{
	return root.len ? arena_printf(a, "%.*s%.*s", STR_FMT(root), STR_FMT(f->image.path))
			: f->image.open_path;
}

/* The file by one of its names, if it is the one that the image is about. */
static int open_by(struct cached_image *e, struct str path, struct diag *d)
{
	struct file *file;
	int err = file_open(path.ptr, &file, d);

	if (err)
		return err;
	if (file->inode == e->inode && file->device == e->device && file->size == e->size &&
	    file->changed.tv_sec == e->changed.tv_sec &&
	    file->changed.tv_nsec == e->changed.tv_nsec) {
		e->file = file;
		return 0;
	}
	diag_error(d, -ESTALE, "other-file", "'%.*s' was replaced or written to while it was read",
		   STR_FMT(file->path));
	diag_hint(d, "try again when nobody changes it");
	file_drop(file);
	return -ESTALE;
}

/* A mapped file is had through its process when its name leads elsewhere by now. */
static int open_file(struct finding *f, struct diag *d)
{
	bool by_process = f->mapped_path.len;

	if (f->cached->file || (by_process && !open_by(f->cached, f->image.open_path, NULL)))
		return 0;
	return open_by(f->cached, by_process ? f->mapped_path : f->image.open_path, d);
}

int cache_renew(struct cache *c, struct finding **f)
{
	struct cached_image *old = (*f)->cached, *new;
	struct cached_image **at = &c->buckets[bucket_of(c, old->device, old->inode)];
	const struct found_image *was = &(*f)->image;
	struct finding *renewed;
	struct stat st = {.st_dev = old->device,
			  .st_ino = old->inode,
			  .st_size = old->size,
			  .st_mtim = old->changed};

	if (old->file || !(old->sites_read || old->symbols_read))
		return 0;
	while (*at && *at != old)
		at = &(*at)->next;
	if (*at) {
		*at = old->next;
		c->count--;
		c->shown -= old->is_shown;
		old->next = c->retired;
		c->retired = old;
	}
	new = cache_image(c, &st);
	if (!new)
		return -ENOMEM;
	new->query = old->query;
	renewed = cache_finding(new, was->path, was->open_path, (*f)->mapped_path, was->pid);
	if (!renewed)
		return -ENOMEM;
	*f = renewed;
	return 0;
}

void cache_let_go(struct cached_image *image)
{
	if (!image->file || image->file->holders > 1)
		return;
	file_drop(image->file);
	image->file = NULL;
}

/* A file that cannot be opened now may be had later, through another process. */
void cache_read_sites(struct finding *f)
{
	struct cached_image *e = f->cached;
	struct arena names = ARENA_INIT;
	struct image *image;
	struct str root;

	if (e->sites_read)
		return;
	diag_free(&e->diag);
	if (open_file(f, &e->diag))
		return;
	e->sites_read = true;
	if (image_open_file(e->file, &image, &e->diag))
		return;
	root = root_of(f, &names);
	site_list_read(image, place_of(f, root, &names), root, &e->sites, &e->diag);
	image_close(image);
	arena_free(&names);
}

/* The image's symbols; of debug files only root's own when they are to be `trusted`. */
static struct symtab *read_symtab(struct finding *f, bool trusted, struct diag *d)
{
	struct cached_image *e = f->cached;
	struct arena names = ARENA_INIT;
	struct symtab *symbols = NULL;
	struct image *image;
	struct str root;

	if (image_open_file(e->file, &image, d))
		return NULL;
	e->arch = arch_for(image->machine, image->word);
	root = root_of(f, &names);
	symtab_read(image, place_of(f, root, &names), trusted ? DEBUG_TRUSTED : root, &symbols, d);
	image_close(image);
	arena_free(&names);
	return symbols;
}

void cache_read_symbols(struct finding *f, struct diag *d)
{
	struct cached_image *e = f->cached;

	if (e->symbols_read || open_file(f, d))
		return;
	e->symbols_read = true;
	e->symbols = read_symtab(f, true, d);
}

void cache_read_names(struct finding *f)
{
	struct cached_image *e = f->cached;

	if (e->names_read || open_file(f, NULL))
		return;
	e->names_read = true;
	e->names = read_symtab(f, false, NULL);
}

struct str cache_untrusted(struct finding *f, struct arena *a)
{
	struct image *image, *debug = NULL;
	struct str root = root_of(f, a), name = STR("");

	if (!f->cached->file || image_open_file(f->cached->file, &image, NULL))
		return name;
	if (!image_section_of_type(image, SHT_SYMTAB))
		debug = debugfile_open(image, place_of(f, root, a), root);
	if (debug && !file_is_roots(debug->file))
		name = arena_str(a, debug->name);
	image_close(debug);
	image_close(image);
	return name;
}
