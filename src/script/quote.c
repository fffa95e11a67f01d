/* Parts of a probe, written so that a script reads them as they are, and that no untrusted byte
 * reaches a terminal. */
#include "base/utf8.h"
#include "script/script.h"

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("_-+./@%=~^", c));
}

static bool is_plain_text(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_plain(s.ptr[i]))
			return false;
	/* Two slashes begin a comment in a script. */
	return !memmem(s.ptr, s.len, "//", 2);
}

void script_quote(struct str part, struct buf *out)
{
	if (is_plain_text(part)) {
		buf_str(out, part);
		return;
	}
	buf_char(out, '"');
	for (size_t i = 0; i < part.len;) {
		size_t run = utf8_printable(str_of(part.ptr + i, part.len - i));

		if (!run) {
			buf_printf(out, "\\x%02x", (unsigned char)part.ptr[i++]);
			continue;
		}
		for (; run; run--, i++) {
			if (part.ptr[i] == '"' || part.ptr[i] == '\\')
				buf_char(out, '\\');
			buf_char(out, part.ptr[i]);
		}
	}
	buf_char(out, '"');
}
