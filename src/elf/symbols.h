/* The symbols of one ELF file: address -> name, name -> address. Comes in: an image; its .symtab,
 * or that of its separate debug file when it was stripped, and its .dynsym. Names are as the linker
 * has them, without a version after '@'; demangling is not done here.
 *
 * Tables are sorted or hashed when first needed. A symtab does not need its image. */
#ifndef NOPAL_ELF_SYMBOLS_H
#define NOPAL_ELF_SYMBOLS_H

#include "elf/image.h"

enum symbol_kind { KIND_FUNCTION, KIND_OBJECT, KIND_TLS, KIND_OTHER };

struct symbol {
	struct str name; /* valid until the next call; without a budget as long as the symtab */
	enum symbol_kind kind;
	uint64_t address; /* link-time; KIND_TLS: offset in the TLS block */
	uint64_t size;	  /* 0: not known */
	uint64_t entry;	  /* where calls within the file enter: ppc64's local entry, else address */
};

enum symbol_kind symbol_kind_of(uint8_t info); /* of st_info */

struct symtab;

/* `path`: where the image is, to find its debug file; `root` goes before /usr/lib/debug: "" or
 * "/proc/7/root". A file without symbols gives an empty table. -ENOMEM; -E2BIG or -EINTR when the
 * image's budget is used up. */
int symtab_read(const struct image *image, struct str path, struct str root, struct symtab **out,
		struct diag *d);
void symtab_free(struct symtab *t); /* NULL is fine */

/* The function at a link-time address: the one that contains it, or the one before it in its
 * section when that has no size. */
bool symtab_at(struct symtab *t, uint64_t address, struct symbol *out);
/* The same for an offset in the file. *into: bytes from the function's start; may be NULL. */
bool symtab_at_offset(struct symtab *t, uint64_t offset, struct symbol *out, uint64_t *into);
/* Bytes that belong to a function: its size; without one, up to the next symbol of code, or to the
 * end of its section, or of its segment's part of the file. */
uint64_t symtab_extent(struct symtab *t, const struct symbol *function);
/* Sort now what would be sorted on first use; not within a symbol_fn of symtab_find(). */
void symtab_sort(struct symtab *t);
/* Offset in the file of a link-time address, as the image's segments map it. */
bool symtab_offset_of(const struct symtab *t, uint64_t address, uint64_t *offset);
bool symtab_address_of(const struct symtab *t, uint64_t offset, uint64_t *address);

/* Each symbol of that name; a non-zero result of `fn` ends it and is returned. -E2BIG: the names of
 * all symbols together are too long. */
typedef int symbol_fn(void *arg, const struct symbol *symbol);
int symtab_find(struct symtab *t, struct str name, symbol_fn *fn, void *arg);
/* Each symbol, by address. */
int symtab_each(struct symtab *t, symbol_fn *fn, void *arg);

/* ---- Without a table, for callers that look for few of them: symbols and names are read piece by
 * piece, so that a file with a million of them costs time, but no memory. */

/* Bytes of a name that are looked at; longer names are cut. */
#define SYMBOL_NAME_MAX 65536

struct raw_symbol {
	uint64_t address, size;
	uint32_t name; /* offset in the string table */
	uint16_t section;
	uint8_t info, other;
};

/* Each symbol that has a name and a value: no section's or file's name, nothing that is undefined.
 * Non-zero from `fn` ends it and is returned. 0 also where the file ends too early; -EINTR or
 * -E2BIG when the image's budget is used up. */
typedef int raw_symbol_fn(void *arg, const struct raw_symbol *symbol);
int raw_symbols_each(const struct image *image, const struct section *section, raw_symbol_fn *fn,
		     void *arg);
/* The same for those that are undefined: that another file has. */
int raw_imports_each(const struct image *image, const struct section *section, raw_symbol_fn *fn,
		     void *arg);

/* Each symbol of the full table, of the image or its debug file, and of the dynamic one; those in
 * both come twice. Names longer than `name_most` are empty; 0: no names are read. `path`, `root`:
 * as for symtab_read(). Non-zero from `fn` ends it and is returned. -ENOMEM; -E2BIG or -EINTR when
 * the image's budget is used up. */
int symbols_scan(const struct image *image, struct str path, struct str root, size_t name_most,
		 symbol_fn *fn, void *arg);

#endif
