/* Which runtimes a process has: by the names of its images, then by symbols and texts in them,
 * never by a name alone. Addresses are those of the image and where it is mapped. */
#include "lang/runtime_row.h"

#include <errno.h>

#include "elf/symbols.h"

#define VERSION_MOST 64 /* bytes of a text like "3.1.2" */
#define PAGE	     4096u
#define RODATA_MOST  (64u << 20)

static enum lang_kind kind_of_file(struct str path)
{
	struct str name = str_after_last(path, '/');

	for (unsigned kind = LANG_NONE + 1; kind < LANG_KINDS; kind++)
		for (unsigned i = 0; i < FILES_MOST && runtime_rows[kind]->files[i]; i++)
			if (str_starts(name, str_from(runtime_rows[kind]->files[i])))
				return kind;
	return LANG_NONE;
}

bool lang_is_runtime_file(struct str path)
{
	return kind_of_file(path) != LANG_NONE;
}

static int take_symbol(void *arg, const struct symbol *symbol)
{
	struct recognition *l = arg;

	for (unsigned i = 0; i < SYMBOLS_MOST && l->row->symbols[i]; i++)
		if (!l->has[i] && str_eq_text(symbol->name, l->row->symbols[i])) {
			l->has[i] = true;
			l->at[i] = symbol->address;
		}
	return 0;
}

/* Bytes of the file that are mapped at a link-time address. */
bool recognition_read(const struct recognition *l, uint64_t address, void *to, size_t len)
{
	uint64_t offset;

	return image_offset_of(l->image, address, &offset) &&
	       image_read(l->image, offset, to, len) == (ssize_t)len;
}

/* "3.11.2" at the start of a text, with whatever follows. */
bool recognition_version(struct str text, struct lang_runtime *r)
{
	unsigned *numbers[] = {&r->major, &r->minor, &r->micro};

	for (unsigned i = 0; i < COUNT(numbers); i++) {
		size_t len = 0;

		while (len < text.len && len < 5 && char_is_digit(text.ptr[len]))
			len++;
		if (!len)
			return i >= 2;
		*numbers[i] = 0;
		for (size_t k = 0; k < len; k++)
			*numbers[i] = *numbers[i] * 10 + (unsigned)(text.ptr[k] - '0');
		text = str_of(text.ptr + len, text.len - len);
		if (i < 2 && (!text.len || *text.ptr != '.'))
			return i == 1;
		if (text.len)
			text = str_of(text.ptr + 1, text.len - 1);
	}
	return true;
}

/* The text at an address. */
bool recognition_version_at(const struct recognition *l, uint64_t address)
{
	char text[VERSION_MOST];

	return recognition_read(l, address, text, sizeof(text)) &&
	       recognition_version(str_of(text, strnlen(text, sizeof(text))), l->out);
}

/* The text after `before`, in the constants of the image. */
bool recognition_version_after(const struct recognition *l, const char *before)
{
	const struct section *s = image_section(l->image, ".rodata", NULL);
	struct str text, found;
	size_t len = strlen(before);

	if (!s || image_content(l->image, s, RODATA_MOST, &text))
		return false;
	while ((found.ptr = memmem(text.ptr, text.len, before, len))) {
		text = str_of(found.ptr + len, (size_t)(text.ptr + text.len - found.ptr) - len);
		if (recognition_version(
			    str_of(text.ptr, text.len < VERSION_MOST ? text.len : VERSION_MOST),
			    l->out))
			return true;
	}
	return false;
}

/* ---- what the rows of languages use */

bool recognition_layout(struct recognition *l, const char *problem)
{
	struct lang_runtime *r = l->out;

	r->layout = problem ? NULL : layout_find(r->kind, r->major, r->minor);
	r->problem = problem	       ? problem
		     : !r->has_version ? "its version cannot be read"
		     : !r->layout      ? "where this version keeps its frames is not known"
				       : NULL;
	if (!r->has_version)
		r->layout = NULL;
	return true;
}

/* The module's slot of a thread-local variable. A program is module 1, without a slot. */
bool recognition_thread_local(struct recognition *l, unsigned variable, struct str program)
{
	l->out->root = tls_module_slot(l->image);
	l->out->tls_offset = l->at[variable];
	return recognition_layout(l,
				  l->out->root || str_starts(str_after_last(l->path, '/'), program)
					  ? NULL
					  : "its thread-local variables cannot be found");
}

enum lang_start recognition_start(const struct recognition *l)
{
	const struct lang_layout *layout = layout_find(l->out->kind, l->out->major, l->out->minor);

	return layout ? (enum lang_start)layout->shape.start : LANG_START_ROOT;
}

/* ---- a file */

static void keep_code(struct lang_image *out, const struct image *image)
{
	for (size_t i = 0; i < image->load_count && out->code_count < SEGMENTS_MOST; i++) {
		const struct segment *s = &image->loads[i];

		if (!s->executable)
			continue;
		if (!out->code_count)
			out->runtime.code = s->address;
		out->code[out->code_count].offset = s->offset & ~(uint64_t)(PAGE - 1);
		out->code[out->code_count++].address = s->address & ~(uint64_t)(PAGE - 1);
	}
}

int recognise_file(int fd, struct str path, struct lang_image *out)
{
	enum lang_kind kind = kind_of_file(path);
	struct lang_runtime *r = &out->runtime;
	struct recognition l = {.path = path, .row = runtime_rows[kind], .out = r};
	struct budget budget = budget_for_file(-1);
	struct image *image = NULL;
	int err = image_open_fd(fd, path, &image, NULL);

	buf_str(&r->text, path);
	r->path = buf_as_str(&r->text);
	if (err)
		return err == -ENOMEM || r->text.failed ? -ENOMEM : 0;
	image_set_budget(image, &budget);
	l.image = image;
	r->kind = kind;
	if (image->word == 8 && l.row)
		err = symbols_scan(image, path, STR(""), SYMBOL_NAME_MAX, take_symbol, &l);
	if (image->word != 8 || err || !l.row || !l.row->look(&l))
		r->kind = LANG_NONE;
	keep_code(out, image);
	image_close(image);
	return err == -ENOMEM || r->text.failed ? -ENOMEM : 0;
}

void lang_runtime_free(struct lang_runtime *r)
{
	buf_free(&r->text);
}

void lang_print(const struct lang_runtime *r, struct buf *out)
{
	buf_text(out, lang_kind_name(r->kind));
	if (r->has_version)
		buf_printf(out, " %u.%u", r->major, r->minor);
	if (r->has_version && r->micro)
		buf_printf(out, ".%u", r->micro);
}
