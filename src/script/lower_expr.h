/* The kinds of expressions: what the files that make their code (lower_expr.c, lower_operator.c)
 * share. `out` is the register or slot where the value goes. */
#ifndef NOPAL_SCRIPT_LOWER_EXPR_H
#define NOPAL_SCRIPT_LOWER_EXPR_H

#include "script/compile.h"

void lower_move(struct lower *l, uint16_t to, uint16_t from);
void lower_set(struct lower *l, uint16_t to, uint64_t value);

int lower_unary(struct lower *l, const struct expr *e, uint16_t out);	/* -a */
int lower_binary(struct lower *l, const struct expr *e, uint16_t out);	/* a + b */
int lower_index(struct lower *l, const struct expr *e, uint16_t out);	/* p[n] */
int lower_step(struct lower *l, const struct expr *e, uint16_t out);	/* a++; REG_NO: no value */
int lower_cast(struct lower *l, const struct expr *e, uint16_t out);	/* (int32)a */
int lower_ternary(struct lower *l, const struct expr *e, uint16_t out); /* a ? b : c */

#endif
