/* Walking over code; the lengths of CPUs that say them in their first bits. */
#include "arch/instruction.h"

#include <errno.h>

static unsigned char byte_at(struct str code, size_t at)
{
	return (unsigned char)code.ptr[at];
}

/* `length`, when that many bytes are there. */
static unsigned within(struct str code, unsigned length)
{
	return length <= code.len ? length : 0;
}

unsigned word_length(struct str code)
{
	return within(code, 4);
}

/* Power ISA 3.1, 1.6: primary opcode 1 is a prefix. */
unsigned ppc64le_length(struct str code)
{
	if (code.len < 4)
		return 0;
	return within(code, byte_at(code, 3) >> 2 == 1 ? 8 : 4);
}

/* RISC-V unprivileged ISA, 1.5; longer forms than 8 bytes are reserved. */
unsigned riscv_length(struct str code)
{
	unsigned char low = code.len ? byte_at(code, 0) : 0;

	if ((low & 0x03) != 0x03)
		return within(code, 2);
	if ((low & 0x1f) != 0x1f)
		return within(code, 4);
	if ((low & 0x3f) == 0x1f)
		return within(code, 6);
	return (low & 0x7f) == 0x3f ? within(code, 8) : 0;
}

/* z/Architecture Principles of Operation, chapter 5, "Instruction formats". */
unsigned s390x_length(struct str code)
{
	static const unsigned char lengths[] = {2, 4, 4, 6};

	return code.len ? within(code, lengths[byte_at(code, 0) >> 6]) : 0;
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
