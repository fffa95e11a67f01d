/* What the headers define that a script includes. */
#ifndef NOPAL_SCRIPT_HEADER_TYPES_H
#define NOPAL_SCRIPT_HEADER_TYPES_H

#include "script/parse/script_state.h"

/* Does the script include a header in quotes? Then it means what that defines, not the kernel. */
bool header_is_own(const struct script *s);
/* NULL: they define none of this name. */
const struct ctype *header_type(struct script *s, enum ctype_kind kind, struct str name);
/* A macro, or a constant of an enum, of which *type becomes the enum; NULL: of a macro. */
bool header_constant(struct script *s, struct str name, const struct ctype **type, int64_t *value);
/* Why the headers could not be read: a hint for what is unknown; "": they were. */
struct str header_hint(struct script *s);

#endif
