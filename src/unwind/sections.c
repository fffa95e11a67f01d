/* Where the call frame information of an image is: in .eh_frame, which most files have in memory;
 * in .debug_frame, of the file itself or of its separate debug file; and in what the kernel's image
 * does not have (trampoline.c). */
#include "unwind/inside.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "elf/debugfile.h"

/* A file without section headers: a program header leads to .eh_frame_hdr, whose first number is
 * where .eh_frame is; it ends where its segment does, or earlier by an entry of length 0. */
static int find_by_header(const struct image *image, struct frame_sections *out)
{
	struct frames head = {.address = image->eh_header.address,
			      .big_endian = image->big_endian,
			      .word = image->word};
	struct frames *f = &out->all[SECTION_EH];
	const struct segment *s;
	char bytes[16] = "";
	uint64_t address, size;
	struct cursor c;

	if (!image->eh_header.memory_size ||
	    image_read(image, image->eh_header.offset, bytes, sizeof(bytes)) != sizeof(bytes))
		return 0;
	head.bytes = str_of(bytes, sizeof(bytes));
	c = cursor_of(bytes, sizeof(bytes), image->big_endian);
	if (!cursor_skip(&c, 4) || !encoded_read(&head, &c, (uint8_t)bytes[1], &address))
		return 0;
	s = image_segment_at(image, address);
	if (!s)
		return 0;
	size = s->file_size - (address - s->address);
	if (size > FRAMES_MOST || !budget_memory(image->budget, size))
		return -E2BIG;
	out->loaded = malloc(size);
	if (!out->loaded)
		return -ENOMEM;
	if (image_read(image, s->offset + (address - s->address), out->loaded, size) !=
	    (ssize_t)size)
		return 0;
	f->bytes = str_of(out->loaded, size);
	f->address = address;
	f->is_open = true;
	return 0;
}

static int find_by_name(const struct image *image, const char *name, struct frames *out)
{
	const struct section *s = image_section(image, name, NULL);
	int err;

	if (!s)
		return 0;
	out->address = s->address;
	err = image_decompressed(image, s, FRAMES_MOST, &out->bytes);
	if (err == -ENODATA || (err == -EBADMSG && s->flags & SHF_COMPRESSED))
		return 0; /* libelf may not know how it is compressed */
	return err;
}

int sections_find(const struct image *image, struct frame_sections *out)
{
	int err;

	*out = (struct frame_sections){0};
	for (unsigned i = 0; i < SECTIONS; i++)
		out->all[i] = (struct frames){.is_debug = i >= SECTION_DEBUG,
					      .big_endian = image->big_endian,
					      .word = image->word,
					      .bytes = STR("")};
	err = find_by_name(image, ".eh_frame", &out->all[SECTION_EH]);
	if (!err)
		err = find_by_name(image, ".debug_frame", &out->all[SECTION_DEBUG]);
	if (!err && trampoline_entries(image, out->trampoline))
		out->all[SECTION_TRAMPOLINE].bytes =
			str_of((const char *)out->trampoline, sizeof(out->trampoline));
	return err || image->section_count ? err : find_by_header(image, out);
}

/* Rows are for all processes that have the file, so another user's word is not taken for it. */
static bool is_of_owner(const struct image *debug, const struct image *image)
{
	uid_t owner = debug->file->owner;

	return !owner || (image->file && owner == image->file->owner);
}

/* The checksum of a large file is work of its own: the rows may take as much as without it. */
int sections_find_separate(const struct unwind_source *source, struct frame_sections *s)
{
	struct budget *budget = source->image->budget;
	uint64_t work = budget ? budget->work : 0;

	s->debug = debugfile_open(source->image, source->path, source->root);
	if (s->debug && budget)
		budget->work = work;
	if (!s->debug || !is_of_owner(s->debug, source->image))
		return 0;
	return find_by_name(s->debug, ".debug_frame", &s->all[SECTION_SEPARATE]);
}

void sections_free(struct frame_sections *s)
{
	free(s->loaded);
	image_close(s->debug);
}
