/* Addresses of symbols by name: of the kernel, and of the file that a probe is in. */
#include "find/address.h"

#include <errno.h>

#include "elf/symbols.h"
#include "find/finder.h"
#include "symbols/kernel.h"

int finder_kernel_symbol(struct finder *f, struct str name, uint64_t *out, struct diag *d)
{
	int err = f->kernel_symbols ? 0 : kernel_symbols_read("/proc/kallsyms", &f->kernel_symbols);

	if (err)
		return diag_error(d, err, "unknown-symbol", "cannot read /proc/kallsyms: %s",
				  strerror(-err));
	if (kernel_symbols_find(f->kernel_symbols, name, out))
		return 0;
	diag_error(d, -ENOENT, "unknown-symbol", "the kernel has no symbol '%.*s'", STR_FMT(name));
	if (kernel_symbols_are_hidden(f->kernel_symbols))
		diag_hint(d, "it hides the addresses of its symbols: see kptr_restrict in proc(5)");
	else if (!kernel_symbols_have_data(f->kernel_symbols))
		diag_hint(d, "/proc/kallsyms lists only the functions of this kernel: it was built "
			     "without CONFIG_KALLSYMS_ALL");
	return -ENOENT;
}

struct symbol_search {
	struct str name;
	struct found_symbol *out;
};

static int take_symbol(void *arg, const struct symbol *symbol)
{
	struct symbol_search *s = arg;

	if (!str_eq(symbol->name, s->name) || symbol->kind == KIND_TLS)
		return 0;
	s->out->address = symbol->address;
	s->out->size = symbol->size;
	return 1;
}

/* The code around the site. Of other segments the same bytes may be in several. */
static void set_extent(const struct image *image, struct found_symbol *out)
{
	const struct segment *s = image_segment_at(image, out->site);

	out->first = out->end = 0;
	if (s && s->executable) {
		out->first = s->offset;
		out->end = s->offset + s->file_size;
	}
}

int finder_symbol(struct file *file, struct str path, uint64_t offset, struct str name,
		  struct found_symbol *out, struct diag *d)
{
	struct symbol_search s = {name, out};
	struct image *image;
	int err = image_open_file(file, &image, d);

	if (err)
		return err;
	err = symbols_scan(image, path, STR(""), name.len + 1, take_symbol, &s);
	if (!err || (err > 0 && !image_address_of(image, offset, &out->site)))
		err = -ENOENT;
	if (err > 0)
		set_extent(image, out);
	image_close(image);
	return err > 0 ? 0 : err;
}
