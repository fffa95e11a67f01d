/* Types as .note.nopal has them: two bytes, a class and a size (doc/describe-note.md). */
#ifndef NOPAL_PROBE_TYPE_CLASS_H
#define NOPAL_PROBE_TYPE_CLASS_H

#include "ctype/ctype.h"

struct type_class {
	uint8_t type_class; /* with bit 7 for signed values */
	uint8_t size;	    /* bytes; 0: not known, or 100 and more */
};

/* Of a type that an argument has on a machine; class "bytes" and size 0 when that is not known. */
struct type_class type_class_of(const struct ctype *t, const struct ctype_machine *m);
/* "bytes", "unsigned", … as `nopal list` and the library name it. */
const char *type_class_name(struct type_class c);

/* The types of all classes met so far: they live in `kept`, the table itself in `arena`. */
struct class_types {
	struct arena *arena, *kept;
	const struct ctype **rows[256]; /* by class, then by size */
};

/* The type that has such a class, NULL when that says nothing. -ENOMEM. */
int class_type(struct class_types *types, struct type_class c, const struct ctype **out);

#endif
