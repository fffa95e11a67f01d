/* Going over the symbols of an image once. */
#include "elf/symbol_scan.h"

#include <elf.h>

#include "elf/debugfile.h"
#include "elf/raw_symbols.h"

/* One table while it is gone over. */
struct symbol_scan {
	struct texts texts;
	size_t name_most;
	uint16_t machine;
	symbol_fn *fn;
	void *arg;
};

static int take_raw(void *arg, const struct raw_symbol *raw)
{
	struct symbol_scan *s = arg;
	struct symbol symbol = {
		.name = STR(""),
		.kind = symbol_kind_of(raw->info),
		.is_local = raw->info >> 4 == STB_LOCAL,
		.address = raw->address,
		.size = raw->size,
	};

	if (s->machine == EM_ARM && symbol.kind == KIND_FUNCTION)
		symbol.address &= ~1ull; /* Thumb */
	symbol.entry = symbol.address;
	if (s->name_most && !texts_name(&s->texts, raw->name, s->name_most, &symbol.name))
		symbol.name = STR("");
	return s->fn(s->arg, &symbol);
}

static int scan_table(const struct image *image, uint32_t type, struct symbol_scan *s)
{
	const struct section *section = image_section_of_type(image, type);
	int err = 0;

	if (!section || section->link >= image->section_count)
		return 0;
	if (s->name_most)
		err = texts_open(image, &image->sections[section->link], &s->texts);
	if (!err)
		err = raw_symbols_each(image, section, take_raw, s);
	if (!err)
		err = budget_error(image->budget); /* names may have used it up */
	texts_close(&s->texts);
	return err;
}

int symbols_scan(const struct image *image, struct str path, struct str root, size_t name_most,
		 symbol_fn *fn, void *arg)
{
	struct symbol_scan s = {
		.name_most = name_most, .machine = image->machine, .fn = fn, .arg = arg};
	struct image *debug = debugfile_open_symbols(image, path, root);
	int err;

	err = scan_table(debug ? debug : image, SHT_SYMTAB, &s);
	if (!err)
		err = scan_table(image, SHT_DYNSYM, &s);
	image_close(debug);
	return err;
}
