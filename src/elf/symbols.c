/* Symbol tables. Each symbol is kept in 24 bytes with its name still in the string table; a table
 * sorted by address and a hash of names are made on first use. Everything but the sort is linear in
 * the size of the file. Hashing names is not, because they may overlap: their bytes are counted as
 * work. A string table that is too large for the budget stays in the file. */
#include "elf/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "elf/debugfile.h"

#define LOOK_BACK 16	     /* symbols before the nearest one that may still contain an address */
#define LEFT_OUT  UINT32_MAX /* as a name: the entry is to go */

struct symtab_entry {
	uint64_t address;
	uint32_t size; /* saturated */
	uint32_t name; /* offset in its string table */
	uint8_t info;  /* st_info */
	uint8_t other; /* st_other */
	uint8_t table; /* which string table */
};

/* A string table: in memory, or in the file and read name by name. */
struct symbol_names {
	char *text; /* NULL: in the file */
	uint64_t len;
	int fd; /* -1: none */
	uint64_t offset;
};

/* A section with code: a symbol without a size ends where its section does. */
struct code_section {
	uint64_t start, end;
};

struct symtab {
	struct symtab_entry *entries;
	size_t count, cap;
	struct symbol_names names[2]; /* of .symtab, of .dynsym */
	struct buf name;	      /* the one last read from a file */
	bool sorted;
	bool is_single;	     /* no symbol is in both tables */
	struct hash by_name; /* of entries, by their index; empty: not made */
	uint16_t machine;
	bool local_entries; /* ppc64 ELFv2 */
	struct code_section *code;
	size_t code_count;
	struct segment *loads;
	struct image shape; /* only loads and load_count, for the address arithmetic */
};

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < 2; i++) {
		free(t->names[i].text);
		if (t->names[i].fd >= 0)
			close(t->names[i].fd);
	}
	free(t->entries);
	hash_free(&t->by_name);
	buf_free(&t->name);
	free(t->code);
	free(t->loads);
	free(t);
}

/* ---- Reading one table */

/* Up to its NUL, its version, or SYMBOL_NAME_MAX. */
static struct str cut_name(const char *text, uint64_t left)
{
	size_t len = strnlen(text, left < SYMBOL_NAME_MAX ? (size_t)left : SYMBOL_NAME_MAX);
	const char *version = memchr(text, '@', len);

	return str_of(text, version && version != text ? (size_t)(version - text) : len);
}

/* Most names are short; longer ones are read again. */
static struct str read_name(struct symtab *t, const struct symbol_names *n, uint32_t at)
{
	size_t size = 256;
	ssize_t got;

	buf_clear(&t->name);
	do {
		size = size < SYMBOL_NAME_MAX ? size * 16 : size;
		if (buf_reserve(&t->name, size))
			return STR("");
		got = pread(n->fd, t->name.ptr, size < n->len - at ? size : n->len - at,
			    (off_t)(n->offset + at));
		if (got <= 0)
			return STR("");
	} while (size < SYMBOL_NAME_MAX && (size_t)got == size &&
		 !memchr(t->name.ptr, '\0', (size_t)got));
	return cut_name(t->name.ptr, (uint64_t)got);
}

static struct str entry_name(struct symtab *t, const struct symtab_entry *e)
{
	const struct symbol_names *n = &t->names[e->table];

	if (!n->text)
		return read_name(t, n, e->name);
	return cut_name(n->text + e->name, n->len - e->name);
}

/* A string table takes no more than half of what is left, so that its budget is enough to sort. */
static int open_names(const struct image *image, const struct section *section,
		      struct symbol_names *n)
{
	uint64_t len = section->type == SHT_NOBITS ? 0 : section->size;
	ssize_t got;

	if (len > IMAGE_MAX_SYMBOLS || !len)
		return 0;
	n->len = len;
	n->offset = section->offset;
	if (image->fd >= 0 && image->budget && len > image->budget->memory / 2) {
		n->fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 3);
		return n->fd < 0 ? -errno : 0;
	}
	if (!budget_memory(image->budget, len))
		return budget_error(image->budget);
	n->text = malloc(len);
	if (!n->text)
		return -ENOMEM;
	got = image_read(image, section->offset, n->text, len);
	if (got < 0 && got != -EIO)
		return (int)got;
	n->len = got > 0 ? (uint64_t)got : 0;
	return 0;
}

/* Where symbols of one section go. */
struct filling {
	struct symtab *t;
	uint8_t table;
};

static int add_entry(void *arg, const struct raw_symbol *s)
{
	const struct filling *f = arg;
	struct symtab *t = f->t;
	const struct symbol_names *n = &t->names[f->table];

	if (s->name >= n->len || t->count == t->cap)
		return 0;
	/* $x, $d, $a: marks of the ARM and RISC-V assemblers, not names. */
	if (n->text && (n->text[s->name] == '$' || n->text[s->name] == '\0'))
		return 0;
	t->entries[t->count] = (struct symtab_entry){
		.address = s->address,
		.size = s->size > UINT32_MAX ? UINT32_MAX : (uint32_t)s->size,
		.name = s->name,
		.info = s->info,
		.other = s->other,
		.table = f->table,
	};
	if (t->machine == EM_ARM && (s->info & 0xf) == STT_FUNC)
		t->entries[t->count].address &= ~1ull; /* Thumb */
	t->count++;
	return 0;
}

/* Add the symbols of one section; a damaged table adds what can be read of it. */
static int add_table(struct symtab *t, const struct image *image, uint32_t type, uint8_t table)
{
	const struct section *section = image_section_of_type(image, type);
	struct filling f = {t, table};
	struct symtab_entry *bigger;
	uint64_t more;
	int err;

	if (!section || section->link >= image->section_count || section->type == SHT_NOBITS ||
	    section->size > IMAGE_MAX_SYMBOLS)
		return 0;
	more = section->size / (image->word == 8 ? 24 : 16);
	if (more >= LEFT_OUT / 2 - t->count)
		return -E2BIG;
	if (!budget_memory(image->budget, 2 * more * sizeof(*bigger))) /* sorting needs it twice */
		return budget_error(image->budget);
	bigger = realloc(t->entries, (t->count + (size_t)more + 1) * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	t->entries = bigger;
	t->cap = t->count + (size_t)more;
	err = open_names(image, &image->sections[section->link], &t->names[table]);
	return err ? err : raw_symbols_each(image, section, add_entry, &f);
}

static int keep_code(struct symtab *t, const struct image *image)
{
	t->code = calloc(image->section_count + 1, sizeof(*t->code));
	if (!t->code)
		return -ENOMEM;
	for (size_t i = 0; i < image->section_count; i++) {
		const struct section *s = &image->sections[i];

		if ((s->flags & SHF_EXECINSTR) && s->address)
			t->code[t->code_count++] =
				(struct code_section){s->address, s->address + s->size};
	}
	return 0;
}

static int read_tables(struct symtab *t, const struct image *image, struct str path,
		       struct str root)
{
	struct image *debug;
	int err;

	t->loads = calloc(image->load_count + 1, sizeof(*t->loads));
	if (!t->loads)
		return -ENOMEM;
	memcpy(t->loads, image->loads, image->load_count * sizeof(*t->loads));
	t->shape.loads = t->loads;
	t->shape.load_count = image->load_count;
	if (keep_code(t, image))
		return -ENOMEM;
	debug = debugfile_open_symbols(image, path, root);
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
	t->names[0].fd = t->names[1].fd = -1;
	t->machine = image->machine;
	t->local_entries = image->machine == EM_PPC64;
	err = read_tables(t, image, path, root);
	if (err) {
		symtab_free(t);
		return err == -ENOMEM ? diag_error(d, err, "no-memory",
						   "no memory for the symbols of '%.*s'",
						   STR_FMT(image->name))
				      : err;
	}
	*out = t;
	return 0;
}

/* ---- Handing symbols out */

enum symbol_kind symbol_kind_of(uint8_t info)
{
	switch (info & 0xf) {
	case STT_FUNC:
	case STT_GNU_IFUNC: return KIND_FUNCTION;
	case STT_OBJECT:
	case STT_COMMON: return KIND_OBJECT;
	case STT_TLS: return KIND_TLS;
	default: return KIND_OTHER;
	}
}

static enum symbol_kind kind_of(const struct symtab_entry *e)
{
	return symbol_kind_of(e->info);
}

static struct symbol symbol_of(struct symtab *t, const struct symtab_entry *e)
{
	/* ELFv2 of ppc64 keeps the distance to the local entry, as a power of two, in three bits.
	 */
	unsigned bits = t->local_entries ? e->other >> 5 : 0;

	return (struct symbol){
		.name = entry_name(t, e),
		.kind = kind_of(e),
		.address = e->address,
		.size = e->size,
		.entry = e->address + (bits > 1 && bits < 7 ? 1u << bits : 0),
	};
}

/* Among symbols of one address the last is preferred: functions come after the rest, global ones
 * after local ones, sized ones after those without a size. */
static int rank_of(const struct symtab_entry *e)
{
	return (kind_of(e) == KIND_FUNCTION) * 4 + (e->info >> 4 == STB_GLOBAL) * 2 + (e->size > 0);
}

static int compare_entries(const void *a, const void *b)
{
	const struct symtab_entry *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (rank_of(x) != rank_of(y))
		return rank_of(x) - rank_of(y);
	if (x->table != y->table)
		return y->table - x->table;
	return x->name < y->name ? 1 : x->name > y->name ? -1 : 0;
}

void symtab_sort(struct symtab *t)
{
	if (t->sorted)
		return;
	if (t->count)
		qsort(t->entries, t->count, sizeof(*t->entries), compare_entries);
	t->sorted = true;
	hash_free(&t->by_name); /* the indexes have changed */
}

static bool is_code(const struct symtab *t, const struct symtab_entry *e)
{
	const struct segment *s;

	if (kind_of(e) == KIND_FUNCTION)
		return true;
	if (kind_of(e) != KIND_OTHER)
		return false;
	s = image_segment_at(&t->shape, e->address);
	return s && s->executable;
}

static bool is_at_or_before(const void *entry, const void *address)
{
	return ((const struct symtab_entry *)entry)->address <= *(const uint64_t *)address;
}

/* Index of the first symbol after an address. */
static size_t first_after(struct symtab *t, uint64_t address)
{
	symtab_sort(t);
	return lower_bound(t->entries, t->count, sizeof(*t->entries), is_at_or_before, &address);
}

/* Where the section with this address ends, or its segment where there are no sections; 0: it is in
 * neither. */
static uint64_t code_end(const struct symtab *t, uint64_t address)
{
	const struct segment *s = image_segment_at(&t->shape, address);

	for (size_t i = 0; i < t->code_count; i++)
		if (address >= t->code[i].start && address < t->code[i].end)
			return t->code[i].end;
	return s ? s->address + s->file_size : 0;
}

uint64_t symtab_extent(struct symtab *t, const struct symbol *function)
{
	uint64_t end = code_end(t, function->address);

	end = end ? end : function->address;
	if (function->size)
		return function->size;
	for (size_t i = first_after(t, function->address); i < t->count; i++)
		if (is_code(t, &t->entries[i])) {
			uint64_t next = t->entries[i].address;

			return (next < end ? next : end) - function->address;
		}
	return end - function->address;
}

/* `address` is at the symbol, or after it. */
static bool covers(const struct symtab *t, const struct symtab_entry *e, uint64_t address)
{
	uint64_t end = e->size ? e->address + e->size : code_end(t, e->address);

	return !end || address < end;
}

bool symtab_at(struct symtab *t, uint64_t address, struct symbol *out)
{
	size_t low = first_after(t, address), stop;

	stop = low > LOOK_BACK ? low - LOOK_BACK : 0;
	for (size_t i = low; i > stop; i--) {
		const struct symtab_entry *e = &t->entries[i - 1];

		if (!is_code(t, e) || !covers(t, e, address))
			continue;
		*out = symbol_of(t, e);
		/* A mark that was not recognised while its name was in the file. */
		if (!out->name.len || *out->name.ptr == '$')
			continue;
		return true;
	}
	return false;
}

bool symtab_offset_of(const struct symtab *t, uint64_t address, uint64_t *offset)
{
	return image_offset_of(&t->shape, address, offset);
}

bool symtab_address_of(const struct symtab *t, uint64_t offset, uint64_t *address)
{
	return image_address_of(&t->shape, offset, address);
}

bool symtab_at_offset(struct symtab *t, uint64_t offset, struct symbol *out, uint64_t *into)
{
	uint64_t address;

	if (!image_address_of(&t->shape, offset, &address) || !symtab_at(t, address, out))
		return false;
	if (into)
		*into = address - out->address;
	return true;
}

/* The seed is an address, which no author of a file knows: names that collide cannot be made. */
static uint64_t hash_name(const struct symtab *t, struct str name)
{
	return hash_str((uintptr_t)t * 0x9e3779b97f4a7c15ull, name);
}

/* Work on all names, which may be suffixes of one another. A name in the file is a system call. */
static int count_name(struct budget *b, const struct symtab *t, const struct symtab_entry *e,
		      struct str name)
{
	budget_work(b, name.len + (t->names[e->table].text ? 10 : 1000));
	return budget_error(b);
}

/* From the last entry to the first, so that they are found in their order. */
static int hash_names(struct symtab *t)
{
	struct budget b = budget_for_file(-1);
	int err = 0;

	if (t->by_name.count)
		return 0;
	err = hash_reserve(&t->by_name, t->count);
	for (size_t i = t->count; i-- && !err;) {
		struct str name = entry_name(t, &t->entries[i]);

		err = hash_add(&t->by_name, hash_name(t, name), i);
		if (!err)
			err = count_name(&b, t, &t->entries[i], name);
	}
	if (err)
		hash_free(&t->by_name);
	return err;
}

int symtab_find(struct symtab *t, struct str name, symbol_fn *fn, void *arg)
{
	int err = hash_names(t);

	if (err)
		return err;
	hash_each(i, &t->by_name, hash_name(t, name)) {
		struct symbol s = symbol_of(t, &t->entries[i]);

		if (!str_eq(s.name, name))
			continue;
		err = fn(arg, &s);
		if (err)
			return err;
	}
	return 0;
}

static bool has_double(struct symtab *t, const struct symtab_entry *e, struct str name)
{
	unsigned steps = 0;

	hash_each(i, &t->by_name, hash_name(t, name)) {
		if (steps++ == LOOK_BACK)
			break;
		if (t->entries[i].table != e->table && t->entries[i].address == e->address &&
		    str_eq(entry_name(t, &t->entries[i]), name))
			return true;
	}
	return false;
}

/* Leave out the dynamic symbols that are in the full table, too. */
static int drop_doubles(struct symtab *t)
{
	struct buf copy = BUF_INIT;
	size_t kept = 0;
	int err;

	if (!t->names[0].len || !t->names[1].len || t->is_single)
		return 0;
	err = hash_names(t);
	if (err)
		return err;
	for (size_t i = 0; i < t->count; i++) {
		struct symtab_entry *e = &t->entries[i];
		struct str name;

		if (e->table != 1)
			continue;
		name = entry_name(t, e);
		if (!t->names[e->table].text) { /* it must outlive the next one */
			buf_clear(&copy);
			buf_str(&copy, name);
			name = buf_as_str(&copy);
		}
		if (has_double(t, e, name))
			e->name = LEFT_OUT;
	}
	for (size_t i = 0; i < t->count; i++)
		if (t->entries[i].name != LEFT_OUT)
			t->entries[kept++] = t->entries[i];
	t->count = kept;
	t->is_single = true;
	hash_free(&t->by_name);
	buf_free(&copy);
	return 0;
}

int symtab_each(struct symtab *t, symbol_fn *fn, void *arg)
{
	struct budget b = budget_for_file(-1);
	int err = drop_doubles(t);

	if (err)
		return err;
	symtab_sort(t);
	for (size_t i = 0; i < t->count && !err; i++) {
		struct symbol s = symbol_of(t, &t->entries[i]);

		err = count_name(&b, t, &t->entries[i], s.name);
		if (!err)
			err = fn(arg, &s);
	}
	return err;
}
