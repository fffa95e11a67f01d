/* Lines and inlined functions of addresses in files, found once for each address and kept, up to a
 * limit. */
#ifndef NOPAL_SYMBOLS_SOURCES_H
#define NOPAL_SYMBOLS_SOURCES_H

#include "base/hash.h"
#include "debuginfo/debuginfo.h"
#include "symbols/demangle.h"
#include "symbols/symbols.h"

struct sources {
	struct arena arena; /* the texts */
	struct known_address *known;
	size_t count, cap;
	struct hash by_address; /* indexes of `known` */
};

void sources_free(struct sources *s);
/* What the debug information of a file says of a link-time address; *count 0: nothing. Valid until
 * the next call. */
void sources_at(struct sources *s, struct debuginfo *di, uint64_t address, enum demangle_form form,
		const struct symbols_source **out, unsigned *count);

#endif
