/* Compressed sections: those with SHF_COMPRESSED, and the older .zdebug_*. */
#ifndef NOPAL_ELF_COMPRESSED_H
#define NOPAL_ELF_COMPRESSED_H

#include <gelf.h>

#include "base/budget.h"

/* Decompress a section in memory; elf_rawdata() has its content then. `gnu`: it is a .zdebug_*. 1;
 * 0: it is not compressed; -EBADMSG: it is damaged; what the budget says when it is used up. */
int section_decompress(Elf_Scn *scn, const GElf_Shdr *header, bool gnu, struct budget *budget);

#endif
