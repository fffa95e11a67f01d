/* What the files of this module share: the opened file, its units, and safe ways through its
 * entries ("DIEs" in DWARF's words). */
#ifndef NOPAL_DEBUGINFO_INSIDE_H
#define NOPAL_DEBUGINFO_INSIDE_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>

#include "base/budget.h"
#include "base/hash.h"
#include "debuginfo/debuginfo.h"

#define MAX_UNITS (1u << 20)
#define MAX_DEPTH 200 /* of entries, one in the other: each level is a call */

/* One unit of .debug_info: mostly what one source file became. */
struct debug_unit {
	uint64_t start, end;	    /* its bytes in the section */
	uint64_t top;		    /* its outermost entry */
	uint64_t lines;		    /* of its line table in .debug_line; NO_LINES: none */
	uint64_t texts;		    /* its part of .debug_str_offsets; 0: none */
	bool is_used;		    /* something of it was asked for */
	bool has_functions;	    /* its functions are in the table */
	uint32_t decoded_in;	    /* the round in which libdw last decoded its lines; 0: none */
	struct unit_scopes *scopes; /* what of it has code (scopes.c); NULL: not known */
};

#define NO_LINES UINT64_MAX

/* Addresses that belong to a unit. */
struct unit_range {
	uint64_t low, high;
	uint32_t unit;
};

/* A type that was made, by the offset of its entry. */
struct made_type {
	uint64_t offset;
	struct ctype *type;
};

/* Where a function begins: its entry. */
struct function_entry {
	uint64_t address, offset;
};

struct debuginfo {
	struct ctype_reader reader; /* first: of the types that are made */
	struct arena arena;
	struct file *file; /* held; NULL for memory */
	struct str path;
	void *bytes; /* the whole file; mapped or malloc'ed, or NULL: the caller's */
	size_t len;
	bool is_mapped, is_decompressed, big_endian;
	struct ctype_machine machine;
	Elf *elf;
	Dwarf *dwarf;
	struct debuginfo *alt; /* the common parts of several files, as dwz writes them */
	struct str info, strings, string_offsets, lines, line_strings; /* sections */

	struct debug_unit *units;
	size_t unit_count, unit_cap;
	uint32_t headers_read;	   /* by libdw: see unit_top() */
	struct unit_range *ranges; /* sorted by `low` */
	size_t range_count, range_cap;
	bool are_described; /* lines, texts and ranges are known */

	struct function_entry *functions; /* of the units that were looked at */
	size_t function_count, function_cap;
	struct hash by_address;

	size_t scope_ranges;	      /* of the scopes of all units */
	struct budget *frames_budget; /* what finding frames takes its work from; NULL: no limit */
	bool are_frames_cut;	      /* there is more of them than is read */
	/* Since libdw last forgot: units whose lines it has, and bytes of their tables. */
	uint32_t round, decoded;
	uint64_t decoded_bytes;
	struct arena frame_names; /* of the last frames */

	struct made_type *made;
	size_t made_count, made_cap;
	struct hash by_offset;
	struct ctype in_work; /* marks a type that is being made */
};

/* debuginfo.c: pages that were looked at are given back to the kernel. */
void debuginfo_release(struct debuginfo *di);
/* Forget all that libdw has decoded: entries are invalid then. -EBADMSG, -ENOMEM. */
int debuginfo_forget(struct debuginfo *di);

/* units.c. 0, -ENOMEM, -E2BIG. */
int units_read(struct debuginfo *di);
int units_describe(struct debuginfo *di);
/* Index of the unit with that offset of .debug_info; false: none. */
bool unit_of(const struct debuginfo *di, uint64_t offset, uint32_t *out);
/* The units that have code at an address: one, or several where they are damaged. Number of them.
 */
#define UNITS_OVERLAP_MOST 8
unsigned units_at(const struct debuginfo *di, uint64_t address, uint32_t units[UNITS_OVERLAP_MOST]);
/* Its outermost entry. */
bool unit_top(struct debuginfo *di, uint32_t unit, Dwarf_Die *out);

/* unit_search.c: the units that mention a name, or refer to one of these offsets of .debug_info, in
 * order. They are a malloc'ed array: free it. -ENOMEM. */
typedef int unit_fn(void *arg, uint32_t unit);
/* ... each as soon as it is found; non-zero from `fn` ends it and is returned. */
int units_naming_each(struct debuginfo *di, struct str name, unit_fn *fn, void *arg);
int units_naming(struct debuginfo *di, struct str name, uint32_t **units, size_t *count);
int units_referring(struct debuginfo *di, const uint64_t *offsets, size_t offset_count,
		    uint32_t **units, size_t *count);
/* Where one of these words is in a section; each match is reported, in order. */
typedef int found_word_fn(void *arg, uint64_t at);
int find_words(struct debuginfo *di, struct str section, const uint64_t *words, size_t count,
	       found_word_fn *fn, void *arg);
/* Where a text with its NUL is in a section of strings: alone, or else as the end of others. They
 * are a malloc'ed array. */
int find_text(struct debuginfo *di, struct str section, struct str text, uint64_t **offsets,
	      size_t *count);

/* entry.c: attributes, without following a link to a file that is not there. */
bool entry_attribute(struct debuginfo *di, Dwarf_Die *die, unsigned name, Dwarf_Attribute *out);
/* ... also of the declaration, or of the function, that it is an instance of. */
bool entry_inherited(struct debuginfo *di, Dwarf_Die *die, unsigned name, Dwarf_Attribute *out);
bool entry_number(struct debuginfo *di, Dwarf_Die *die, unsigned name, uint64_t *out);
bool entry_flag(struct debuginfo *di, Dwarf_Die *die, unsigned name);
struct str entry_name(struct debuginfo *di, Dwarf_Die *die);
bool entry_reference(struct debuginfo *di, Dwarf_Die *die, unsigned name, Dwarf_Die *out);
/* The debuginfo that an entry belongs to: this one or its `alt`. */
struct debuginfo *entry_owner(struct debuginfo *di, Dwarf_Die *die);

/* Where the code of an entry begins. */
bool entry_address(Dwarf_Die *die, uint64_t *out);

/* types.c: the type of an entry; -EBADMSG, -ENOMEM. NULL: void. */
int type_make(struct debuginfo *di, Dwarf_Die *die, const struct ctype **out);
/* Of the entry's DW_AT_type. */
int type_of_entry(struct debuginfo *di, Dwarf_Die *die, const struct ctype **out);
int type_complete(struct ctype_reader *r, struct ctype *t);
/* The formal parameters among an entry's children; `count` of them. */
int type_params(struct debuginfo *di, Dwarf_Die *die, struct ctype *function, unsigned *count);

/* scopes.c: A function or an inlined copy of one. */
struct scope {
	uint64_t entry;
	uint32_t around; /* the scope that it is in; NONE */
	bool is_inlined;
};

/* What has code in a unit, read when it is asked for first, and valid until another is. NULL: it is
 * not to be had. */
const struct unit_scopes *unit_scopes_get(struct debuginfo *di, uint32_t unit, Dwarf_Die *top);
void unit_scopes_free(struct unit_scopes *u); /* NULL is fine */
/* The innermost one at an address, and that around one; NULL: none. */
const struct scope *scope_at(const struct unit_scopes *u, uint64_t address);
const struct scope *scope_around(const struct unit_scopes *u, const struct scope *s);
/* What a function is called: as linkers know it, or else as in the source, with the namespaces and
 * types that it is in. Valid until the next debuginfo_frames(). */
struct str function_name(struct debuginfo *di, const struct unit_scopes *u, uint64_t entry);

/* functions.c: the entry of the innermost inlined copy that begins at an address; 0: none. */
uint64_t inlined_at(struct debuginfo *di, uint32_t unit, uint64_t address);

#endif
