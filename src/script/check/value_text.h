/* The text of a value that is kept as a number: strerror(n), and probe. */
#ifndef NOPAL_SCRIPT_VALUE_TEXT_H
#define NOPAL_SCRIPT_VALUE_TEXT_H

#include "script/check/variant.h"
#include "script/parse/script_state.h"

struct check;

/* A value that is kept as a number becomes its text, where a text is wanted. False: it has none
 * that is known here. */
bool check_enum_text(struct check *c, struct expr *e);
/* Such a cast: its type. */
bool check_enum_text_cast(struct check *c, struct expr *e);

/* Are these the names of places, of which a clause knows its own? */
bool expr_is_place_name(const struct expr *e);
/* The number of the name at this place. */
uint32_t place_name_at(const struct expr *e, const struct attachment *p);
/* How many texts there may be; 0: the value is of another kind. */
unsigned value_text_count(const struct variant *v, const struct expr *e);
/* One of them, by its place in their order; it lives in the arena. */
struct str value_text_at(struct script *s, const struct variant *v, const struct expr *e,
			 unsigned i);

#endif
