/* Any bytes as an ELF file: opened, its sites read, its symbols looked up. Nothing may crash, hang
 * or take memory without bound; what comes out must be consistent. */
#include <stdlib.h>

#include "elf/debugfile.h"
#include "elf/symbols.h"
#include "find/nearby.h"
#include "probe/sites.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static int look_up(void *arg, const struct symbol *symbol)
{
	struct symbol found;
	uint64_t into;

	if (symtab_at(arg, symbol->address, &found) && found.address > symbol->address)
		abort();
	symtab_at_offset(arg, symbol->address, &found, &into);
	return symbol->name.len ? 0 : -1;
}

/* Names are read in place: the last byte of each is touched. */
static int take_library(void *arg, struct str name)
{
	(void)arg;
	return name.ptr[name.len - 1] == '\0' ? -1 : 0;
}

static void read_symbols(const struct image *image)
{
	struct symtab *t;

	if (symtab_read(image, STR(""), STR(""), &t, NULL))
		return;
	symtab_each(t, look_up, t);
	symtab_find(t, STR("main"), look_up, t);
	symtab_free(t);
}

static void check_sites(const struct site_list *list)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < list->count; i++) {
		const struct site *s = &list->sites[i];

		/* Text of sites ends in NUL: the library hands it out as it is. */
		if (s->name.ptr[s->name.len] || s->provider.ptr[s->provider.len] ||
		    s->args_text.ptr[s->args_text.len])
			abort();
		if (!s->problem && s->offset == SITE_NO_OFFSET)
			abort();
		for (unsigned k = 0; k < s->arg_count; k++) {
			operand_describe(&s->args[k].operand, list->arch, &text);
			if (s->args[k].operand.kind != OPERAND_BAD && s->args[k].operand.symbol.len)
				abort();
			buf_clear(&text);
		}
	}
	buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct diag d = DIAG_INIT;
	struct site_list list;
	struct image *image;
	struct buf text = BUF_INIT;

	if (!image_open_memory(bytes, len, STR("fuzz"), &image, &d)) {
		site_list_read(image, STR(""), STR(""), &list, &d);
		check_sites(&list);
		site_list_free(&list);
		read_symbols(image);
		nearby_libraries(image, take_library, NULL);
		image_close(image);
	}
	diag_render(&d, &text);
	buf_free(&text);
	diag_free(&d);
	return 0;
}
