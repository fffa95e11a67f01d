/* The JSON writer (RFC 8259). */
#include "base/json.h"

#include "base/utf8.h"

static void separate_values(struct json *j)
{
	if (j->comma)
		buf_text(j->out, ", ");
	j->comma = true;
}

void json_open(struct json *j, char bracket)
{
	separate_values(j);
	buf_char(j->out, bracket);
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	buf_char(j->out, bracket);
	j->comma = true;
}

/* A character that is not shown as it is; a byte that is part of none counts as one. Returns the
 * bytes used up. All characters that come here have at most 16 bits. */
static size_t add_escaped(struct buf *out, struct str s)
{
	static const char names[128] = {
		['\n'] = 'n', ['\t'] = 't', ['\r'] = 'r', ['\b'] = 'b', ['\f'] = 'f'};
	uint32_t code = (unsigned char)s.ptr[0];
	size_t len = utf8_decode(s, &code);

	if (code < 128 && names[code])
		buf_printf(out, "\\%c", names[code]);
	else
		buf_printf(out, "\\u%04x", (unsigned)code);
	return len ? len : 1;
}

static void add_quoted(struct buf *out, struct str s)
{
	size_t i = 0;

	buf_char(out, '"');
	while (i < s.len) {
		size_t run = utf8_printable(str_of(s.ptr + i, s.len - i));

		for (; run; run--, i++) {
			if (s.ptr[i] == '"' || s.ptr[i] == '\\')
				buf_char(out, '\\');
			buf_char(out, s.ptr[i]);
		}
		if (i < s.len)
			i += add_escaped(out, str_of(s.ptr + i, s.len - i));
	}
	buf_char(out, '"');
}

void json_key_str(struct json *j, struct str key)
{
	separate_values(j);
	add_quoted(j->out, key);
	buf_text(j->out, ": ");
	j->comma = false;
}

void json_key(struct json *j, const char *key)
{
	json_key_str(j, str_from(key));
}

void json_str(struct json *j, struct str s)
{
	separate_values(j);
	add_quoted(j->out, s);
}

void json_text(struct json *j, const char *text)
{
	json_str(j, str_from(text));
}

void json_pair(struct json *j, const char *key, struct str s)
{
	json_key(j, key);
	json_str(j, s);
}

void json_s64(struct json *j, int64_t value)
{
	separate_values(j);
	buf_s64(j->out, value);
}

void json_u64(struct json *j, uint64_t value)
{
	separate_values(j);
	buf_u64(j->out, value);
}

void json_hex(struct json *j, uint64_t value)
{
	separate_values(j);
	buf_text(j->out, "\"0x");
	buf_hex(j->out, value);
	buf_char(j->out, '"');
}

void json_bool(struct json *j, bool value)
{
	separate_values(j);
	buf_text(j->out, value ? "true" : "false");
}
