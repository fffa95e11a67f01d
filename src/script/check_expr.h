/* The kinds of expressions: what the files that type them (check_*.c) share. Each function here
 * types one kind whose parts are not typed yet; check_expr() calls the right one. */
#ifndef NOPAL_SCRIPT_CHECK_EXPR_H
#define NOPAL_SCRIPT_CHECK_EXPR_H

#include "script/compile.h"

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
