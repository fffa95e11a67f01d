/* The cache of images; see finder.h. */
#include "find/finder.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "elf/debugfile.h"

static void free_finding(struct finding *f)
{
	free((char *)f->image.path.ptr);
	free((char *)f->image.open_path.ptr);
	free((char *)f->mapped_path.ptr);
	free(f);
}

static void free_lists(struct cached_sites *list)
{
	for (struct cached_sites *next; list; list = next) {
		next = list->next;
		site_list_free(&list->sites);
		free((char *)list->wanted.provider.ptr);
		free((char *)list->wanted.name.ptr);
		free(list);
	}
}

static void free_image(struct cached_image *e)
{
	for (struct finding *f = e->findings, *next; f; f = next) {
		next = f->next;
		free_finding(f);
	}
	file_drop(e->file);
	free_lists(e->lists);
	symtab_free(e->symbols);
	symtab_free(e->names);
	diag_free(&e->diag);
	free(e);
}

void cache_init(struct cache *c)
{
	*c = (struct cache){
		.none.sites.is_whole = true,
		.stop_fd = -1,
		.others = {.memory = OTHERS_MEMORY, .work = OTHERS_WORK, .stop_fd = -1}};
}

void cache_free(struct cache *c)
{
	for (size_t i = 0; i < c->count; i++)
		free_image(c->images[i]);
	for (struct cached_image *e = c->retired, *next; e; e = next) {
		next = e->next;
		free_image(e);
	}
	free(c->images);
	hash_free(&c->by_inode);
	*c = (struct cache){0};
}

void cache_show(struct cache *c, struct cached_image *image)
{
	c->shown += !image->is_shown;
	image->is_shown = true;
}

static uint64_t hash_inode(dev_t device, ino_t inode)
{
	return hash_bytes((uint64_t)device, &inode, sizeof(inode));
}

/* Take an image out of the table; the last one gets its index, for which there is room. */
static struct cached_image *take_out(struct cache *c, size_t index)
{
	struct cached_image *image = c->images[index], *last = c->images[--c->count];

	hash_remove(&c->by_inode, hash_inode(image->device, image->inode), index);
	if (image == last)
		return image;
	hash_remove(&c->by_inode, hash_inode(last->device, last->inode), c->count);
	hash_add(&c->by_inode, hash_inode(last->device, last->inode), index);
	c->images[index] = last;
	return image;
}

void cache_trim(struct cache *c, size_t most)
{
	if (c->count - c->shown <= most)
		return;
	for (size_t i = c->count; i--;)
		if (!c->images[i]->is_shown)
			free_image(take_out(c, i));
	c->unwanted = 0;
}

/* Is the image about the file of these numbers, as it is now? */
static bool is_about(const struct cached_image *e, dev_t device, ino_t inode, off_t size,
		     struct timespec changed)
{
	return e->inode == inode && e->device == device && e->size == size &&
	       e->changed.tv_sec == changed.tv_sec && e->changed.tv_nsec == changed.tv_nsec;
}

struct cached_image *cache_image(struct cache *c, const struct stat *st)
{
	uint64_t hash = hash_inode(st->st_dev, st->st_ino);
	struct cached_image *e;

	hash_each(i, &c->by_inode, hash)
		if (is_about(c->images[i], st->st_dev, st->st_ino, st->st_size, st->st_mtim))
			return c->images[i];
	if (array_grow(c->images, c->count, c->cap))
		return NULL;
	e = calloc(1, sizeof(*e));
	if (!e || hash_add(&c->by_inode, hash, c->count)) {
		free(e);
		return NULL;
	}
	e->device = st->st_dev;
	e->inode = st->st_ino;
	e->size = st->st_size;
	e->changed = st->st_mtim;
	c->images[c->count++] = e;
	return e;
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
		.path = str_copy(path),
		.open_path = str_copy(open_path),
		.pid = pid,
	};
	f->cached = image;
	f->mapped_path = str_copy(mapped_path);
	if (!f->image.path.ptr || !f->image.open_path.ptr || !f->mapped_path.ptr) {
		free_finding(f);
		return NULL;
	}
	f->next = image->findings;
	image->findings = f;
	return f;
}

int cache_add_way(struct finding *f, struct str name)
{
	struct str copy;

	if (!str_starts(f->image.open_path, STR("/proc/")))
		return 0;
	copy = str_copy(name);
	if (!copy.ptr)
		return -ENOMEM;
	free((char *)f->mapped_path.ptr);
	f->mapped_path = copy;
	return 0;
}

/* Debug files are looked for where the image's own mount namespace has them. */
static struct str root_of(struct finding *f, struct arena *a)
{
	if (!str_starts(f->image.open_path, STR("/proc/")))
		return STR("");
	return f->image.pid ? arena_printf(a, "/proc/%d/root", (int)f->image.pid) : STR("");
}

/* Where .gnu_debuglink starts from: the image's own path, below the root. */
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
	if (is_about(e, file->device, file->inode, file->size, file->changed)) {
		e->file = file;
		return 0;
	}
	diag_error(d, -ESTALE, "other-file", "'%.*s' was replaced or written to while it was read",
		   STR_FMT(file->path));
	diag_hint(d, "try again when it is not being changed");
	file_drop(file);
	return -ESTALE;
}

/* A mapped file is opened through its process when its name leads elsewhere by now; and through
 * another process when that has ended. */
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
	const struct found_image *was = &(*f)->image;
	struct finding *renewed;
	struct stat st = {.st_dev = old->device,
			  .st_ino = old->inode,
			  .st_size = old->size,
			  .st_mtim = old->changed};

	if (old->file || !(old->lists || old->symbols_read))
		return 0;
	/* The old one is looked up no more, but callers have it. */
	hash_each(i, &c->by_inode, hash_inode(old->device, old->inode)) {
		if (c->images[i] != old)
			continue;
		take_out(c, i);
		c->shown -= old->is_shown;
		old->next = c->retired;
		c->retired = old;
		break;
	}
	new = cache_image(c, &st);
	if (!new)
		return -ENOMEM;
	new->query = old->query;
	renewed = cache_finding(new, was->path, was->open_path, (*f)->mapped_path, was->pid);
	if (!renewed)
		return -ENOMEM;
	*f = new->found = renewed;
	return 0;
}

void cache_let_go(struct cached_image *image)
{
	if (!image->file || image->file->holders > 1)
		return;
	file_drop(image->file);
	image->file = NULL;
}

/* Files of other users share what is left for all of them: what is kept of one, and the work on it,
 * is not available to others. */
static int read_list(struct cache *c, struct finding *f, struct cached_sites *list)
{
	struct cached_image *e = f->cached;
	bool is_others = e->file->owner && e->file->owner != geteuid();
	struct budget b = budget_for_file(c->stop_fd), before;
	uint64_t kept;
	struct arena names = ARENA_INIT;
	struct image *image;
	struct str root;
	int err = image_open_file(e->file, &image, &e->diag);

	list->sites.is_whole = true;
	if (err)
		return err == -ENOMEM ? err : 0;
	if (is_others && c->others.memory < b.memory)
		b.memory = c->others.memory;
	if (is_others && c->others.work < b.work)
		b.work = c->others.work;
	before = b;
	image_set_budget(image, &b);
	root = root_of(f, &names);
	err = site_list_read_some(image, place_of(f, root, &names), root, &list->wanted,
				  &list->sites, &e->diag);
	image_close(image);
	arena_free(&names);
	kept = list->sites.arena.used;
	if (is_others) {
		c->others.memory -= kept < c->others.memory ? kept : c->others.memory;
		c->others.work -= before.work - b.work;
	}
	if (budget_error(&b) == -E2BIG) {
		list->over = b.end;
		list->all_files =
			before.memory < BUDGET_FILE_MEMORY || before.work < BUDGET_FILE_WORK;
		list->sites.is_whole = true;
	}
	return err == -ENOMEM || err == -EINTR ? err : 0;
}

int cache_read_sites(struct cache *c, struct finding *f, const struct site_filter *wanted,
		     struct cached_sites **out)
{
	struct cached_image *e = f->cached;
	struct cached_sites *list = e->lists;
	int err;

	while (list && !list->sites.is_whole &&
	       !(str_eq(list->wanted.provider, wanted->provider) &&
		 str_eq(list->wanted.name, wanted->name)))
		list = list->next;
	*out = list ? list : &c->none;
	if (list)
		return 0;
	diag_free(&e->diag);
	if (open_file(f, &e->diag))
		return 0;
	list = calloc(1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	list->wanted.provider = str_copy(wanted->provider);
	list->wanted.name = str_copy(wanted->name);
	err = list->wanted.provider.ptr && list->wanted.name.ptr ? read_list(c, f, list) : -ENOMEM;
	if (err) {
		free_lists(list);
		return err;
	}
	list->next = e->lists;
	*out = e->lists = list;
	return 0;
}

void cache_unwanted(struct cache *c, struct cached_image *image, struct cached_sites *list)
{
	size_t bytes = list->sites.arena.used;

	if (image->is_shown || image->lists != list || list->is_unwanted)
		return;
	if (bytes <= UNWANTED_MEMORY - c->unwanted) {
		list->is_unwanted = true;
		c->unwanted += bytes;
		return;
	}
	free_lists(image->lists);
	image->lists = NULL;
}

/* The image's symbols; of debug files only root's own if `trusted`. A file that
 * was named may take more: the user wants just this one. */
static int read_symtab(const struct cache *c, struct finding *f, bool trusted, bool named,
		       struct symtab **out, struct diag *d)
{
	struct cached_image *e = f->cached;
	struct budget b = budget_for_file(c->stop_fd);
	struct diag *said = named ? d : NULL;
	struct arena names = ARENA_INIT;
	struct image *image;
	struct str root;
	int err = image_open_file(e->file, &image, said);

	if (err)
		return err == -ENOMEM ? err : 0;
	if (named) {
		b.memory = NAMED_MEMORY;
		b.work = OTHERS_WORK;
	}
	image_set_budget(image, &b);
	e->arch = arch_for(image->machine, image->word);
	root = root_of(f, &names);
	err = symtab_read(image, place_of(f, root, &names), trusted ? DEBUG_TRUSTED : root, out,
			  said);
	if (budget_error(&b) == -E2BIG && named)
		diag_error(d, -E2BIG, "over-budget",
			   "functions of '%.*s' cannot be found: its symbols take more than 1 GiB "
			   "of memory or 20 billion steps of work",
			   STR_FMT(image->name));
	else if (budget_error(&b) == -E2BIG)
		diag_warn(d, "over-budget",
			  "functions of '%.*s' are skipped: its symbols take %s, the limit for "
			  "one file",
			  STR_FMT(image->name), budget_limit(&b));
	image_close(image);
	arena_free(&names);
	return err == -ENOMEM ? err : 0;
}

int cache_read_symbols(struct cache *c, struct finding *f, bool named, struct diag *d)
{
	struct cached_image *e = f->cached;

	if (e->symbols_read || open_file(f, named ? d : NULL))
		return 0;
	e->symbols_read = true;
	return read_symtab(c, f, true, named, &e->symbols, d);
}

void cache_read_names(struct cache *c, struct finding *f, struct diag *d)
{
	struct cached_image *e = f->cached;

	if (e->names_read || open_file(f, NULL))
		return;
	e->names_read = true;
	read_symtab(c, f, false, false, &e->names, d);
}

bool cache_stripped(struct finding *f, struct str *build_id, struct arena *a)
{
	struct budget b = budget_for_file(-1);
	struct str root = root_of(f, a), id;
	struct image *image, *debug = NULL;
	struct buf hex = BUF_INIT;
	bool stripped;

	if (!f->cached->file || image_open_file(f->cached->file, &image, NULL))
		return false;
	image_set_budget(image, &b);
	stripped = !image_section_of_type(image, SHT_SYMTAB);
	if (stripped)
		debug = debugfile_open_symbols(image, place_of(f, root, a), root);
	id = image_build_id(image);
	buf_hex_bytes(&hex, id);
	*build_id = arena_str(a, buf_as_str(&hex));
	buf_free(&hex);
	image_close(image);
	if (debug)
		image_close(debug);
	return stripped && !debug;
}

struct str cache_untrusted(struct finding *f, struct arena *a)
{
	struct budget b = budget_for_file(-1);
	struct image *image, *debug;
	struct str root = root_of(f, a), name = STR("");

	if (!f->cached->file || image_open_file(f->cached->file, &image, NULL))
		return name;
	image_set_budget(image, &b);
	debug = debugfile_open_symbols(image, place_of(f, root, a), root);
	if (debug && !file_is_roots(debug->file))
		name = arena_str(a, debug->name);
	image_close(debug);
	image_close(image);
	return name;
}
