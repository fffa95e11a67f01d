/* C types: one model for all their sources. A type is a tree from the outside in, so
 * that `char *argv[]` is an array of pointers to char. Provider files fill it without sizes, since
 * they are for any machine; the note that describes a program's probes, and whatever is read from
 * a binary, fill in the sizes and offsets of that binary.
 *
 * Types are constant once they are made, borrow their texts, and live in their maker's arena. Only
 * pointers may lead back to a type that is being described. The one exception: what a kernel or a
 * large program has of its types is too much to read at once, so the members of a struct and the
 * constants of an enum may be read when they are first asked for. */
#ifndef NOPAL_CTYPE_CTYPE_H
#define NOPAL_CTYPE_CTYPE_H

#include "base/arena.h"
#include "base/buf.h"

enum ctype_kind {
	CTYPE_VOID,
	CTYPE_BOOL,	/* name: "_Bool"                                                      */
	CTYPE_CHAR,	/* a character: "char", or of any size                                */
	CTYPE_INTEGER,	/* name: "unsigned long"                                              */
	CTYPE_FLOAT,	/* name: "long double"                                                */
	CTYPE_STRUCT,	/* name: the tag, empty without one                                   */
	CTYPE_UNION,	/* name, or empty                                                     */
	CTYPE_ENUM,	/* name, or empty                                                     */
	CTYPE_BYTES,	/* `size` bytes, of which nothing else is known                       */
	CTYPE_STRING,	/* D's string: a pointer to characters up to a NUL                    */
	CTYPE_NAMED,	/* a typedef: `name` is another name of `to`, NULL if not known       */
	CTYPE_POINTER,	/* to `to`                                                            */
	CTYPE_ARRAY,	/* of `to`                                                            */
	CTYPE_FUNCTION, /* that returns `to`                                                  */
};

enum ctype_qualifier {
	CTYPE_CONST = 1,
	CTYPE_VOLATILE = 2,
	CTYPE_RESTRICT = 4,
	CTYPE_ATOMIC = 8,
};

/* A parameter of a function, or of a probe. */
struct ctype_param {
	struct str name; /* empty: none given */
	const struct ctype *type;
	struct str at; /* its text in the source, for messages */
	struct ctype_param *next;
};

/* A member of a struct or union. A nameless one is a struct or union whose members count as ours.
 * A bit-field has a width: it is `bit_width` bits of a number of its type's size that begins at
 * `offset`, `bit_offset` bits above the lowest. */
struct ctype_member {
	struct str name;
	const struct ctype *type;
	uint64_t offset;	       /* bytes from the start */
	uint8_t bit_offset, bit_width; /* 0 wide: not a bit-field */
};

/* A constant of an enum. */
struct ctype_constant {
	struct str name;
	int64_t value; /* of an unsigned enum: the same bits */
};

/* Reads types when they are asked for: BTF, DWARF. `complete` fills in what a type leaves open;
 * what it allocates is its own. */
struct ctype_reader {
	int (*complete)(struct ctype_reader *r, struct ctype *t);
	unsigned depth; /* of types that are being completed, one inside the other */
};

struct ctype {
	enum ctype_kind kind;
	unsigned qualifiers; /* of this level */
	struct str name;
	uint64_t size;	/* bytes; 0: as name and machine have it, or not known */
	bool is_signed; /* with a size: of an INTEGER, CHAR or ENUM */
	/* Of a STRUCT, UNION or ENUM: is it only declared, with its definition elsewhere? */
	bool is_declaration;
	uint16_t align; /* bytes; 0: as the members and the machine have it */
	const struct ctype *to;
	struct str bound; /* an array's: "10", empty for [] */
	/* Of a STRUCT or UNION, of an ENUM. While `reader` is set they are not read yet: use
	 * ctype_complete() before, or the functions below, which do. */
	const struct ctype_member *members;
	unsigned member_count;
	unsigned constant_count;
	const struct ctype_constant *constants;
	struct ctype_reader *reader; /* NULL: all is known */
	uint64_t reader_id;
	const struct ctype_param *params; /* a function's */
	bool variadic;			  /* a function's list ends in "..." */
};

/* Read what is still open of a type, once. 0; -ENOMEM; -EBADMSG: the source is damaged, and the
 * type remains without members. */
int ctype_complete(const struct ctype *t);

/* The type that a typedef names, or a name whose meaning is not known.
 * Qualifiers of the typedefs are lost. */
const struct ctype *ctype_resolve(const struct ctype *t);

/* What it is after all: never a typedef, but CTYPE_NAMED for a name whose meaning is not known. The
 * standard names, such as size_t, are known without a typedef. */
enum ctype_kind ctype_kind(const struct ctype *t);

/* The same type with a qualifier; NULL without memory. */
struct ctype *ctype_qualified(struct arena *a, const struct ctype *t, unsigned qualifier);

/* Levels from the outside to the innermost type, through typedefs; stops counting at `limit`. */
unsigned ctype_depth(const struct ctype *t, unsigned limit);

/* The same type, spelt in the same words? Structs are compared by their members too, but after a
 * second pointer by tag and size only: they may be lists. */
bool ctype_same(const struct ctype *a, const struct ctype *b);

/* The member `name` of a struct or union, also one of its nameless members; its offset is from the
 * start of `t`. False when there is none. */
bool ctype_member(const struct ctype *t, struct str name, struct ctype_member *out);
/* The constant `name` of an enum; the name of a value in it, empty when it has none. */
bool ctype_constant(const struct ctype *t, struct str name, int64_t *value);
struct str ctype_constant_name(const struct ctype *t, int64_t value);
/* How many elements an array has. False when its bound is not a number. */
bool ctype_count(const struct ctype *t, uint64_t *count);

/* The type as C declares a `name` of it, or alone when `name` is empty: "int (*done)(void *)". */
void ctype_print(struct buf *out, const struct ctype *t, struct str name);

/* The definition of a struct, union or enum on several lines, with the nameless ones inside it;
 * other types as ctype_print() has them. Without a final semicolon. At most CTYPE_MAX_TEXT bytes;
 * a longer one ends in "...". */
#define CTYPE_MAX_TEXT (1u << 20)
void ctype_print_definition(struct buf *out, const struct ctype *t);

/* The parameter type that a compiler may check a value of type `t` against, in words that C and C++
 * know without any header: typedefs of the file are resolved, uint32_t becomes __UINT32_TYPE__, an
 * enum int, and what a pointer points to may be const and volatile. False, and nothing added, when
 * the type's file alone does not say. */
bool ctype_print_checked(struct buf *out, const struct ctype *t);

/* ---- Types by name, and on a machine ---- */

/* A type that every C program has by this name: "unsigned long", "size_t". */
struct ctype_standard {
	const char *name;
	enum ctype_kind kind;
	uint8_t size; /* bytes, or STANDARD_WORD, STANDARD_LONG_DOUBLE */
	bool is_signed;
	const char *builtin; /* the compiler's own word, for a name that takes a header; or NULL */
};

#define STANDARD_WORD	     255 /* that of an address */
#define STANDARD_LONG_DOUBLE 254

/* NULL: there is none. */
const struct ctype_standard *ctype_standard(struct str name);
/* The name that C has for such a type; NULL: none. */
const char *ctype_standard_name(enum ctype_kind kind, uint64_t size, bool is_signed);

/* C has several names for a basic type, of which gcc and the kernel write one: "long unsigned int"
 * for "unsigned long". Other names as they are. */
struct str ctype_compiler_name(struct str name);

/* What the ABI of a machine says of types. */
struct ctype_machine {
	uint8_t word;	     /* bytes of an address, and of a long */
	bool is_known;	     /* the fields below are */
	bool char_is_signed; /* a plain char */
	uint8_t long_double; /* bytes */
	uint8_t most_align;  /* bytes: no number is aligned to more */
};

/* For EM_X86_64 and addresses of `word` bytes. */
struct ctype_machine ctype_machine_of(uint16_t elf_machine, unsigned word);

struct ctype_layout {
	uint64_t size;	/* bytes; 0: not known */
	unsigned align; /* bytes */
	bool is_signed;
};

/* For readers: give a struct or union that is being completed its members and its alignment.
 * -EBADMSG: it would be inside itself, or CTYPE_MAX_DEPTH inside others. So a search that looks
 * into the members of members comes to an end. */
#define CTYPE_MAX_DEPTH 64
int ctype_finish(struct ctype *t, const struct ctype_member *members, unsigned count,
		 const struct ctype_machine *m);

/* Make a member a bit-field of `width` bits that begins `bit` bits from the start of its struct: in
 * a number of its type that begins at a multiple of its size, or, packed, at its first byte. */
void ctype_place_bits(struct ctype_member *m, uint64_t bit, uint64_t width, bool big_endian,
		      const struct ctype_machine *machine);

struct ctype_layout ctype_layout(const struct ctype *t, const struct ctype_machine *m);
/* The same as an argument: arrays and functions are passed as addresses. */
struct ctype_layout ctype_layout_passed(const struct ctype *t, const struct ctype_machine *m);

/* Is it the address of plain characters, which by custom end in a NUL? */
bool ctype_is_text(const struct ctype *t);
/* Is it passed as an address? */
bool ctype_is_address(const struct ctype *t);

#endif
