/* Arguments of usdt probes by their names, and `args` as a whole. */
#ifndef NOPAL_SCRIPT_NAMED_H
#define NOPAL_SCRIPT_NAMED_H

#include "script/check.h"
#include "script/lower.h"

/* Are the named arguments that the clause uses the same at both places? */
bool named_same(const struct uses *u, const struct place *a, const struct place *b);
/* args.word of a variant with usdt places. */
int check_named(struct check *c, struct expr *e);
/* argN where a float is wanted: it becomes one if it is known to be one. */
void check_as_float(struct check *c, struct expr *e);
/* ... and a hint for the error when it did not. */
void hint_no_float(struct check *c, const struct expr *e);
void lower_named(struct lower *l, const struct expr *e, uint16_t out);
/* args: afterwards e->args are its e->number parts, as expressions of their own. */
int check_whole(struct check *c, struct expr *e);
/* A part that has no value: a text among the program's names is shown instead. */
void lower_part_note(struct lower *l, struct str text, uint16_t out);

#endif
