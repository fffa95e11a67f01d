/* Any bytes as a name of a linker: what it becomes is bounded, and names of other kinds stay. */
#include <stdlib.h>

#include "symbols/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct str name = str_of((const char *)bytes, len);

	for (int form = DEMANGLE_WHOLE; form <= DEMANGLE_NOT; form++) {
		struct buf out = BUF_INIT;

		demangle(name, form, &out);
		if (out.len > len + 8192)
			abort();
		if ((!len || bytes[0] != '_' || form == DEMANGLE_NOT) &&
		    !str_eq(buf_as_str(&out), name))
			abort();
		buf_free(&out);
	}
	return 0;
}
