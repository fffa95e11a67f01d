/* Looking at the code of sites, and for a function's symbol there; see entry.h. */
#include "probe/entry.h"

#include <elf.h>
#include <unistd.h>

#include "elf/symbols.h"

static bool is_nop5(const struct image *program, const struct site *site)
{
	static const unsigned char nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	unsigned char bytes[sizeof(nop5)];

	return !site->problem &&
	       pread(program->fd, bytes, sizeof(bytes), (off_t)site->offset) == sizeof(bytes) &&
	       !memcmp(bytes, nop5, sizeof(nop5));
}

void sites_find_entries(const struct image *program, struct str path, struct str root,
			struct site_list *list)
{
	struct symtab *symbols = NULL;
	struct symbol symbol;

	if (program->machine != EM_X86_64 || program->fd < 0)
		return;
	for (size_t i = 0; i < list->count; i++) {
		struct site *site = &list->sites[i];

		if (!is_nop5(program, site))
			continue;
		if (!symbols && symtab_read(program, path, root, &symbols, NULL))
			return;
		site->is_entry = symtab_at(symbols, site->location, &symbol) &&
				 symbol.kind == KIND_FUNCTION && symbol.address == site->location;
	}
	symtab_free(symbols);
}
