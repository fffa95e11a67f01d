/* The kinds of expressions: each function types one kind whose parts are not typed yet;
 * check_expr() calls the right one. */
#ifndef NOPAL_SCRIPT_EXPR_KINDS_H
#define NOPAL_SCRIPT_EXPR_KINDS_H

#include "script/parse/tree.h"

struct check;

void check_variable(struct check *c, struct expr *e); /* $x */
void check_counted(struct check *c, struct expr *e);  /* $x of $x++ and $x += n: a number */
void check_unary(struct check *c, struct expr *e);    /* -a */
void check_binary(struct check *c, struct expr *e);   /* a + b */
/* Is what the operation gives of the two a signed number? */
bool operator_gives_signed(enum operator op, const struct expr *a, const struct expr *b);
void check_step(struct check *c, struct expr *e);	      /* a++ */
void check_ternary(struct check *c, struct expr *e);	      /* a ? b : c */
void check_load(struct check *c, struct expr *e);	      /* *p, its operand typed */
void check_address(struct check *c, struct expr *e);	      /* &p->x */
void check_block(struct check *c, struct expr *e);	      /* { a; b } */
void check_index(struct check *c, struct expr *e);	      /* p[n] */
void check_member(struct check *c, struct expr *e);	      /* p->x */
void check_cast(struct check *c, struct expr *e);	      /* (int32)a */
struct type check_typeof(struct check *c, struct expr *like); /* typeof(like) */
void check_sizeof(struct check *c, struct expr *e);	      /* sizeof(struct conn) */
void check_offsetof(struct check *c, struct expr *e);	      /* offsetof(struct conn, fd) */
bool check_constant(struct check *c, struct expr *e);	      /* RED, true; false: it is none */
void check_call(struct check *c, struct expr *e);	      /* f(a), and builtin names: pid */
void check_field(struct check *c, struct expr *e);	      /* args.x */

#endif
