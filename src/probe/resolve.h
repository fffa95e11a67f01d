/* Operands that name a symbol get their number here, from the symbols of the file. */
#ifndef NOPAL_PROBE_RESOLVE_H
#define NOPAL_PROBE_RESOLVE_H

#include "elf/symbols.h"
#include "probe/probe.h"

/* Reads the symbols when the first operand needs one. */
struct resolver {
	const struct image *image;
	const struct arch *arch;
	struct str path, root; /* for symtab_read */
	struct symtab *symbols;
	bool tried;
};

/* Resolve one operand of the site at `location`; it becomes OPERAND_BAD when it has no certain
 * number. */
void resolver_run(struct resolver *r, uint64_t location, struct operand *o);
void resolver_close(struct resolver *r);

#endif
