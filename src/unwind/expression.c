/* The expressions of a stack machine (DWARF 5, 2.5). Compilers, linkers and the C library write
 * three: a register plus an offset, the word stored there, and the one of the PLT. */
#include "unwind/inside.h"

/* clang-format off */
enum {
	DO_LOAD  = 0x06,
	DO_AND   = 0x1a, DO_PLUS = 0x22, DO_PLUS_CONST = 0x23, DO_SHL = 0x24, DO_GE = 0x2a,
	DO_NUMBER = 0x30, /* to 0x4f: the number itself, 0 to 31 */
	DO_REG    = 0x70, /* to 0x8f: register 0 to 31, plus an offset */
	DO_REGX   = 0x92,
};
/* clang-format on */

bool expression_simple(struct str code, bool big_endian, struct simple *out)
{
	struct cursor c = cursor_of(code.ptr, code.len, big_endian);
	struct simple s = {0};
	uint64_t more = 0;
	uint8_t op;

	if (!cursor_u8(&c, &op))
		return false;
	if (op == DO_REGX ? !cursor_uleb(&c, &s.reg) : op < DO_REG || op >= DO_REG + 32)
		return false;
	if (op != DO_REGX)
		s.reg = op - DO_REG;
	if (!cursor_sleb(&c, &s.offset))
		return false;
	if (cursor_left(&c)) {
		if (!cursor_u8(&c, &op) || op != DO_LOAD)
			return false;
		s.is_loaded = true;
	}
	if (cursor_left(&c) &&
	    (!cursor_u8(&c, &op) || op != DO_PLUS_CONST || !cursor_uleb(&c, &more) || more > 64))
		return false;
	s.more = (int64_t)more;
	*out = s;
	return !cursor_left(&c);
}

bool expression_plt(struct str code, const struct unwind_cpu *cpu, uint8_t *n)
{
	/* clang-format off */
	const uint8_t wanted[] = {
		DO_REG + cpu->sp, 8, DO_REG + cpu->ra, 0, DO_NUMBER + 15, DO_AND,
		0 /* DO_NUMBER + n */, DO_GE, DO_NUMBER + 3, DO_SHL, DO_PLUS,
	};
	/* clang-format on */
	const uint8_t *is = (const uint8_t *)code.ptr;

	if (cpu->ra > 31 || code.len != sizeof(wanted))
		return false;
	for (size_t i = 0; i < sizeof(wanted); i++)
		if (is[i] != wanted[i] && wanted[i])
			return false;
		else if (!wanted[i] && i != 6 && is[i])
			return false;
	if (is[6] < DO_NUMBER || is[6] > DO_NUMBER + 15)
		return false;
	*n = is[6] - DO_NUMBER;
	return true;
}
