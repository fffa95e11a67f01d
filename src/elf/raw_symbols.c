/* Reading symbols and names in pieces. Neighbours in a symbol table have names that are neighbours
 * in the string table, mostly, so keeping a few megabytes of it is enough. */
#include "elf/symbols.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "elf/debugfile.h"

#define PIECE	     (64u << 10) /* bytes of a symbol table read at a time: whole symbols */
#define SYMBOL_STEPS 20		 /* work of decoding one */
#define TEXT_BLOCK   4096u
#define TEXT_BLOCKS  1024u

static bool read_raw(struct cursor *c, unsigned word, struct raw_symbol *out)
{
	uint64_t address = 0, size = 0;

	if (word == 8)
		return cursor_u32(c, &out->name) && cursor_u8(c, &out->info) &&
		       cursor_u8(c, &out->other) && cursor_u16(c, &out->section) &&
		       cursor_u64(c, &out->address) && cursor_u64(c, &out->size);
	if (!cursor_u32(c, &out->name) || !cursor_word(c, 4, &address) ||
	    !cursor_word(c, 4, &size) || !cursor_u8(c, &out->info) || !cursor_u8(c, &out->other) ||
	    !cursor_u16(c, &out->section))
		return false;
	out->address = address;
	out->size = size;
	return true;
}

typedef bool filter_fn(const struct raw_symbol *s);

static bool is_defined(const struct raw_symbol *s)
{
	switch (s->info & 0xf) {
	case STT_NOTYPE:
	case STT_OBJECT:
	case STT_FUNC:
	case STT_COMMON:
	case STT_TLS:
	case STT_GNU_IFUNC: return s->section != SHN_UNDEF && s->section != SHN_COMMON && s->name;
	default: return false;
	}
}

static bool is_import(const struct raw_symbol *s)
{
	return s->section == SHN_UNDEF && s->name;
}

static int each_in_section(const struct image *image, const struct section *section,
			   filter_fn *is_wanted, raw_symbol_fn *fn, void *arg)
{
	size_t one = image->word == 8 ? 24 : 16, piece = PIECE / one * one;
	uint64_t size = section->size < IMAGE_MAX_SYMBOLS ? section->size : IMAGE_MAX_SYMBOLS;
	char *room = section->type == SHT_NOBITS ? NULL : malloc(piece);
	struct cursor c;
	struct raw_symbol s;
	int err = 0;

	if (section->type == SHT_NOBITS)
		return 0;
	if (!room)
		return -ENOMEM;
	for (uint64_t at = 0; at + one <= size && !err;) {
		size_t want = size - at < piece ? (size_t)(size - at) : piece;
		ssize_t got = image_read(image, section->offset + at, room, want);

		if (got < (ssize_t)one) {
			err = got == -EIO || got >= 0 ? 0 : (int)got;
			break;
		}
		got -= got % (ssize_t)one;
		at += (size_t)got;
		if (!budget_work(image->budget, (uint64_t)got / 16 * SYMBOL_STEPS))
			err = budget_error(image->budget);
		c = cursor_of(room, (size_t)got, image->big_endian);
		while (!err && read_raw(&c, image->word, &s))
			if (is_wanted(&s))
				err = fn(arg, &s);
	}
	free(room);
	return err;
}

int raw_symbols_each(const struct image *image, const struct section *section, raw_symbol_fn *fn,
		     void *arg)
{
	return each_in_section(image, section, is_defined, fn, arg);
}

int raw_imports_each(const struct image *image, const struct section *section, raw_symbol_fn *fn,
		     void *arg)
{
	return each_in_section(image, section, is_import, fn, arg);
}

/* ---- Names */

/* A string table, with the blocks of it that were read last. Needs its image. */
struct texts {
	const struct image *image;
	uint64_t offset, size; /* in the file */
	char *blocks;	       /* TEXT_BLOCKS of TEXT_BLOCK bytes */
	uint64_t *numbers;     /* of the block in each slot, plus 1; 0: none */
	struct buf name;       /* room for one that lies in several blocks */
};

static void texts_close(struct texts *t)
{
	if (t->size)
		budget_give_back(t->image->budget, (uint64_t)TEXT_BLOCKS * TEXT_BLOCK);
	free(t->blocks);
	free(t->numbers);
	buf_free(&t->name);
	*t = (struct texts){0};
}

static int texts_open(const struct image *image, const struct section *section, struct texts *out)
{
	*out = (struct texts){.image = image};
	if (section->type == SHT_NOBITS || !section->size || section->offset > INT64_MAX)
		return 0;
	if (!budget_memory(image->budget, (uint64_t)TEXT_BLOCKS * TEXT_BLOCK))
		return -E2BIG;
	out->offset = section->offset;
	out->size = section->size < UINT32_MAX ? section->size : UINT32_MAX;
	out->blocks = malloc((size_t)TEXT_BLOCKS * TEXT_BLOCK);
	out->numbers = calloc(TEXT_BLOCKS, sizeof(*out->numbers));
	if (out->blocks && out->numbers)
		return 0;
	texts_close(out);
	return -ENOMEM;
}

/* From `at` to the end of its block; empty where the table ends or cannot be read. */
static struct str rest_of_block(struct texts *t, uint64_t at)
{
	uint64_t number = at / TEXT_BLOCK, start = number * TEXT_BLOCK;
	size_t slot = number % TEXT_BLOCKS, len;
	char *block;

	if (at >= t->size)
		return STR("");
	block = t->blocks + slot * TEXT_BLOCK;
	len = t->size - start < TEXT_BLOCK ? (size_t)(t->size - start) : TEXT_BLOCK;
	if (t->numbers[slot] != number + 1) {
		t->numbers[slot] = 0;
		if (image_read(t->image, t->offset + start, block, len) != (ssize_t)len)
			return STR("");
		t->numbers[slot] = number + 1;
	}
	return str_of(block + (at - start), len - (size_t)(at - start));
}

/* The name ends at a NUL, or at an '@' that is not its first byte. */
static bool find_end(struct str piece, bool is_start, size_t *len)
{
	for (size_t i = 0; i < piece.len; i++)
		if (!piece.ptr[i] || (piece.ptr[i] == '@' && (i || !is_start))) {
			*len = i;
			return true;
		}
	return false;
}

/* The name at `at`, without the version after an '@'. False when it is longer than `most`, not
 * in the table, or the budget is used up. Valid until the next call. */
static bool texts_name(struct texts *t, uint32_t at, size_t most, struct str *out)
{
	struct str piece = rest_of_block(t, at);
	size_t len = 0;

	most = most < SYMBOL_NAME_MAX ? most : SYMBOL_NAME_MAX;
	buf_clear(&t->name);
	for (uint64_t next = at; piece.len; piece = rest_of_block(t, next)) {
		struct str look =
			str_of(piece.ptr, piece.len <= most - t->name.len ? piece.len
									  : most - t->name.len + 1);
		bool ends = find_end(look, !t->name.len, &len);

		if (!budget_work(t->image->budget, (ends ? len : look.len) + 1))
			return false;
		if (ends && !t->name.len) {
			*out = str_of(piece.ptr, len);
			return true;
		}
		if (!ends && look.len < piece.len)
			return false;
		buf_add(&t->name, piece.ptr, ends ? len : piece.len);
		if (t->name.failed || t->name.len > most)
			return false;
		if (ends) {
			*out = buf_as_str(&t->name);
			return true;
		}
		next += piece.len;
	}
	return false;
}

/* ---- Every symbol */

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
