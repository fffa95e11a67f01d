/* What the two files of this module share: the opened bytes, and one type as they have it. */
#ifndef NOPAL_BTF_INSIDE_H
#define NOPAL_BTF_INSIDE_H

#include "base/cursor.h"
#include "base/hash.h"
#include "btf/btf.h"

/* Kinds, as in <linux/btf.h>, which may be older than what is read. */
enum btf_kind {
	BTF_INT = 1,
	BTF_PTR,
	BTF_ARRAY,
	BTF_STRUCT,
	BTF_UNION,
	BTF_ENUM,
	BTF_FWD,
	BTF_TYPEDEF,
	BTF_VOLATILE,
	BTF_CONST,
	BTF_RESTRICT,
	BTF_FUNC,
	BTF_FUNC_PROTO,
	BTF_VAR,
	BTF_DATASEC,
	BTF_FLOAT,
	BTF_DECL_TAG,
	BTF_TYPE_TAG,
	BTF_ENUM64,
	BTF_KINDS,
};

/* Where a name is looked for, as in C. */
enum btf_space {
	BTF_TAGS, /* structs, unions, enums */
	BTF_ORDINARY,
	BTF_SPACES,
};

struct btf {
	struct ctype_reader reader; /* first: of the types that are made */
	struct arena arena;
	struct btf *base;
	void *bytes; /* mapped or malloc'ed; NULL: they belong to the caller */
	size_t len;
	bool is_mapped, big_endian;
	struct str types, strings;
	uint32_t first_id, first_string; /* after those of the base */
	uint32_t count;			 /* types of its own */
	uint32_t *offsets;		 /* of each, in `types` */
	struct ctype **made;		 /* of each; NULL: not yet */
	struct ctype in_work;		 /* marks one that is being made: only damage leads back */
	struct hash names[BTF_SPACES];	 /* of own types, once they are looked for */
	struct hash constants;		 /* of enums, by name */
	uint32_t *owners;		 /* of each constant: its enum's index */
	size_t owner_count, owner_cap;
	bool has_names[BTF_SPACES], has_constants;
	struct ctype_machine machine;
};

/* One type of the file: 12 bytes, and then what its kind has. */
struct btf_type {
	struct str name;
	enum btf_kind kind;
	bool flag;	 /* the meaning of bit-fields, signs or forward declarations */
	uint32_t count;	 /* of members, constants, parameters */
	uint32_t size;	 /* bytes ... */
	uint32_t target; /* ... or a type's id, in the same word */
	struct cursor rest;
};

/* False: damaged, or no such type. `index` counts from the first own type. */
bool btf_read(const struct btf *b, uint32_t index, struct btf_type *out);
/* "" for offset 0 and for one outside. */
struct str btf_string(const struct btf *b, uint32_t offset);
/* The n-th constant of an enum: its name. */
struct str btf_constant(const struct btf *b, const struct btf_type *t, uint32_t n, int64_t *value);
/* types.c: the type with an id. -EBADMSG, -ENOMEM. */
int btf_make(struct btf *b, uint32_t id, const struct ctype **out);
int btf_complete(struct ctype_reader *r, struct ctype *t);

#endif
