/* Symbol tables. Each symbol is kept in 24 bytes with its name still in the string table; a table
 * sorted by address and a hash of names are made on first use. Everything is linear in the size of
 * the file, up to the sort. */
#include "elf/symbols.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "elf/debugfile.h"

#define NAME_LIMIT 65536 /* bytes; longer names are cut, so that hostile tables stay cheap */
#define LOOK_BACK  16	 /* symbols before the nearest one that may still contain an address */
#define NO_SYMBOL  UINT32_MAX

struct entry {
	uint64_t address;
	uint32_t size; /* saturated */
	uint32_t name; /* offset in its string table */
	uint32_t next; /* in the chain of its hash bucket */
	uint8_t info;  /* st_info */
	uint8_t other; /* st_other */
	uint8_t table; /* which string table */
};

struct symtab {
	struct entry *entries;
	size_t count, cap;
	char *texts[2]; /* string tables: .symtab's, .dynsym's */
	size_t text_lens[2];
	bool sorted;
	bool is_single;	   /* no symbol is there twice */
	uint32_t *buckets; /* heads of chains, or NULL */
	size_t bucket_mask;
	uint16_t machine;
	bool local_entries; /* ppc64 ELFv2 */
	struct segment *loads;
	size_t load_count;
	struct image shape; /* only loads and load_count, for the address arithmetic */
};

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	free(t->entries);
	free(t->texts[0]);
	free(t->texts[1]);
	free(t->buckets);
	free(t->loads);
	free(t);
}

/* Reading one table. */

struct raw_symbol {
	uint64_t address, size;
	uint32_t name;
	uint16_t section;
	uint8_t info, other;
};

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

static struct str entry_name(const struct symtab *t, const struct entry *e)
{
	const char *text = t->texts[e->table] + e->name;
	size_t left = t->text_lens[e->table] - e->name;
	size_t len = strnlen(text, left < NAME_LIMIT ? left : NAME_LIMIT);
	const char *version = memchr(text, '@', len);

	return str_of(text, version && version != text ? (size_t)(version - text) : len);
}

static bool is_wanted(const struct raw_symbol *s)
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

static int add_entry(struct symtab *t, const struct raw_symbol *s, uint8_t table)
{
	struct entry *e;

	if (t->count == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 256;

		e = t->count >= NO_SYMBOL / 2 ? NULL : realloc(t->entries, cap * sizeof(*e));
		if (!e)
			return -ENOMEM;
		t->entries = e;
		t->cap = cap;
	}
	e = &t->entries[t->count];
	*e = (struct entry){
		.address = s->address,
		.size = s->size > UINT32_MAX ? UINT32_MAX : (uint32_t)s->size,
		.name = s->name,
		.info = s->info,
		.other = s->other,
		.table = table,
	};
	/* $x, $d, $a: marks of the ARM and RISC-V assemblers, not names. */
	if (t->texts[table][s->name] == '$' || t->texts[table][s->name] == '\0')
		return 0;
	if (t->machine == EM_ARM && (s->info & 0xf) == STT_FUNC)
		e->address &= ~1ull; /* Thumb */
	t->count++;
	return 0;
}

/* Add the symbols of one section; a damaged table adds what can be read of it. */
static int add_table(struct symtab *t, const struct image *image, uint32_t type, uint8_t table)
{
	const struct section *section = image_section_of_type(image, type);
	struct str symbols, texts;
	struct raw_symbol s;
	struct cursor c;
	int err;

	if (!section || section->link >= image->section_count ||
	    image_content(image, section, IMAGE_MAX_SYMBOLS, &symbols) ||
	    image_content(image, &image->sections[section->link], IMAGE_MAX_SYMBOLS, &texts) ||
	    !texts.len)
		return 0;
	t->texts[table] = malloc(texts.len);
	if (!t->texts[table])
		return -ENOMEM;
	memcpy(t->texts[table], texts.ptr, texts.len);
	t->text_lens[table] = texts.len;
	c = cursor_of(symbols.ptr, symbols.len, image->big_endian);
	while (read_raw(&c, image->word, &s)) {
		if (!is_wanted(&s) || s.name >= texts.len)
			continue;
		err = add_entry(t, &s, table);
		if (err)
			return err;
	}
	return 0;
}

static int copy_segments(struct symtab *t, const struct image *image)
{
	t->loads = calloc(image->load_count + 1, sizeof(*t->loads));
	if (!t->loads)
		return -ENOMEM;
	memcpy(t->loads, image->loads, image->load_count * sizeof(*t->loads));
	t->shape.loads = t->loads;
	t->shape.load_count = image->load_count;
	return 0;
}

static int read_tables(struct symtab *t, const struct image *image, struct str path,
		       struct str root)
{
	struct image *debug = NULL;
	int err;

	err = copy_segments(t, image);
	if (!err && !image_section_of_type(image, SHT_SYMTAB))
		debug = debugfile_open(image, path, root);
	if (!err)
		err = add_table(t, debug ? debug : image, SHT_SYMTAB, 0);
	if (!err)
		err = add_table(t, image, SHT_DYNSYM, 1);
	image_close(debug);
	return err;
}

int symtab_read(const struct image *image, struct str path, struct str root, struct symtab **out,
		struct diag *d)
{
	struct symtab *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->machine = image->machine;
	t->local_entries = image->machine == EM_PPC64;
	err = read_tables(t, image, path, root);
	if (err) {
		symtab_free(t);
		return diag_error(d, err, "no-memory", "no memory for the symbols of '%.*s'",
				  STR_FMT(image->name));
	}
	*out = t;
	return 0;
}

/* Handing symbols out. */

static enum symbol_kind kind_of(const struct entry *e)
{
	switch (e->info & 0xf) {
	case STT_FUNC:
	case STT_GNU_IFUNC: return KIND_FUNCTION;
	case STT_OBJECT:
	case STT_COMMON: return KIND_OBJECT;
	case STT_TLS: return KIND_TLS;
	default: return KIND_OTHER;
	}
}

/* ELFv2 of ppc64 keeps the distance to the local entry, as a power of two, in three bits. */
static uint64_t local_entry(const struct symtab *t, const struct entry *e)
{
	unsigned bits = t->local_entries ? e->other >> 5 : 0;

	return bits > 1 && bits < 7 ? 1u << bits : 0;
}

static struct symbol symbol_of(const struct symtab *t, const struct entry *e)
{
	return (struct symbol){
		.name = entry_name(t, e),
		.kind = kind_of(e),
		.is_local = e->info >> 4 == STB_LOCAL,
		.address = e->address,
		.size = e->size,
		.entry = e->address + local_entry(t, e),
	};
}

/* Among symbols of one address the last is preferred: functions behind the rest, global ones behind
 * local ones, sized ones behind those without a size. */
static int rank(const struct entry *e)
{
	return (kind_of(e) == KIND_FUNCTION) * 4 + (e->info >> 4 == STB_GLOBAL) * 2 + (e->size > 0);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	if (x->table != y->table)
		return y->table - x->table;
	return x->name < y->name ? 1 : x->name > y->name ? -1 : 0;
}

static void sort_entries(struct symtab *t)
{
	if (t->sorted)
		return;
	if (t->count)
		qsort(t->entries, t->count, sizeof(*t->entries), compare_entries);
	t->sorted = true;
	free(t->buckets); /* its chains are by position */
	t->buckets = NULL;
}

static bool is_code(const struct symtab *t, const struct entry *e)
{
	const struct segment *s;

	if (kind_of(e) == KIND_FUNCTION)
		return true;
	if (kind_of(e) != KIND_OTHER)
		return false;
	s = image_segment_at(&t->shape, e->address);
	return s && s->executable;
}

bool symtab_at(struct symtab *t, uint64_t address, struct symbol *out)
{
	size_t low = 0, high = t->count, stop;

	sort_entries(t);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->entries[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	stop = low > LOOK_BACK ? low - LOOK_BACK : 0;
	for (size_t i = low; i > stop; i--) {
		const struct entry *e = &t->entries[i - 1];

		if (!is_code(t, e) || (e->size && address - e->address >= e->size))
			continue;
		*out = symbol_of(t, e);
		return true;
	}
	return false;
}

/* Link-time address of an offset in the file, as the image's segments map it. */
static bool address_of(const struct symtab *t, uint64_t offset, uint64_t *address)
{
	return image_address_of(&t->shape, offset, address);
}

bool symtab_offset_of(const struct symtab *t, uint64_t address, uint64_t *offset)
{
	return image_offset_of(&t->shape, address, offset);
}

bool symtab_at_offset(struct symtab *t, uint64_t offset, struct symbol *out, uint64_t *into)
{
	uint64_t address;

	if (!address_of(t, offset, &address) || !symtab_at(t, address, out))
		return false;
	if (into)
		*into = address - out->address;
	return true;
}

/* The seed is an address, which strangers do not know: they cannot make names that collide. */
static size_t hash_name(const struct symtab *t, struct str name)
{
	uint64_t h = (uintptr_t)t * 0x9e3779b97f4a7c15ull;

	for (size_t i = 0; i < name.len; i++)
		h = (h ^ (unsigned char)name.ptr[i]) * 0x100000001b3ull;
	return (size_t)(h ^ h >> 29) & t->bucket_mask;
}

static int make_buckets(struct symtab *t)
{
	size_t size = 64;

	if (t->buckets)
		return 0;
	while (size < t->count)
		size *= 2;
	t->buckets = malloc(size * sizeof(*t->buckets));
	if (!t->buckets)
		return -ENOMEM;
	memset(t->buckets, 0xff, size * sizeof(*t->buckets));
	t->bucket_mask = size - 1;
	for (size_t i = t->count; i--;) {
		uint32_t *bucket = &t->buckets[hash_name(t, entry_name(t, &t->entries[i]))];

		t->entries[i].next = *bucket;
		*bucket = (uint32_t)i;
	}
	return 0;
}

int symtab_find(struct symtab *t, struct str name, symbol_fn *fn, void *arg)
{
	int err = make_buckets(t);

	if (err)
		return err;
	for (uint32_t i = t->buckets[hash_name(t, name)]; i != NO_SYMBOL; i = t->entries[i].next) {
		struct symbol s = symbol_of(t, &t->entries[i]);

		if (!str_eq(s.name, name))
			continue;
		err = fn(arg, &s);
		if (err)
			return err;
	}
	return 0;
}

static bool has_double(const struct symtab *t, const struct entry *e)
{
	struct str name = entry_name(t, e);
	uint32_t i = t->buckets[hash_name(t, name)];

	for (unsigned steps = 0; i != NO_SYMBOL && steps < LOOK_BACK;
	     i = t->entries[i].next, steps++)
		if (t->entries[i].table != e->table && t->entries[i].address == e->address &&
		    str_eq(entry_name(t, &t->entries[i]), name))
			return true;
	return false;
}

/* Leave out the dynamic symbols that are in the full table as well. */
static int drop_doubles(struct symtab *t)
{
	size_t kept = 0;
	int err;

	if (!t->texts[0] || !t->texts[1] || t->is_single)
		return 0;
	err = make_buckets(t);
	if (err)
		return err;
	for (size_t i = 0; i < t->count; i++)
		if (t->entries[i].table == 1 && has_double(t, &t->entries[i]))
			t->entries[i].name = NO_SYMBOL;
	for (size_t i = 0; i < t->count; i++)
		if (t->entries[i].name != NO_SYMBOL)
			t->entries[kept++] = t->entries[i];
	t->count = kept;
	t->is_single = true;
	free(t->buckets);
	t->buckets = NULL;
	return 0;
}

int symtab_each(struct symtab *t, symbol_fn *fn, void *arg)
{
	int err = drop_doubles(t);

	if (err)
		return err;
	sort_entries(t);
	for (size_t i = 0; i < t->count && !err; i++) {
		struct symbol s = symbol_of(t, &t->entries[i]);

		err = fn(arg, &s);
	}
	return err;
}
