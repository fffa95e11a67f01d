/* What a USDT probe is, once read from an ELF file: provider:name at a site, with arguments and a
 * semaphore.
 *
 * All text borrows from the list's arena, so a site is valid as long as its list. */
#ifndef NOPAL_PROBE_PROBE_H
#define NOPAL_PROBE_PROBE_H

#include "arch/operand.h"
#include "ctype/ctype.h"

/* ---- Arguments: argument.c ----
 *
 * An argument is one value that a site passes. The note of the site says where it is; what it is
 * comes, if at all, from the program's own description and from provider files. */

/* Who says a name or a type. */
enum argument_origin {
	ORIGIN_NONE,
	ORIGIN_SITE,	  /* the source at the site: a word of it, the type of its value */
	ORIGIN_CATALOGUE, /* a provider file declares it */
	ORIGIN_PROGRAM,	  /* the program itself declares it */
};

/* How a struct is passed by value. */
enum argument_passed {
	PASSED_AS_NUMBER,  /* it is none, or its parts are in several places */
	PASSED_AT_ADDRESS, /* the operand is where it is in memory */
	PASSED_IN_WORDS,   /* in registers: arguments `first_word` and the next one */
};

struct argument {
	struct operand operand;	  /* where the value is */
	struct str name;	  /* "word"; empty: not known */
	struct str source;	  /* "p->word", as the site passes it; empty: not known */
	const struct ctype *type; /* NULL: not known */
	int16_t counted_by; /* of text: the argument that has its length; -1: it ends in a NUL */
	uint8_t name_from, type_from; /* enum argument_origin */
	uint8_t passed;		      /* enum argument_passed */
	uint8_t first_word; /* PASSED_IN_WORDS: the first of the arguments that have its bytes */
};

/* The arguments at these operands, of which nothing else is known; NULL without memory. */
struct argument *arguments_new(struct arena *a, const struct operand *operands, unsigned count);
/* ... of a note's argument string. They live in `a`, their text borrows from `text`. -ENOMEM. */
int arguments_parse(const struct arch *arch, struct str text, struct arena *a,
		    struct argument **out, unsigned *count);

/* Its declared type, from the program or the catalogue. What the site passes takes precedence,
 * except for what C cannot see there: whether the bytes at an address are text, and that a number
 * is an enum's. -ENOMEM. */
int argument_declare(struct argument *arg, const struct ctype *declared,
		     enum argument_origin origin, const struct ctype_machine *m, struct arena *a);

/* What is known of a function: its C type, the registers that its compiler says the parameters are
 * in (DWARF's numbers, -1: not said), and whether it passes values as C does. */
struct function_params {
	const struct ctype *type; /* CTYPE_FUNCTION */
	const int16_t *registers;
	bool is_c;
};

/* params.c: give the arguments of a function (argN, by the calling convention) the names and types
 * of its parameters. Those that are in no argN are added at the end. *order has the index of each
 * parameter. -ENOMEM. */
int function_arguments(struct arena *a, const struct arch *arch, const struct function_params *f,
		       struct argument **args, unsigned *count, const uint16_t **order,
		       unsigned *order_count);

/* argN: a script's own name for any argument, and so a name that says nothing. */
bool argument_is_numbered(struct str name);
/* Is it the address of text, up to a NUL or of a length that another argument has? */
bool argument_is_text(const struct argument *arg);

/* The class of its type: "bytes", "unsigned", "signed", "bool", "float", "pointer", "string",
 * "enum" or "char"; NULL: not known. */
const char *argument_class(const struct argument *arg, const struct ctype_machine *m);
/* For people: "const char *word" as declared or as the source has it, "int = n + 1" for an
 * expression, "int" when no more is known. */
void argument_show(const struct argument *arg, struct buf *out);

/* ---- Types as .note.nopal has them: doc/describe-note.md ---- */

struct type_class {
	uint8_t type_class; /* with bit 7 for signed values */
	uint8_t size;	    /* bytes; 0: not known, or 100 and more */
};

/* Of a type that an argument has on a machine; class "bytes" and size 0 when that is not known. */
struct type_class type_class_of(const struct ctype *t, const struct ctype_machine *m);
/* The types of all classes met so far: they live in `kept`, the table itself in `arena`. */
struct class_types {
	struct arena *arena, *kept;
	const struct ctype **rows[256]; /* by class, then by size */
};

/* The type that has such a class, NULL when that says nothing. -ENOMEM. */
int class_type(struct class_types *types, struct type_class c, const struct ctype **out);

/* ---- Sites ---- */

/* What a program says of a site besides its arguments. */
struct description {
	struct str file; /* "src/tick.c"; empty: not known */
	unsigned line;	 /* 0: not known */
	struct str text; /* "a request was answered": a line for people; empty: none */
};

struct site {
	struct str provider;
	struct str name;
	uint64_t location;  /* link-time address, after prelink adjustment */
	uint64_t base;	    /* the note's base field, unchanged */
	uint64_t semaphore; /* link-time address, adjusted; 0: none */
	uint64_t offset;    /* location as a file offset; SITE_NO_OFFSET when no segment holds it */
	uint64_t sema_offset; /* semaphore as a file offset; 0: none */
	bool sema_is_twice;   /* as a program begins, two writable mappings have that offset */
	struct str args_text; /* as the note has it: "-4@%eax 8@%rbx" */
	struct argument
		*args; /* what is known of them beyond the note comes when it is asked for */
	unsigned arg_count;
	bool is_entry;			     /* a 5-byte nop at a function's first instruction */
	bool is_asked;			     /* provider files were asked about its arguments ... */
	bool is_declared;		     /* ... and have it */
	const struct description *described; /* NULL: the program says nothing about it */
	const char *problem;		     /* why it cannot be attached; NULL: fine */
};

#define SITE_NO_OFFSET UINT64_MAX

/* The order of two sites by the probe they belong to: name, then provider. */
int site_compare_probes(const struct site *a, const struct site *b);

/* The sites of one ELF file, in the order of its notes. */
struct site_list {
	struct arena arena;
	const struct arch *arch;
	struct str build_id; /* hex digits; empty: none */
	struct site *sites;
	size_t count;
	bool is_whole; /* has all sites of the file, whichever were wanted */
};

#endif
