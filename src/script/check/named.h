/* Arguments by name: args.word of usdt probes, and `args` as a whole. All attachments of a variant
 * have the same values where they are used, so that what holds for one holds for all. */
#ifndef NOPAL_SCRIPT_NAMED_H
#define NOPAL_SCRIPT_NAMED_H

#include "script/check/variant.h"
#include "script/resolve/attachment.h"
#include "script/resolve/uses.h"

struct check;

/* How a script reads an argument: worked out when it is needed, from the argument's C type and
 * operand, which are the only record of it. */
struct arg_value {
	struct shape shape;	      /* INT, FLOAT or STR; NONE: a script cannot have it */
	bool is_unreadable;	      /* NONE: the operand cannot be read; else it is too large */
	uint64_t size;		      /* NONE: bytes of the whole */
	const struct ctype *place_of; /* NONE: a struct that can be read member by member */
	uint8_t passed, first_word;   /* ... as the argument has them */
	uint8_t extend_from; /* INT: bytes of the operand to extend; 0: it is right as it is */
	bool is_text;	     /* STR; or INT: the address of text, which can become it */
	int counted_by;	     /* of text: the argument that has its length; -1: it ends in a NUL */
};

/* Argument n of an attachment, which it has. */
struct arg_value named_value(const struct attachment *p, unsigned n);
/* The same of an argument that is named, or is a part of `args`. */
struct arg_value named_value_for(const struct attachment *p, const struct expr *e, unsigned n);
/* What a function returns, when its type is known and is a number. */
bool named_result(const struct attachment *p, struct arg_value *out);
/* The argument called `name`: as declared, or arg0. */
bool named_find(const struct attachment *p, struct str name, unsigned *out);
/* Its name, or else "arg0" in `a`. */
struct str named_name(const struct attachment *p, unsigned n, struct arena *a);
/* An argument or result of this type, in the program of an attachment. */
struct ctype_layout named_layout(const struct attachment *p, const struct ctype *t);
/* A text of as many bytes as the script's strings have. */
struct shape named_text_shape(const struct attachment *p);
/* args.x that is text, or the address of one; its number and value. */
bool named_find_text(const struct variant *variant, const struct expr *e, unsigned *n,
		     struct arg_value *out);
bool is_named_text(const struct variant *variant, const struct expr *e);
/* Where the word of args.x is in what the kernel hands over; false: it is elsewhere. */
bool named_word(const struct variant *v, const struct expr *e, unsigned *offset);
/* Are the named arguments that the clause uses the same at both attachments? */
bool named_same(const struct uses *u, const struct attachment *a, const struct attachment *b);

bool is_of_function(const struct attachment *p);
/* Are the names of its parameters unknown, as without debug information? Then there is an error. */
bool is_undescribed(struct check *c, const struct expr *e, const struct attachment *p);
/* Can argument `n` be read at this attachment? */
void check_readable(struct check *c, const struct expr *e, const struct attachment *p, unsigned n);
/* The argument whose name is like `name`, which is not that of a builtin; empty: none. */
struct str named_guess(const struct check *c, struct str name);
/* args.word of a variant with usdt attachments. */
void check_named(struct check *c, struct expr *e);
/* argN where a float is wanted: it becomes one if it is known to be one. */
void check_as_float(struct check *c, struct expr *e);
/* ... and a hint for the error when it did not. */
void hint_no_float(struct check *c, const struct expr *e);
/* args.x where text is wanted: a char * becomes the text. False: `e` is something else. */
bool check_as_text(struct check *c, struct expr *e);
/* args: afterwards e->args are its e->number parts, as expressions of their own. */
void check_whole(struct check *c, struct expr *e);
void check_whole_value(struct check *c, struct expr *e);
void check_retval(struct check *c, struct expr *e);

#endif
