/* Opening the file that has DWARF. libdw wants all of it in memory: a file that only root can write
 * to is mapped, others are read, since they may be truncated while they are mapped. */
#include "debuginfo/inside.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/budget.h"
#include "elf/compressed.h"
#include "elf/debugfile.h"

static int refuse_file(const struct debuginfo *di, const char *what, struct diag *d)
{
	return diag_error(d, -EBADMSG, "corrupt-dwarf",
			  "debug information of '%.*s' is damaged: %s", STR_FMT(di->path), what);
}

static bool has_info(const struct image *image)
{
	const struct section *s = image_section(image, ".debug_info", NULL);

	if (!s)
		s = image_section(image, ".zdebug_info", NULL);
	return s && s->type != SHT_NOBITS && s->size;
}

/* Where sections were compressed, libelf has changed their headers in the mapping, and what is
 * large is on the heap. */
void debuginfo_release(struct debuginfo *di)
{
	if (di->is_mapped && !di->is_decompressed)
		madvise(di->bytes, di->len, MADV_DONTNEED);
	if (di->alt)
		debuginfo_release(di->alt);
}

static int load_file(struct debuginfo *di, const struct image *image)
{
	size_t got = 0;
	char *bytes;

	if (image->file->size <= 0)
		return -EBADMSG;
	di->len = (size_t)image->file->size;
	if (file_is_roots(image->file)) {
		bytes = mmap(NULL, di->len, PROT_READ | PROT_WRITE, MAP_PRIVATE, image->fd, 0);
		if (bytes == MAP_FAILED)
			return -errno;
		di->bytes = bytes;
		di->is_mapped = true;
		return 0;
	}
	if (!budget_memory(image->budget, di->len) || !budget_work(image->budget, di->len))
		return budget_error(image->budget);
	di->bytes = bytes = malloc(di->len);
	if (!bytes)
		return -ENOMEM;
	while (got < di->len) {
		ssize_t n = pread(image->fd, bytes + got, di->len - got, (off_t)got);

		if (n <= 0)
			return n ? -errno : -EBADMSG;
		got += (size_t)n;
	}
	return 0;
}

static int load_sections(struct debuginfo *di, const struct image *image)
{
	char *bytes = (char *)image->memory.ptr;
	int err = 0;

	di->len = image->memory.len;
	if (image->fd >= 0) {
		di->file = file_hold(image->file);
		err = load_file(di, image);
		bytes = di->bytes;
	}
	if (err)
		return err;
	di->elf = elf_memory(bytes, di->len);
	return di->elf ? 0 : -EBADMSG;
}

static int read_sections(struct debuginfo *di, const struct image *image)
{
	struct {
		const char *name;
		struct str *out;
	} wanted[] = {
		{"debug_info", &di->info},
		{"debug_str", &di->strings},
		{"debug_str_offsets", &di->string_offsets},
		{"debug_line", &di->lines},
		{"debug_line_str", &di->line_strings},
	};
	size_t names;
	int err = elf_getshdrstrndx(di->elf, &names) ? -EBADMSG : 0;

	for (Elf_Scn *scn = NULL; !err && (scn = elf_nextscn(di->elf, scn));) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(scn, &header)
					   ? elf_strptr(di->elf, names, header.sh_name)
					   : NULL;
		bool gnu = name && !strncmp(name, ".zdebug_", 8);
		Elf_Data *data;

		if (!name || (!gnu && strncmp(name, ".debug_", 7) != 0) ||
		    header.sh_type == SHT_NOBITS)
			continue;
		/* Here, since libdw would decompress it whatever its size. */
		err = section_decompress(scn, &header, gnu, image->budget);
		di->is_decompressed |= err > 0;
		err = err < 0 ? err : 0;
		for (size_t i = 0; i < COUNT(wanted) && !err; i++) {
			if (strcmp(name + (gnu ? 2 : 1), wanted[i].name) != 0)
				continue;
			data = elf_rawdata(scn, NULL);
			if (data && data->d_buf)
				*wanted[i].out = str_of(data->d_buf, data->d_size);
		}
	}
	return err;
}

int debuginfo_forget(struct debuginfo *di)
{
	dwarf_end(di->dwarf);
	di->dwarf = dwarf_begin_elf(di->elf, DWARF_C_READ, NULL);
	if (!di->dwarf)
		return -EBADMSG;
	/* libdw would open whatever file the link names. */
	dwarf_setalt(di->dwarf, di->alt ? di->alt->dwarf : di->dwarf);
	return 0;
}

/* ---- The file with common parts ---- */

static int open_image(const struct image *image, struct debuginfo **out, struct diag *d);

/* The file of this name, if root made it and it has that build-id. */
static struct debuginfo *open_alt_at(struct str path, struct str id, struct budget *budget)
{
	struct debuginfo *found = NULL;
	struct image *image;

	if (!path.ptr || access(path.ptr, R_OK) || image_open(path.ptr, &image, NULL))
		return NULL;
	image_set_budget(image, budget);
	if (file_is_roots(image->file) && str_eq(image_build_id(image), id) && has_info(image))
		open_image(image, &found, NULL);
	image_close(image);
	return found;
}

static void open_alt(struct debuginfo *di, struct budget *budget)
{
	struct arena names = ARENA_INIT;
	const char *name = NULL;
	const void *bytes = NULL;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(di->dwarf, &name, &bytes);
	struct str id = str_of(bytes, len > 0 ? (size_t)len : 0), dir = di->path;

	if (len < 2 || !name || len > 64)
		return;
	di->alt = open_alt_at(debugfile_name(&names, STR(""), id), id, budget);
	dir.len -= str_after_last(dir, '/').len;
	if (!di->alt)
		di->alt = open_alt_at(name[0] == '/'
					      ? arena_str(&names, str_from(name))
					      : arena_printf(&names, "%.*s%s", STR_FMT(dir), name),
				      id, budget);
	arena_free(&names);
}

/* ---- Opening ---- */

static int start_libdw(struct debuginfo *di, const struct image *image, struct diag *d)
{
	int err;

	di->reader.complete = type_complete;
	di->round = 1;
	di->path = arena_str(&di->arena, image->name);
	di->machine = ctype_machine_of(image->machine, image->word);
	di->big_endian = image->big_endian;
	if (!di->path.ptr)
		return -ENOMEM;
	elf_version(EV_CURRENT);
	err = load_sections(di, image);
	if (!err)
		err = read_sections(di, image);
	if (err == -EBADMSG)
		return refuse_file(di, "its sections cannot be read", d);
	if (err)
		return err;
	di->dwarf = dwarf_begin_elf(di->elf, DWARF_C_READ, NULL);
	if (!di->dwarf)
		return refuse_file(di, dwarf_errmsg(-1), d);
	return units_read(di);
}

static int open_image(const struct image *image, struct debuginfo **out, struct diag *d)
{
	struct debuginfo *di = calloc(1, sizeof(*di));
	int err;

	if (!di)
		return -ENOMEM;
	err = start_libdw(di, image, d);
	if (err) {
		debuginfo_close(di);
		return err;
	}
	dwarf_setalt(di->dwarf, di->dwarf);
	*out = di;
	return 0;
}

int debuginfo_open(const struct image *image, struct str path, struct str root,
		   struct debuginfo **out, struct diag *d)
{
	struct image *debug = NULL;
	int err;

	if (!has_info(image)) {
		debug = debugfile_open(image, path, root);
		if (!debug || !has_info(debug)) {
			image_close(debug);
			return -ENOENT;
		}
		image = debug;
	}
	err = open_image(image, out, d);
	if (!err) {
		open_alt(*out, image->budget);
		dwarf_setalt((*out)->dwarf, (*out)->alt ? (*out)->alt->dwarf : (*out)->dwarf);
		debuginfo_release(*out);
	}
	image_close(debug);
	return err;
}

void debuginfo_close(struct debuginfo *di)
{
	if (!di)
		return;
	dwarf_end(di->dwarf);
	elf_end(di->elf);
	debuginfo_close(di->alt);
	if (di->is_mapped)
		munmap(di->bytes, di->len);
	else
		free(di->bytes);
	file_drop(di->file);
	for (size_t i = 0; i < di->unit_count; i++)
		unit_scopes_free(di->units[i].scopes);
	free(di->units);
	free(di->ranges);
	free(di->functions);
	hash_free(&di->by_address);
	free(di->made);
	hash_free(&di->by_offset);
	arena_free(&di->frame_names);
	arena_free(&di->arena);
	free(di);
}

struct str debuginfo_path(const struct debuginfo *di)
{
	return di->path;
}
