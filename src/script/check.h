/* Types of the tree: what the files that check a clause share. A clause is compiled once for each
 * kind of place it has (a variant): check_variant types the tree for these places. Types of maps
 * and variables grow from check to check; code is made (lower.h) when they have stopped growing. */
#ifndef NOPAL_SCRIPT_CHECK_H
#define NOPAL_SCRIPT_CHECK_H

#include "script/inside.h"

/* The state of one check. Passes with d NULL are quiet: they find types, the last one speaks. */
struct check {
	struct script *s;
	struct variant *v;
	struct diag *d;
	unsigned pass; /* from 1 */
	unsigned block_depth, loop_depth;
	bool is_repeated; /* another variant of the clause was checked: warnings are known */
	bool changed;	  /* a type has grown: check again */
};

/* Type the whole clause for the places of `v`. -EINVAL after all its errors were reported. */
int check_variant(struct check *c, struct variant *v);
int check_expr(struct check *c, struct expr *e);
/* `e` must be an integer; `what` says of what in the message. */
int check_int(struct check *c, const struct expr *e, const char *what);
/* `e` must have a value that can be kept or sent. */
int check_storable(struct check *c, const struct expr *e, const char *what);
int check_error(const struct check *c, const struct expr *e, const char *tag, const char *format,
		...) __attribute__((format(printf, 4, 5)));
/* "string[16]" for messages; lives in the script's arena. */
const char *check_type_text(const struct check *c, const struct type *t);
/* Let strings that `e` takes from variables and maps be as large as `t` says. */
void check_widen(struct check *c, struct expr *e, const struct type *t);
/* A lasting type takes in type `t`; -EINVAL when they differ in kind. */
int check_merge(struct check *c, struct type *known, const struct type *t);
/* The map of this name, made when it is new; NULL without memory. */
struct map *check_map(struct check *c, struct str name);
/* The keys of @m[...]. */
int check_map_key(struct check *c, struct expr *e);
struct variable *check_find_variable(const struct check *c, struct str name);
struct shape shape_int(bool is_signed); /* 8 bytes */
struct shape shape_of(struct type t);
struct shape shape_open(void);
/* In a clause without places: may `e` be of any type yet? */
bool check_is_open(const struct check *c, const struct expr *e);
/* A string or buffer of at least so many bytes. */
struct type type_text(enum type_kind kind, uint64_t bytes);

/* The kinds of expressions: each types one kind whose parts are not typed yet; check_expr() calls
 * the right one. */
bool expr_is_int(const struct expr *e);
bool expr_is_text(const struct expr *e);

int check_variable(struct check *c, struct expr *e); /* $x */
int check_map_read(struct check *c, struct expr *e); /* @m[key] */

int check_unary(struct check *c, struct expr *e);   /* -a */
int check_binary(struct check *c, struct expr *e);  /* a + b */
int check_index(struct check *c, struct expr *e);   /* p[n] */
int check_step(struct check *c, struct expr *e);    /* a++ */
int check_cast(struct check *c, struct expr *e);    /* (int32)a */
int check_ternary(struct check *c, struct expr *e); /* a ? b : c */

int check_call(struct check *c, struct expr *e);  /* f(a), and builtin names: pid */
int check_field(struct check *c, struct expr *e); /* args.x */

#endif
