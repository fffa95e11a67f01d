/* Numbers of variable length (DWARF 5, 7.6). */
#include "unwind/inside.h"

/* *shift: how many bits there were, at most 64. */
static bool read_leb(struct cursor *c, uint64_t *out, unsigned *shift, bool *is_negative)
{
	uint64_t value = 0;
	uint8_t byte;

	*shift = 0;
	do {
		if (!cursor_u8(c, &byte))
			return false;
		if (*shift < 64)
			value |= (uint64_t)(byte & 0x7f) << *shift;
		*shift = *shift < 64 ? *shift + 7 : 64;
	} while (byte & 0x80);
	*is_negative = byte & 0x40;
	*out = value;
	return true;
}

bool cursor_long_uleb(struct cursor *c, uint64_t *out)
{
	bool is_negative;
	unsigned shift;

	return read_leb(c, out, &shift, &is_negative);
}

bool cursor_sleb(struct cursor *c, int64_t *out)
{
	bool is_negative;
	unsigned shift;
	uint64_t value;

	if (!read_leb(c, &value, &shift, &is_negative))
		return false;
	if (is_negative && shift < 64)
		value |= UINT64_MAX << shift;
	*out = (int64_t)value;
	return true;
}
