/* Arguments by name -> code (lower_named.c). */
#ifndef NOPAL_SCRIPT_NAMED_CODE_H
#define NOPAL_SCRIPT_NAMED_CODE_H

#include "script/lower/lower.h"

/* args.x, args, retval: the value goes to the register or slot `out`. */
void lower_named(struct lower *l, const struct expr *e, uint16_t out);
void lower_whole(struct lower *l, const struct expr *e, uint16_t out);
void lower_retval(struct lower *l, const struct expr *e, uint16_t out);
/* args.x that is a struct passed by value: its address; or, in registers, one of its words. */
void lower_by_value(struct lower *l, const struct expr *e, unsigned word, uint16_t out);
/* The text of args.x, which check_as_text() takes: `length` bytes (REG_NO: any number) and at most
 * `most`. */
void lower_named_text(struct lower *l, const struct expr *e, uint16_t length, uint32_t most,
		      uint16_t out);
/* Argument number n of the attachments; at a return the one of the call. */
void lower_argument(struct lower *l, unsigned n, uint16_t out);
/* A part that has no value: a text among the program's names is shown instead. */
void lower_part_note(struct lower *l, struct str text, uint16_t out);

#endif
