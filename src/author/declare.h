/* How a probe was declared, as a note for the program: doc/describe-note.md, type 3. */
#ifndef NOPAL_AUTHOR_DECLARE_H
#define NOPAL_AUTHOR_DECLARE_H

#include "provider/provider.h"
#include "elf/write.h"

/* Append the note of one probe for programs of machine `m`. */
void declare_probe(const struct provider_probe *probe, const struct elf_machine *m,
		   struct buf *notes);

#endif
