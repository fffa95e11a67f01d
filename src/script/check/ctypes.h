/* What a C type is to a script (check_ctype.c). */
#ifndef NOPAL_SCRIPT_CTYPES_H
#define NOPAL_SCRIPT_CTYPES_H

#include "script/parse/tree.h"

struct check;

/* What a type is after all: no typedef, and no declaration when the definition is known. Its
 * members are read. */
const struct ctype *check_ctype(struct check *c, const struct ctype *t);
/* Of what check_ctype() gave: is there a definition? */
bool check_ctype_known(const struct ctype *t);
void check_unknown_type(struct check *c, const struct expr *e, const struct ctype *t);
/* Bytes; 0: not known. Of void 1, as gcc counts. */
uint64_t check_ctype_size(struct check *c, const struct ctype *t);
/* How a value of this type is computed and shown; NONE for structs, and for arrays of anything but
 * characters, which have a value only when they are settled. */
struct type check_value_type(struct check *c, const struct ctype *t);
/* `count` elements as one value. */
struct type check_array_of(struct check *c, const struct type *element, unsigned count);
/* A struct or array in memory becomes a value: all of it is read, into a tuple. */
void check_settle(struct check *c, struct expr *e);
/* The type of such a value; `e` is for messages. */
struct type check_whole_type(struct check *c, const struct expr *e, const struct ctype *t);
const struct ctype *check_pointer_to(struct check *c, const struct ctype *to);
/* What a pointer points to; NULL: it is none. */
const struct ctype *type_target(const struct type *t);
/* Do both point, but to values of other types? */
bool type_points_elsewhere(const struct type *a, const struct type *b);
bool ctype_is_composite(const struct ctype *t); /* a struct or union */

#endif
