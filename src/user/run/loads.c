/* Reads the dynamic symbols of each file that a process has mapped as code, once for all processes
 * that have it. */
#include "user/run/loads.h"

#include <errno.h>

#include "base/array.h"
#include "elf/image.h"
#include "elf/symbols.h"
#include "symbols/maps.h"

#define NAMES_MOST (16u << 20)

/* Functions of the loader, and its record of what is loaded, which libnopal-runtime announces its
 * images by; with the NUL. */
static bool is_loaders(struct str names, uint32_t at)
{
	static const struct str wanted[] = {{"dlopen", 7}, {"dlmopen", 8}, {"_r_debug", 9}};
	struct str name = at < names.len ? str_of(names.ptr + at, names.len - at) : STR("");

	for (size_t i = 0; i < COUNT(wanted); i++)
		if (str_starts(name, wanted[i]))
			return true;
	return false;
}

static int stop_at_loaders(void *arg, const struct raw_symbol *s)
{
	return is_loaders(*(const struct str *)arg, s->name);
}

static bool image_loads(const struct image *image)
{
	const struct section *symbols = image_section(image, ".dynsym", NULL);
	const struct section *texts = image_section(image, ".dynstr", NULL);
	struct str names;

	if (!symbols || !texts || image_content(image, texts, NAMES_MOST, &names))
		return true;
	return raw_imports_each(image, symbols, stop_at_loaders, &names) != 0;
}

static bool file_loads(const struct mapped_file *m)
{
	struct image *image;
	int fd = mapped_file_open(m);
	bool takes;

	if (fd < 0 || image_open_fd(fd, m->path, &image, NULL))
		return true;
	takes = image_loads(image);
	image_close(image);
	return takes;
}

static const struct loads_file *find_known(const struct native_loads *l,
					   const struct mapped_file *m)
{
	for (unsigned i = 0; i < LOADS_FILES; i++) {
		const struct loads_file *f = &l->files[i];

		if (f->inode == m->inode && f->device == m->device && f->size == m->end - m->start)
			return f;
	}
	return NULL;
}

static int look_at(void *arg, const struct mapped_file *m)
{
	struct native_loads *l = arg;
	const struct loads_file *known = find_known(l, m);

	if (!m->inode)
		return 0;
	if (known)
		return known->loads;
	l->files[l->next] = (struct loads_file){
		.device = m->device,
		.inode = m->inode,
		.size = m->end - m->start,
		.loads = file_loads(m),
	};
	known = &l->files[l->next];
	l->next = (l->next + 1) % LOADS_FILES;
	return known->loads;
}

bool loads_may_come(struct native_loads *l, pid_t pid)
{
	struct buf text = BUF_INIT;
	int found = maps_each_file(pid, &text, look_at, l);

	buf_free(&text);
	return found != 0;
}
