/* Types of the tree.
 *
 * A clause is compiled once for each kind of attachment it has (a variant): check_variant() types
 * the tree for these attachments. Types of maps and variables grow from check to check; code is
 * made when they have stopped growing. */
#ifndef NOPAL_SCRIPT_CHECK_H
#define NOPAL_SCRIPT_CHECK_H

#include "script/check/variant.h"
#include "script/parse/script_state.h"

/* The state of one check. Passes with d NULL are quiet: they find types, the last one speaks. The
 * first error of a statement stays in `err`: what is checked after it in the statement is neither
 * typed nor reported, so that only what changes a type or follows a pointer needs to ask. */
struct check {
	struct script *s;
	struct variant *v;
	struct diag *d;
	int err;
	unsigned pass; /* from 1 */
	unsigned block_depth, loop_depth;
	bool changed;  /* a type has grown: check again */
	bool is_asked; /* for its type only: what is looked at never runs */
};

/* Type the whole clause for the attachments of `v`. -EINVAL after all its errors were reported. */
int check_variant(struct check *c, struct variant *v);
void check_expr(struct check *c, struct expr *e);
/* ... of an expression that never runs, as in sizeof */
void check_asked(struct check *c, struct expr *e);
/* if comptime (...): is the branch for `when` left out, neither looked at nor compiled? */
bool stmt_skips(const struct stmt *s, bool when);
/* ... the same of if comptime as a value */
bool ternary_skips(const struct expr *e, bool when);
/* `e` must be an integer; `what` says of what in the message. */
void check_int(struct check *c, const struct expr *e, const char *what);
/* Type `e`, which must be an integer. */
void check_number(struct check *c, struct expr *e, const char *what);
/* A text in quotes, of at most `most` bytes. */
void check_string(struct check *c, struct expr *e, size_t most);
/* What an if, while, ?: or a predicate asks for. */
void check_condition(struct check *c, struct expr *e);
/* `e` must have a value that can be kept or sent. */
void check_storable(struct check *c, struct expr *e, const char *what);
/* $x = value: the first assignment fixes the type; `mark` is the text of the assignment. */
void check_assign_variable(struct check *c, struct expr *target, struct expr *value,
			   struct mark mark);
bool expr_is_int(const struct expr *e);
bool expr_is_text(const struct expr *e);
/* Nothing when there is an error already. */
void check_error(struct check *c, const struct expr *e, const char *tag, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The script uses what a setting with this value may refuse. */
void check_unstable(struct check *c, const struct expr *e, const char *setting, const char *value);
/* (b=2, a=1), a value of its own, takes the order that the names have in `known`. */
void check_reorder(struct check *c, struct expr *e, const struct type *known);
/* The map's element or variable is computed in place, which gives a signed or unsigned number. */
void check_in_place(struct check *c, struct expr *target, bool is_signed);
/* $x of a macro is "x.3" inside; the script has "x". */
struct str variable_name(struct str name);
struct variable *check_find_variable(const struct check *c, struct str name);

/* &$v, &@m: a function that takes bytes gets those of the value. */
void check_refer(struct check *c, struct expr *e);
/* An expression that is not in the text, at the place of `like`; NULL: c->err is
 * -ENOMEM. */
struct expr *new_constant(struct check *c, const struct expr *like, struct expr constant);
void check_task(struct check *c, struct expr *e); /* curtask */
/* Do the values that it has lead to kernel memory? */
bool check_is_kernel_probe(const struct probe_spec *s);
/* Statements that were checked: each print(@m) that a clear(@m) or zero(@m) follows takes the map,
 * so that the two are one step (enum format_take). */
void pair_takes(struct stmt *body);
/* warnings.c: once all types are found; the first variant of each clause */
void warnings_find(const struct script *s, struct variant *const *first, struct diag *d);

#endif
