/* Reading strings in quotes. */
#include "base/quote.h"

#include <errno.h>

static char peek_byte(const struct span *at, size_t ahead)
{
	return at->at + ahead < at->source.len ? at->source.ptr[at->at + ahead] : '\0';
}

/* Up to `most` digits of an escape. */
static unsigned escape_number(struct span *at, unsigned base, int most)
{
	unsigned value = 0;

	for (int i = 0; i < most && hex_digit(peek_byte(at, 0)) < base; i++, at->at++)
		value = value * base + hex_digit(peek_byte(at, 0));
	return value;
}

/* escape = "\" ( n t r a b f v \ " ' | 1-3 octal digits | x 1-2 hex digits )
 * and in an argument, "\" with any other byte is that byte. */
static int read_escape(struct span *at, bool is_argument, struct buf *out, struct diag *d)
{
	static const char from[] = "ntrabfv\\\"'", to[] = "\n\t\r\a\b\f\v\\\"'";
	struct span start = *at;
	char c = peek_byte(at, 1);
	const char *known = c ? strchr(from, c) : NULL;

	at->at++;
	if (hex_digit(c) < 8) {
		unsigned value = escape_number(at, 8, 3);

		start.len = at->at - start.at;
		if (value > 0xff && !is_argument)
			return diag_error_at(d, -EINVAL, "bad-escape", start,
					     "'\\%o' is more than a byte: the last is '\\377'",
					     value);
		buf_char(out, (char)(value & 0xff));
		return 0;
	}
	if (at->at < at->source.len)
		at->at++;
	if (known) {
		buf_char(out, to[known - from]);
	} else if (c == 'x' && hex_digit(peek_byte(at, 0)) < 16) {
		buf_char(out, (char)escape_number(at, 16, 2));
	} else if (is_argument) {
		buf_char(out, c);
	} else {
		start.len = 2;
		return diag_error_at(d, -EINVAL, "bad-escape", start, "unknown escape '\\%c'",
				     c >= ' ' && c <= '~' ? c : '?');
	}
	return 0;
}

int quote_read(struct span *at, bool is_argument, struct buf *out, struct diag *d)
{
	struct span start = *at;

	for (at->at++; at->at < at->source.len && (is_argument || peek_byte(at, 0) != '\n');) {
		char c = peek_byte(at, 0);

		if (c == '\\') {
			if (read_escape(at, is_argument, out, d))
				return -EINVAL;
			continue;
		}
		at->at++;
		if (c == '"')
			return 0;
		buf_char(out, c);
	}
	start.len = at->at - start.at;
	return diag_error_at(d, -EINVAL, "open-string", start, "unterminated string");
}
