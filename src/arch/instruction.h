/* Where instructions begin, and which of them are nops: what is looked at before a probe goes into
 * somebody's code. Nothing here reads outside the bytes it is given. */
#ifndef NOPAL_ARCH_INSTRUCTION_H
#define NOPAL_ARCH_INSTRUCTION_H

#include "arch/arch.h"

#define INSTRUCTION_LONGEST 15 /* bytes, on any CPU */

/* Bytes of the first instruction of `code`; 0: it is not known, or goes on past the end. */
unsigned instruction_length(const struct arch *arch, struct str code);
/* Bytes of the nop that `code` begins with; 0: it begins with none. */
unsigned instruction_nop(const struct arch *arch, struct str code);
/* Walk over `code` from its first instruction, until one begins at or after `target`. *start is
 * where the last one looked at begins: `target` itself, or the instruction that has `target` in its
 * middle. -EILSEQ: no instruction is known at *start. */
int instruction_walk(const struct arch *arch, struct str code, size_t target, size_t *start);

/* For the tables of CPUs: `length` when that many bytes are in `code`, else 0. */
unsigned length_within(struct str code, unsigned length);
/* Of CPUs all of whose instructions have 4 bytes. */
unsigned word_length(struct str code);

#endif
