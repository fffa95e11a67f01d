/* The grammar is that of scripts: parts between colons, of plain bytes and "strings". */
#include "api/pattern.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_PARTS 4

/* The escape after a backslash: one byte to `out`; bytes used. */
static size_t read_escape(struct str rest, struct buf *out)
{
	static const char names[128] = {['n'] = '\n', ['t'] = '\t', ['r'] = '\r'};
	unsigned char c = rest.len ? (unsigned char)*rest.ptr : '\\';

	if (c == 'x' && rest.len >= 3 && hex_digit(rest.ptr[1]) < 16 &&
	    hex_digit(rest.ptr[2]) < 16) {
		buf_char(out, (char)(hex_digit(rest.ptr[1]) << 4 | hex_digit(rest.ptr[2])));
		return 3;
	}
	buf_char(out, c < 128 && names[c] ? names[c] : (char)c);
	return rest.len ? 1 : 0;
}

/* part = ( "string" | any byte but : )* ; returns the bytes read, or -EINVAL. */
static ssize_t read_part(struct str text, struct buf *out)
{
	bool quoted = false;
	size_t i = 0;

	while (i < text.len && (quoted || text.ptr[i] != ':')) {
		char c = text.ptr[i++];

		if (c == '"')
			quoted = !quoted;
		else if (quoted && c == '\\')
			i += read_escape(str_of(text.ptr + i, text.len - i), out);
		else
			buf_char(out, c);
	}
	return quoted ? -EINVAL : (ssize_t)i;
}

static int bad(struct diag *d, struct str text, const char *what)
{
	struct buf safe = BUF_INIT;

	buf_escaped(&safe, text);
	diag_error(d, -EINVAL, "bad-pattern", "'%.*s' is not a probe pattern: %s",
		   STR_FMT(buf_as_str(&safe)), what);
	diag_hint(d, "write usdt:PATH:PROVIDER:NAME; * matches any text");
	buf_free(&safe);
	return -EINVAL;
}

static int read_parts(struct str text, struct arena *a, struct str *parts, unsigned *count)
{
	struct buf part = BUF_INIT;
	int err = 0;

	for (*count = 0; !err;) {
		ssize_t used = read_part(text, &part);

		if (used < 0 || *count == MAX_PARTS)
			err = used < 0 ? -EINVAL : -E2BIG;
		else
			parts[(*count)++] = arena_str(a, buf_as_str(&part));
		if (err || (size_t)used == text.len)
			break;
		text = str_of(text.ptr + used + 1, text.len - (size_t)used - 1);
		buf_clear(&part);
	}
	buf_free(&part);
	return err;
}

int pattern_parse(struct str text, struct arena *a, struct find_query *out, struct diag *d)
{
	struct str parts[MAX_PARTS], body = text;
	unsigned count;
	int err;

	if (str_starts(body, STR("usdt:")) || str_starts(body, STR("U:")))
		str_cut(&body, ':');
	err = read_parts(body, a, parts, &count);
	if (err == -EINVAL)
		return bad(d, text, "unterminated quote");
	if (err || count > 3)
		return bad(d, text, "too many ':' (put \"quotes\" around a path that has one)");
	for (unsigned i = 0; i < count; i++)
		if (!parts[i].ptr)
			return -ENOMEM;
	*out = (struct find_query){.path = parts[0]};
	if (count == 3)
		out->provider = parts[1];
	if (count > 1)
		out->name = parts[count - 1];
	return 0;
}
