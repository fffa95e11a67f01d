/* The files that were looked at, each once, and the runtimes of processes that map them. */
#include "lang/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "symbols/maps.h"

#define IMAGES_MOST 4096 /* those of more containers than that are not looked at */

static void image_free(struct lang_image *i)
{
	if (i)
		lang_runtime_free(&i->runtime);
	free(i);
}

void lang_images_free(struct lang_images *images)
{
	for (size_t i = 0; i < images->count; i++)
		image_free(images->items[i]);
	free(images->items);
	*images = (struct lang_images){0};
}

static struct lang_image *find_image(const struct lang_images *images, uint64_t device,
				     uint64_t inode, struct str path)
{
	for (size_t i = 0; images && i < images->count; i++) {
		struct lang_image *image = images->items[i];

		if (image->device == device && image->inode == inode &&
		    str_eq(image->runtime.path, path))
			return image;
	}
	return NULL;
}

/* The image of an open file, which is taken; kept in `images`, or the caller's if that is NULL.
 * NULL: no memory. */
static struct lang_image *add_image(struct lang_images *images, int fd, uint64_t device,
				    uint64_t inode, struct str path)
{
	struct lang_image *image = calloc(1, sizeof(*image));

	if (!image) {
		close(fd);
		return NULL;
	}
	image->device = device;
	image->inode = inode;
	if (recognise_file(fd, path, image) ||
	    (images && array_grow(images->items, images->count, images->cap))) {
		image_free(image);
		return NULL;
	}
	image->runtime.device = device;
	image->runtime.inode = inode;
	if (images)
		images->items[images->count++] = image;
	return image;
}

bool lang_images_next(const struct lang_images *images, size_t *i, const struct lang_runtime **out)
{
	if (*i >= images->count)
		return false;
	*out = &images->items[(*i)++]->runtime;
	return true;
}

int lang_images_add(struct lang_images *images, const char *path)
{
	int fd = file_open_regular(path, 0);
	struct stat st;
	uint64_t device;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		close(fd);
		return -errno;
	}
	device = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
	if (find_image(images, device, st.st_ino, str_from(path))) {
		close(fd);
		return 0;
	}
	return add_image(images, fd, device, st.st_ino, str_from(path)) ? 0 : -ENOMEM;
}

/* ---- a process */

struct runtime_search {
	struct lang_images *images;
	struct lang_runtime *out;
	unsigned count, most;
};

/* The runtime of an image where it is mapped: by the segment that is mapped there. */
static int take_image(struct runtime_search *s, const struct lang_image *image,
		      const struct mapped_file *file)
{
	struct lang_runtime *r = &s->out[s->count];

	for (unsigned i = 0; i < image->code_count; i++) {
		uint64_t bias = file->start - image->code[i].address;

		if (image->code[i].offset != file->offset)
			continue;
		*r = image->runtime;
		r->root += r->root ? bias : 0;
		r->code_type += r->code_type ? bias : 0;
		r->text = (struct buf)BUF_INIT;
		buf_str(&r->text, file->path);
		r->path = buf_as_str(&r->text);
		if (r->text.failed)
			return -ENOMEM;
		s->count++;
		return 0;
	}
	return 0;
}

static int take_file(void *arg, const struct mapped_file *file)
{
	struct runtime_search *s = arg;
	struct lang_image *image;
	int fd, err = 0;

	if (!lang_is_runtime_file(file->path) || s->count == s->most)
		return 0;
	image = find_image(s->images, file->device, file->inode, file->path);
	if (!image) {
		fd = s->images && s->images->count >= IMAGES_MOST ? -1 : mapped_file_open(file);
		if (fd < 0)
			return 0;
		image = add_image(s->images, fd, file->device, file->inode, file->path);
		if (!image)
			return -ENOMEM;
	}
	if (image->runtime.kind != LANG_NONE)
		err = take_image(s, image, file);
	if (!s->images)
		image_free(image);
	return err;
}

int lang_recognise(pid_t pid, struct str maps, struct lang_images *images, struct lang_runtime *out,
		   unsigned most)
{
	struct runtime_search s = {.images = images, .out = out, .most = most};
	int err = maps_parse_files(maps, pid, take_file, &s);

	if (err)
		for (unsigned i = 0; i < s.count; i++)
			lang_runtime_free(&out[i]);
	return err ? err : (int)s.count;
}
