/* C types as a provider file declares them: a tree from the outside in, so that `char *argv[]` is
 * an array of pointers to char. Nothing here knows sizes: a provider file is for any CPU. Types
 * live in the arena of their provider file. */
#ifndef NOPAL_PROVIDER_CTYPE_H
#define NOPAL_PROVIDER_CTYPE_H

#include "base/arena.h"
#include "base/buf.h"

enum ctype_kind {
	CTYPE_VOID,
	CTYPE_BOOL,	/* _Bool, bool */
	CTYPE_INTEGER,	/* name: "unsigned long" */
	CTYPE_FLOAT,	/* name: "long double" */
	CTYPE_STRUCT,	/* name: the tag, empty without one */
	CTYPE_UNION,	/* likewise */
	CTYPE_ENUM,	/* likewise */
	CTYPE_STRING,	/* D's string: a pointer to characters up to a NUL */
	CTYPE_NAMED,	/* a typedef; `to` is its meaning, NULL when the file does not say */
	CTYPE_POINTER,	/* to `to` */
	CTYPE_ARRAY,	/* of `to` */
	CTYPE_FUNCTION, /* that returns `to` */
};

enum ctype_qualifier {
	CTYPE_CONST = 1,
	CTYPE_VOLATILE = 2,
	CTYPE_RESTRICT = 4,
	CTYPE_ATOMIC = 8,
};

/* An argument of a probe or of a function. */
struct carg {
	struct str name; /* empty: none given */
	const struct ctype *type;
	struct str at; /* its text in the source, for messages */
	struct carg *next;
};

struct ctype {
	enum ctype_kind kind;
	unsigned qualifiers; /* of this level */
	struct str name;
	const struct ctype *to;
	struct str bound;	 /* an array's: "10", empty for [] */
	const struct carg *args; /* a function's */
	bool variadic;		 /* a function's list ends in "..." */
};

/* What a typedef of the same file stands for, down to a type that is none, or to a name of which
 * the file does not say the meaning. Qualifiers of the typedefs are lost. */
const struct ctype *ctype_resolve(const struct ctype *t);

/* Levels from the outside to the innermost type, through typedefs; stops counting at `limit`. */
unsigned ctype_depth(const struct ctype *t, unsigned limit);

/* The same type, spelt in the same words? */
bool ctype_same(const struct ctype *a, const struct ctype *b);

/* The type as C declares a `name` of it, or alone when `name` is empty: "int (*done)(void *)". */
void ctype_print(struct buf *out, const struct ctype *t, struct str name);

/* The parameter type that a compiler may check a value of type `t` against, in words that C and C++
 * know without any header: typedefs of the file are resolved, uint32_t becomes __UINT32_TYPE__, an
 * enum int, and what a pointer points to may be const and volatile. False: cannot be told from
 * this file alone; nothing was added. */
bool ctype_print_checked(struct buf *out, struct arena *a, const struct ctype *t);

#endif
