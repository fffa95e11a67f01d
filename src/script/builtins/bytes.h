/* The bytes of values: buf(array), buf(text, n), str(text, n). */
#ifndef NOPAL_SCRIPT_BYTES_H
#define NOPAL_SCRIPT_BYTES_H

#include "script/parse/tree.h"

struct check;
struct lower;

/* Is it an array in memory, and of how many bytes? */
bool check_is_array(struct check *c, const struct expr *e, uint64_t *bytes);
/* buf() of an array's or text's value; false: it is neither. */
bool check_value_bytes(struct check *c, struct expr *e);

/* str(text, n), where the text is none that is in the script. */
void check_shortened(struct check *c, struct expr *e);
void lower_value_bytes(struct lower *l, const struct expr *e, uint16_t out);
void lower_shortened(struct lower *l, const struct expr *e, uint16_t out);

#endif
