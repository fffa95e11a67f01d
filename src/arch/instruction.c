/* Walking over code by the lengths of its instructions; finding nops by a CPU's table. */
#include "arch/instruction.h"

#include <errno.h>

unsigned length_within(struct str code, unsigned length)
{
	return length <= code.len ? length : 0;
}

unsigned word_length(struct str code)
{
	return length_within(code, 4);
}

unsigned instruction_length(const struct arch *arch, struct str code)
{
	return arch->length(code);
}

unsigned instruction_nop(const struct arch *arch, struct str code)
{
	for (const struct str *nop = arch->nops; nop->len; nop++)
		if (str_starts(code, *nop))
			return (unsigned)nop->len;
	return 0;
}

int instruction_walk(const struct arch *arch, struct str code, size_t target, size_t *start)
{
	size_t at = 0, last = 0;

	while (at < target) {
		unsigned length = instruction_length(arch, str_of(code.ptr + at, code.len - at));

		last = at;
		if (!length) {
			*start = at;
			return -EILSEQ;
		}
		at += length;
	}
	*start = at == target ? at : last;
	return 0;
}
