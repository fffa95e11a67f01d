/* Types of values: what shapes there are, how wide they are and what they become when one is stored
 * in another (check_type.c). */
#ifndef NOPAL_SCRIPT_VALUE_TYPE_H
#define NOPAL_SCRIPT_VALUE_TYPE_H

#include "script/parse/tree.h"

struct check;

struct shape shape_int(bool is_signed); /* 8 bytes */
struct shape shape_bool(void);
struct shape shape_of(struct type t);
struct shape shape_open(void);
bool type_is_word(const struct type *t); /* lives in a register */
/* Has it the sign of what it meets? So have constants that are not negative, and bools. */
bool type_is_flexible(const struct type *t);
/* The bytes of a number that are shown, which are those that it needs. */
unsigned type_shown_bytes(const struct type *t);
/* A string or buffer of at least `bytes` bytes. */
struct type type_text(enum type_kind kind, uint64_t bytes);
uint32_t type_capacity(const struct type *t); /* what sizeof() says of a text */
/* pct() reads it: it keeps more bits than it shows, from its first value on. False: it did. */
bool type_refine(struct type *histogram);
/* Is the type string, or string[16]? */
bool check_named_text(const struct ctype *t, struct type *out);
/* In a clause without attachments: may `e` be of any type yet? */
bool check_is_open(const struct check *c, const struct expr *e);
/* "string[16]" for messages; lives in the script's arena. */
const char *check_type_text(const struct check *c, const struct type *t);
/* Let strings that `e` takes from variables and maps be as large as `t` says. */
void check_widen(struct check *c, struct expr *e, const struct type *t);
/* A lasting type takes in type `t`; -EINVAL when they differ in kind. */
int check_merge(struct check *c, struct type *known, const struct type *t);

#endif
