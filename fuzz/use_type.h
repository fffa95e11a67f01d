/* Everything that is done with a type, for fuzz targets that read types. */
#ifndef NOPAL_FUZZ_USE_TYPE_H
#define NOPAL_FUZZ_USE_TYPE_H

#include <stdlib.h>

#include "ctype/ctype.h"

static void use_type(const struct ctype *t, struct str name)
{
	struct ctype_machine m = {.word = 8, .is_known = true, .most_align = 16};
	struct ctype_member member;
	struct buf text = BUF_INIT;

	ctype_complete(t);
	ctype_print_definition(&text, t);
	ctype_member(t, name, &member);
	ctype_layout(t, &m);
	if (!ctype_same(t, t))
		abort();
	for (unsigned i = 0; i < t->member_count; i++)
		if (t->members[i].bit_width &&
		    t->members[i].bit_offset + t->members[i].bit_width > 64)
			abort();
	buf_free(&text);
}

#endif
