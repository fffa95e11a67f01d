/* The type rules (check_*) and lowerings (lower_*) that rows of builtins.c name. */
#ifndef NOPAL_SCRIPT_VALUES_H
#define NOPAL_SCRIPT_VALUES_H

#include "script/builtins.h"

/* values.c */
int check_number(struct check *c, struct expr *e);
int check_comm(struct check *c, struct expr *e);
int check_func(struct check *c, struct expr *e);
int check_name(struct check *c, struct expr *e);
int check_nsecs(struct check *c, struct expr *e);
int check_arg_n(struct check *c, struct expr *e);
int check_retval(struct check *c, struct expr *e);
int check_reg(struct check *c, struct expr *e);
int check_stack(struct check *c, struct expr *e);
int check_field_value(struct check *c, struct expr *e);
/* Do the probes of the clause have fields: args.x? */
int check_has_fields(struct check *c, const struct expr *e);
/* Why argument n of the place cannot be read; NULL: it can. */
const char *place_unreadable(const struct place *p, unsigned n);
/* Can argument `n` be read at this place? */
int check_readable(struct check *c, const struct expr *e, const struct place *p, unsigned n);
void lower_builtin(struct lower *l, const struct expr *e, uint16_t out);
void lower_comm(struct lower *l, const struct expr *e, uint16_t out);
void lower_arg_n(struct lower *l, const struct expr *e, uint16_t out);
void lower_retval(struct lower *l, const struct expr *e, uint16_t out);
void lower_reg_call(struct lower *l, const struct expr *e, uint16_t out);
void lower_stack(struct lower *l, const struct expr *e, uint16_t out);
void lower_field_value(struct lower *l, const struct expr *e, uint16_t out);

/* texts.c */
int check_str(struct check *c, struct expr *e);
int check_buf(struct check *c, struct expr *e);
int check_symbol(struct check *c, struct expr *e);
int check_strftime(struct check *c, struct expr *e);
int check_strncmp(struct check *c, struct expr *e);
void lower_str(struct lower *l, const struct expr *e, uint16_t out);
void lower_buf(struct lower *l, const struct expr *e, uint16_t out);
void lower_symbol(struct lower *l, const struct expr *e, uint16_t out);
void lower_strftime(struct lower *l, const struct expr *e, uint16_t out);
void lower_strncmp(struct lower *l, const struct expr *e, uint16_t out);

/* maps.c */
int check_aggregate(struct check *c, struct expr *e);
int check_hist(struct check *c, struct expr *e);
int check_lhist(struct check *c, struct expr *e);
int check_whole_map(struct check *c, struct expr *e);
int check_delete(struct check *c, struct expr *e);
int check_has_key(struct check *c, struct expr *e);
void lower_whole_map(struct lower *l, const struct expr *e, uint16_t out);
void lower_delete(struct lower *l, const struct expr *e, uint16_t out);
void lower_has_key(struct lower *l, const struct expr *e, uint16_t out);

/* printf.c: printf, cat, system */
bool printf_wants_float(struct str format, unsigned value); /* is that value's specifier %f? */
int check_printf(struct check *c, struct expr *e);
void lower_printf(struct lower *l, const struct expr *e, uint16_t out);

/* output.c */
int check_print(struct check *c, struct expr *e);
int check_statement(struct check *c, struct expr *e);
void lower_print(struct lower *l, const struct expr *e, uint16_t out);
void lower_join(struct lower *l, const struct expr *e, uint16_t out);
void lower_time(struct lower *l, const struct expr *e, uint16_t out);
void lower_exit(struct lower *l, const struct expr *e, uint16_t out);

#endif
