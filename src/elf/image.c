/* Opening ELF files. libelf finds the tables; every number from it is checked here before use,
 * and what it would allocate for a hostile header is bounded first. */
#include "elf/image.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cursor.h"
#include "elf/compressed.h"

/* libelf does not distinguish a damaged file from a lack of memory, except by errno. */
static int refuse_damaged(const struct image *image, struct diag *d, const char *what)
{
	if (errno == ENOMEM)
		return diag_error(d, -ENOMEM, "no-memory", "no memory to read '%.*s'",
				  STR_FMT(image->name));
	diag_error(d, -EBADMSG, "corrupt-elf", "'%.*s' is damaged: %s", STR_FMT(image->name), what);
	diag_hint(d, "it may be truncated or still being written: compare it with a good copy");
	return -EBADMSG;
}

/* libelf allocates for as many sections as the file claims: look at the claim first. `head` is the
 * start of the file, `first` its first section header, which holds counts beyond 16 bits. */
static uint64_t claimed_sections(struct str head, struct str first, bool wide, bool big_endian)
{
	struct cursor c = cursor_of(head.ptr, head.len, big_endian);
	uint16_t count = 0;
	uint64_t size = 0;

	cursor_skip(&c, wide ? 60 : 48);
	cursor_u16(&c, &count);
	if (count)
		return count;
	c = cursor_of(first.ptr, first.len, big_endian);
	cursor_skip(&c, wide ? 32 : 20);
	cursor_word(&c, wide ? 8 : 4, &size);
	return size;
}

/* Bytes of the file before libelf sees it: from the descriptor, or from memory when fd is -1. */
static struct str read_early(int fd, struct str memory, uint64_t at, char *room, size_t size)
{
	ssize_t got;

	if (fd < 0) {
		if (at > memory.len)
			return str_of(room, 0);
		return str_of(memory.ptr + at, memory.len - at < size ? memory.len - at : size);
	}
	got = at > INT64_MAX ? 0 : pread(fd, room, size, (off_t)at);
	return str_of(room, got > 0 ? (size_t)got : 0);
}

/* "#!/usr/bin/env python3": what runs the file may have probes. */
static void hint_script(struct str head, struct diag *d)
{
	struct str line, word;

	if (!str_starts(head, STR("#!")))
		return;
	head = str_of(head.ptr + 2, head.len - 2);
	line = str_trim(str_cut(&head, '\n'));
	word = str_cut(&line, ' ');
	if (str_ends(word, STR("/env"))) {
		line = str_trim(line);
		word = str_cut(&line, ' ');
	}
	for (size_t i = 0; i < word.len; i++)
		if (word.ptr[i] <= ' ' || word.ptr[i] > '~')
			return;
	if (word.len)
		diag_hint(d, "it is a script of '%.*s': name that program instead", STR_FMT(word));
}

/* *sections: how many the file claims to have. */
static int check_head(struct image *image, struct str memory, uint64_t *sections, struct diag *d)
{
	char head_room[64], first_room[64];
	struct str head = read_early(image->fd, memory, 0, head_room, sizeof(head_room)), first;
	uint64_t table = 0;
	struct cursor c;
	bool wide;

	if (head.len < 4 || memcmp(head.ptr, ELFMAG, SELFMAG) != 0) {
		diag_error(d, -ENOEXEC, "not-elf", "'%.*s' is not an ELF file",
			   STR_FMT(image->name));
		hint_script(head, d);
		return -ENOEXEC;
	}
	if (head.len < sizeof(Elf32_Ehdr))
		return refuse_damaged(image, d, "its header is truncated");
	wide = head.ptr[EI_CLASS] == ELFCLASS64;
	if ((!wide && head.ptr[EI_CLASS] != ELFCLASS32) ||
	    (head.ptr[EI_DATA] != ELFDATA2LSB && head.ptr[EI_DATA] != ELFDATA2MSB))
		return refuse_damaged(image, d, "its header has an unknown class or byte order");
	if (wide && head.len < sizeof(Elf64_Ehdr))
		return refuse_damaged(image, d, "its header is truncated");
	image->word = wide ? 8 : 4;
	image->big_endian = head.ptr[EI_DATA] == ELFDATA2MSB;
	c = cursor_of(head.ptr, head.len, image->big_endian);
	cursor_skip(&c, wide ? 40 : 32);
	cursor_word(&c, image->word, &table);
	if (!table)
		return 0;
	first = read_early(image->fd, memory, table, first_room, sizeof(first_room));
	*sections = claimed_sections(head, first, wide, image->big_endian);
	if (*sections > IMAGE_MAX_SECTIONS)
		return refuse_damaged(image, d, "it claims more than 65536 sections");
	return 0;
}

static int compare_segments(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static struct segment segment_from(const GElf_Phdr *h)
{
	return (struct segment){
		.address = h->p_vaddr,
		.offset = h->p_offset,
		.file_size = h->p_filesz,
		.memory_size = h->p_memsz,
		.align = h->p_align,
		.executable = h->p_flags & PF_X,
		.writable = h->p_flags & PF_W,
	};
}

static int read_segments(struct image *image, struct diag *d)
{
	struct segment *loads;
	size_t count;
	GElf_Phdr h;

	if (elf_getphdrnum(image->elf, &count))
		return refuse_damaged(image, d, "its program headers are outside the file");
	if (count > IMAGE_MAX_SECTIONS)
		return refuse_damaged(image, d, "it claims more than 65536 segments");
	loads = arena_array(&image->arena, struct segment, count);
	if (!loads)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(image->elf, (int)i, &h))
			return refuse_damaged(image, d, "its program headers are outside the file");
		if (h.p_type == PT_LOAD)
			loads[image->load_count++] = segment_from(&h);
		else if (h.p_type == PT_TLS)
			image->tls = segment_from(&h);
		else if (h.p_type == PT_GNU_EH_FRAME)
			image->eh_header = segment_from(&h);
	}
	qsort(loads, image->load_count, sizeof(*loads), compare_segments);
	image->loads = loads;
	return 0;
}

#define MAX_NAME 256 /* bytes of a section's name; many may share one that never ends */

/* The text at `offset` of a string table; empty when it is not there, or too long. */
static struct str table_text(struct str table, uint64_t offset)
{
	size_t left = offset < table.len ? table.len - offset : 0;
	struct cursor c =
		cursor_of(table.ptr + table.len - left, left < MAX_NAME ? left : MAX_NAME, false);
	struct str out = STR("");

	cursor_text(&c, &out);
	return out;
}

static int read_sections(struct image *image, uint64_t claimed, struct diag *d)
{
	struct str names = STR("");
	struct section *sections;
	size_t count, name_index;
	GElf_Shdr h;

	/* For a table outside the file libelf reports none. */
	if (elf_getshdrnum(image->elf, &count) || count != claimed)
		return refuse_damaged(image, d, "its section headers are outside the file");
	sections = arena_array(&image->arena, struct section, count + 1);
	if (!sections)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getshdr(elf_getscn(image->elf, i), &h))
			return refuse_damaged(image, d, "its section headers are outside the file");
		sections[i] = (struct section){
			.name = {NULL, h.sh_name}, /* until the names are read: their offset */
			.type = h.sh_type,
			.link = h.sh_link,
			.flags = h.sh_flags,
			.address = h.sh_addr,
			.offset = h.sh_offset,
			.size = h.sh_size,
			.index = i,
		};
	}
	image->sections = sections;
	image->section_count = count;
	if (!elf_getshdrstrndx(image->elf, &name_index) && name_index < count &&
	    image_content(image, &sections[name_index], IMAGE_MAX_NAMES, &names) == -ENOMEM)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sections[i].name = table_text(names, sections[i].name.len);
	return 0;
}

static int open_image(struct file *file, struct str memory, struct str name, struct image **out,
		      struct diag *d)
{
	struct image *image = calloc(1, sizeof(*image));
	uint64_t sections = 0;
	GElf_Ehdr h;
	int err;

	if (!image)
		return -ENOMEM;
	image->file = file ? file_hold(file) : NULL;
	image->fd = file ? file->fd : -1;
	image->memory = memory;
	errno = 0;
	image->name = arena_str(&image->arena, name);
	err = check_head(image, memory, &sections, d);
	if (err)
		goto fail;
	elf_version(EV_CURRENT);
	image->elf = file ? elf_begin(file->fd, ELF_C_READ, NULL)
			  : elf_memory((char *)memory.ptr, memory.len);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF || !gelf_getehdr(image->elf, &h)) {
		err = refuse_damaged(image, d, "its header cannot be read");
		goto fail;
	}
	image->machine = h.e_machine;
	image->type = h.e_type;
	err = read_segments(image, d);
	if (!err)
		err = read_sections(image, sections, d);
	if (err)
		goto fail;
	*out = image;
	return 0;
fail:
	image_close(image);
	return err;
}

int image_open_file(struct file *file, struct image **out, struct diag *d)
{
	return open_image(file, STR(""), file->path, out, d);
}

int image_open_fd(int fd, struct str name, struct image **out, struct diag *d)
{
	struct file *file;
	int err = file_take(fd, name, &file);

	if (err)
		return diag_error(d, err, "cannot-open", "cannot read an open file: %s",
				  strerror(-err));
	err = image_open_file(file, out, d);
	file_drop(file);
	return err;
}

int image_open_memory(const void *bytes, size_t len, struct str name, struct image **out,
		      struct diag *d)
{
	struct buf safe = BUF_INIT;
	int err;

	buf_escaped(&safe, name);
	err = open_image(NULL, str_of(bytes, len), buf_as_str(&safe), out, d);
	buf_free(&safe);
	return err;
}

int image_open(const char *path, struct image **out, struct diag *d)
{
	struct file *file;
	int err = file_open(path, &file, d);

	if (err)
		return err;
	err = image_open_file(file, out, d);
	file_drop(file);
	return err;
}

void image_close(struct image *image)
{
	if (!image)
		return;
	elf_end(image->elf);
	file_drop(image->file);
	arena_free(&image->arena);
	free(image);
}

#define LIBELF_SECTION 320 /* bytes that libelf keeps of one, about */

void image_set_budget(struct image *image, struct budget *b)
{
	image->budget = b;
	budget_memory(b, image->arena.used + (uint64_t)image->section_count * LIBELF_SECTION);
}

const struct section *image_section(const struct image *image, const char *name,
				    const struct section *after)
{
	for (size_t i = after ? after->index + 1 : 0; i < image->section_count; i++)
		if (str_eq_text(image->sections[i].name, name))
			return &image->sections[i];
	return NULL;
}

const struct section *image_section_of_type(const struct image *image, uint32_t type)
{
	for (size_t i = 0; i < image->section_count; i++)
		if (image->sections[i].type == type)
			return &image->sections[i];
	return NULL;
}

int image_content(const struct image *image, const struct section *section, uint64_t limit,
		  struct str *out)
{
	Elf_Data *data;

	if (section->type == SHT_NOBITS)
		return -ENODATA;
	if (section->size > limit)
		return -E2BIG;
	if (!section->size) {
		*out = STR("");
		return 0;
	}
	if (!budget_memory(image->budget, section->size))
		return -E2BIG;
	errno = 0;
	data = elf_rawdata(elf_getscn(image->elf, section->index), NULL);
	if (!data && errno == ENOMEM)
		return -ENOMEM;
	if (!data || !data->d_buf || data->d_size != section->size)
		return -EBADMSG;
	*out = str_of(data->d_buf, data->d_size);
	return 0;
}

int image_decompressed(const struct image *image, const struct section *section, uint64_t limit,
		       struct str *out)
{
	Elf_Scn *scn = elf_getscn(image->elf, section->index);
	GElf_Shdr header;
	Elf_Data *data;
	int err;

	if (section->type == SHT_NOBITS || !(section->flags & SHF_COMPRESSED))
		return image_content(image, section, limit, out);
	if (section->size > limit || !budget_memory(image->budget, section->size))
		return -E2BIG;
	err = gelf_getshdr(scn, &header) ? section_decompress(scn, &header, false, image->budget)
					 : -EBADMSG;
	if (err < 0)
		return err;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return -EBADMSG;
	if (data->d_size > limit)
		return -E2BIG;
	*out = str_of(data->d_buf, data->d_size);
	return 0;
}

ssize_t image_read(const struct image *image, uint64_t offset, void *room, size_t len)
{
	struct str found;
	ssize_t got;

	if (!budget_work(image->budget, 1000 + len / 4)) /* a system call and a copy */
		return budget_error(image->budget);
	if (image->fd < 0) {
		found = read_early(-1, image->memory, offset, NULL, len);
		if (found.len)
			memcpy(room, found.ptr, found.len);
		return (ssize_t)found.len;
	}
	got = offset > INT64_MAX ? 0 : pread(image->fd, room, len, (off_t)offset);
	return got < 0 ? -EIO : got;
}

struct str image_build_id(const struct image *image)
{
	const struct section *section = image_section(image, ".note.gnu.build-id", NULL);
	struct str content, id = STR("");
	uint32_t name_size, size, type;
	struct cursor c;

	if (!section || image_content(image, section, 4096, &content))
		return STR("");
	c = cursor_of(content.ptr, content.len, image->big_endian);
	if (!cursor_u32(&c, &name_size) || !cursor_u32(&c, &size) || !cursor_u32(&c, &type) ||
	    name_size != 4 || type != NT_GNU_BUILD_ID || size > 64 || !cursor_skip(&c, 4))
		return STR("");
	cursor_bytes(&c, size, &id);
	return id;
}

bool image_is_debug_file(const struct image *image)
{
	bool code = false;

	for (size_t i = 0; i < image->section_count; i++) {
		const struct section *s = &image->sections[i];

		if (!(s->flags & SHF_EXECINSTR) || !(s->flags & SHF_ALLOC))
			continue;
		if (s->type != SHT_NOBITS)
			return false;
		code = true;
	}
	return code;
}

static bool starts_by(const void *segment, const void *address)
{
	return ((const struct segment *)segment)->address <= *(const uint64_t *)address;
}

const struct segment *image_segment_at(const struct image *image, uint64_t address)
{
	size_t after = lower_bound(image->loads, image->load_count, sizeof(*image->loads),
				   starts_by, &address);
	const struct segment *s = after ? &image->loads[after - 1] : NULL;

	return s && address - s->address < s->file_size ? s : NULL;
}

bool image_offset_of(const struct image *image, uint64_t address, uint64_t *offset)
{
	const struct segment *s = image_segment_at(image, address);

	return s && !__builtin_add_overflow(address - s->address, s->offset, offset);
}

bool image_address_of(const struct image *image, uint64_t offset, uint64_t *address)
{
	const struct segment *found = NULL;

	/* Two segments may share a page of the file: code is what people ask for. */
	for (size_t i = 0; i < image->load_count; i++) {
		const struct segment *s = &image->loads[i];

		if (offset >= s->offset && offset - s->offset < s->file_size &&
		    (!found || (s->executable && !found->executable)))
			found = s;
	}
	return found && !__builtin_add_overflow(offset - found->offset, found->address, address);
}
