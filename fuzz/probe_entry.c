/* Any bytes as an ELF file on disk, whose sites are looked at in the file: which of them are the
 * first instruction of a function. Those that are by the table of symbols are among them; that
 * leaves out symbols without a name. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/symbols.h"
#include "probe/sites.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static bool is_function(struct symtab *t, uint64_t address)
{
	struct symbol found;

	return symtab_at(t, address, &found) && found.kind == KIND_FUNCTION &&
	       found.address == address;
}

static void check(const struct image *image, const struct site_list *list)
{
	static const unsigned char nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	struct symtab *t = NULL;

	for (size_t i = 0; i < list->count; i++) {
		const struct site *s = &list->sites[i];
		unsigned char code[sizeof(nop5)];
		bool nop = !s->problem &&
			   pread(image->fd, code, sizeof(code), (off_t)s->offset) == sizeof(code) &&
			   !memcmp(code, nop5, sizeof(code));

		if (s->is_entry && !nop)
			abort();
		if (!nop || image->machine != 62)
			continue;
		if (!t && symtab_read(image, STR(""), STR("/nowhere"), &t, NULL))
			return;
		if (!s->is_entry && is_function(t, s->location))
			abort();
	}
	symtab_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct budget b = budget_for_file(-1);
	struct site_list list;
	struct image *image;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	if (image_open_fd(fd, STR("/nowhere/fuzz"), &image, NULL))
		return 0;
	image_set_budget(image, &b);
	site_list_read(image, STR("/nowhere/fuzz"), STR("/nowhere"), &list, NULL);
	image_set_budget(image, NULL);
	if (!budget_error(&b))
		check(image, &list);
	site_list_free(&list);
	image_close(image);
	return 0;
}
