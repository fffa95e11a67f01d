/* Any bytes as the debug file of an image that was stripped, found by its build-id or by the name
 * and checksum in .gnu_debuglink; or any bytes as the image. The first byte says which. Files are
 * in a directory of their own that is the root. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "elf/symbols.h"
#include "help/elf_builder.h"
#include "probe/sites.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/dev/shm/nopal-fuzz-root-XXXXXX";
static char by_id[128], by_link[128];

static void remove_all(void)
{
	static const char *const dirs[] = {"/usr/lib/debug/.build-id/ab",
					   "/usr/lib/debug/.build-id",
					   "/usr/lib/debug/lib",
					   "/usr/lib/debug",
					   "/usr/lib",
					   "/usr",
					   ""};
	char path[128];

	unlink(by_id);
	unlink(by_link);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
		rmdir(path);
	}
}

static void make_root(void)
{
	static const char *const dirs[] = {"/usr",
					   "/usr/lib",
					   "/usr/lib/debug",
					   "/usr/lib/debug/lib",
					   "/usr/lib/debug/.build-id",
					   "/usr/lib/debug/.build-id/ab"};
	char path[128];

	if (by_id[0])
		return;
	if (!mkdtemp(root))
		abort();
	atexit(remove_all);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
		if (mkdir(path, 0755))
			abort();
	}
	snprintf(by_id, sizeof(by_id), "%s/usr/lib/debug/.build-id/ab/cdef.debug", root);
	snprintf(by_link, sizeof(by_link), "%s/usr/lib/debug/lib/x.debug", root);
}

static void put_file(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void add_build_id(struct made_elf *e)
{
	struct buf *b = add_section(e, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0);

	put(e, b, 4, 4);
	put(e, b, 3, 4);
	put(e, b, 3, 4);
	buf_add(b, "GNU\0\xab\xcd\xef\0", 8);
}

static void add_link(struct made_elf *e, uint32_t sum)
{
	struct buf *b = add_section(e, ".gnu_debuglink", SHT_PROGBITS, 0, 0);

	buf_add(b, "x.debug\0", 8);
	put(e, b, sum, 4);
}

static void read_image(const void *bytes, size_t len)
{
	struct budget b = budget_for_file(-1);
	struct str path = STR("/lib/image");
	struct symtab *symbols = NULL;
	struct site_list list;
	struct image *image;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	if (image_open_fd(fd, path, &image, NULL))
		return;
	image_set_budget(image, &b);
	site_list_read(image, path, str_from(root), &list, NULL);
	for (size_t i = 0; i < list.count; i++)
		if (!list.sites[i].problem && list.sites[i].offset == SITE_NO_OFFSET)
			abort();
	symtab_read(image, path, str_from(root), &symbols, NULL);
	symtab_free(symbols);
	site_list_free(&list);
	image_close(image);
}

static void read_stripped(const uint8_t *data, size_t size, bool link)
{
	struct made_elf e = make_elf(8, false, EM_X86_64);
	struct buf file;

	put_file(link ? by_link : by_id, data, size);
	if (link)
		add_link(&e, (uint32_t)crc32(0, data, (uInt)size));
	else
		add_build_id(&e);
	file = finish_elf(&e);
	read_image(file.ptr, file.len);
	buf_free(&file);
	unlink(link ? by_link : by_id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	make_root();
	switch (data[0] % 3) {
	case 0: read_stripped(data + 1, size - 1, false); break;
	case 1: read_stripped(data + 1, size - 1, true); break;
	default:
		put_file(by_id, data + 1, size - 1);
		put_file(by_link, data + 1, size - 1);
		read_image(data + 1, size - 1);
	}
	return 0;
}
