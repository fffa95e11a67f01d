/* The types and constants that a text of C declarations defines, by name. */
#ifndef NOPAL_CPARSE_SCOPE_H
#define NOPAL_CPARSE_SCOPE_H

#include "cparse/cparse.h"

/* A tag, a typedef or a constant, in a bucket with others of the same hash; newer ones first. */
struct c_name {
	enum ctype_kind kind; /* CTYPE_STRUCT, UNION, ENUM: a tag; NAMED: a typedef; INTEGER */
	struct str name;
	const struct ctype *type;
	int64_t value;
	struct c_name *next;
};

#define C_SCOPE_BUCKETS 512

/* Types live in the arena and borrow their texts. */
struct c_scope {
	struct arena *arena;
	struct ctype_machine machine; /* that the types are laid out for */
	/* Other constants that declarations may use, such as macros; may be NULL. */
	bool (*constant)(void *self, struct str name, int64_t *value);
	void *self;
	struct c_name *names[C_SCOPE_BUCKETS];
};

/* Read the declaration of a type at text[*at], and set *at to its end. 0, -EINVAL after a message,
 * -ENOMEM. */
int c_scope_read(struct c_scope *s, struct str path, struct str text, size_t *at, struct diag *d);
/* The type that is spelt at text[*at], "struct conn *[4]"; sets *at past it. A tag that is not
 * known is declared, a name that is not known stays a name. */
int c_scope_type_name(struct c_scope *s, struct str path, struct str text, size_t *at,
		      const struct ctype **out, struct diag *d);
/* The constant expression that is text[at] and all that follows. */
int c_scope_value(struct c_scope *s, struct str path, struct str text, size_t at, int64_t *out,
		  struct diag *d);
/* CTYPE_STRUCT, UNION, ENUM: by tag; CTYPE_NAMED: by the name of a typedef; NULL: there is none. */
const struct ctype *c_scope_type(const struct c_scope *s, enum ctype_kind kind, struct str name);
/* A constant of an enum. */
bool c_scope_constant(const struct c_scope *s, struct str name, const struct ctype **type,
		      int64_t *value);
/* Give a type a name; -ENOMEM. */
int c_scope_typedef(struct c_scope *s, struct str name, const struct ctype *type);
/* Give it a tag or, of CTYPE_NAMED, a name, which hides others; until c_scope_forget(). -ENOMEM. */
int c_scope_add(struct c_scope *s, enum ctype_kind kind, struct str name, const struct ctype *type);
void c_scope_forget(struct c_scope *s, enum ctype_kind kind, struct str name);

#endif
