/* Types as .note.nopal has them: two bytes, a class and a size (doc/describe-note.md). */
#ifndef NOPAL_PROBE_TYPE_CLASS_H
#define NOPAL_PROBE_TYPE_CLASS_H

#include "ctype/ctype.h"

/* The two bytes of a type that an argument has on a machine. Class "bytes" and size 0 stand for one
 * whose size is not known. */
struct type_class {
	uint8_t type_class; /* with bit 7 for signed values */
	uint8_t size;	    /* bytes; 0: not known */
};

struct type_class type_class_of(const struct ctype *t, const struct ctype_machine *m);

#endif
