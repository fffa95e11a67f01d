/* A decoder for one code point (RFC 3629), and the run of printable ones. */
#include "base/utf8.h"

size_t utf8_decode(struct str s, uint32_t *out)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = s.len ? (unsigned char)s.ptr[0] : 0xff;
	size_t len = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	uint32_t code = len < 2 ? first : first & (0x7fu >> len);

	if (!len || len > s.len || first > 0xf4)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if (((unsigned char)s.ptr[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | ((unsigned char)s.ptr[i] & 0x3f);
	}
	if (code < smallest[len] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	*out = code;
	return len;
}

/* Controls, and the marks that reorder what a terminal shows. */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

size_t utf8_printable(struct str s)
{
	size_t at = 0;

	while (at < s.len) {
		uint32_t code;
		size_t len;

		if (s.ptr[at] >= ' ' && s.ptr[at] <= '~') { /* most text is */
			at++;
			continue;
		}
		len = utf8_decode(str_of(s.ptr + at, s.len - at), &code);
		if (!len || is_control(code))
			break;
		at += len;
	}
	return at;
}
