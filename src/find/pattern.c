/* Reading and writing probe patterns. */
#include "find/pattern.h"

#include <errno.h>

#include "base/quote.h"
#include "base/utf8.h"

static bool is_plain(char c, const struct pattern_script *script, bool in_path)
{
	if (c == ':' || c == '"')
		return false;
	return !script || !c || !strchr(",;{}/ \t\r\n", c) || (c == '/' && in_path);
}

static bool at_byte(const struct span *at, char c)
{
	return at->at < at->source.len && at->source.ptr[at->at] == c;
}

/* plain bytes, as many as there are */
static int read_plain(struct span *at, const struct pattern_script *script, bool in_path,
		      struct buf *out)
{
	struct span bytes = *at;

	while (at->at < at->source.len && is_plain(at->source.ptr[at->at], script, in_path))
		at->at++;
	bytes.len = at->at - bytes.at;
	if (script && bytes.len)
		return script->plain(script->arg, bytes, out);
	buf_add(out, bytes.source.ptr + bytes.at, bytes.len);
	return 0;
}

/* part = ( string | plain byte )* */
static int read_part(struct span *at, const struct pattern_script *script, bool in_path,
		     struct buf *out, struct diag *d)
{
	int err = read_plain(at, script, in_path, out);

	while (!err && at_byte(at, '"')) {
		err = quote_read(at, !script, out, d);
		if (!err)
			err = read_plain(at, script, in_path, out);
	}
	return err;
}

/* pattern = part ( ":" part )* */
int pattern_read(struct span *at, const struct pattern_script *script, struct arena *a,
		 struct pattern *out, struct diag *d)
{
	const char *start = at->source.ptr + at->at, *end = start;
	struct buf text = BUF_INIT;
	int err = 0;

	*out = (struct pattern){.count = 0};
	while (!err && out->count < PATTERN_MAX_PARTS && (!out->count || at_byte(at, ':'))) {
		bool in_path = script && out->count == 1 && script->has_path(out->part[0]);

		at->at += out->count > 0;
		err = read_part(at, script, in_path, &text, d);
		if (!err && !text.failed)
			out->part[out->count] = arena_str(a, buf_as_str(&text));
		if (!err && !out->part[out->count].ptr)
			err = -ENOMEM;
		buf_clear(&text);
		end = at->source.ptr + at->at;
		if (!out->count++)
			out->first = str_of(start, (size_t)(end - start));
	}
	out->all = str_of(start, (size_t)(end - start));
	buf_free(&text);
	return err;
}

static int refuse_pattern(struct diag *d, struct str text, const char *what)
{
	struct buf safe = BUF_INIT;

	buf_escaped(&safe, text);
	diag_error(d, -EINVAL, "bad-pattern", "'%.*s' is not a probe pattern: %s",
		   STR_FMT(buf_as_str(&safe)), what);
	diag_hint(d, "write usdt:PATH:PROVIDER:NAME; * matches any text");
	buf_free(&safe);
	return -EINVAL;
}

/* query = ( "usdt:" | "U:" )? ( path | path ":" name | path ":" provider ":" name ) */
int pattern_query(struct str text, struct arena *a, struct find_query *out, struct diag *d)
{
	bool is_typed = str_starts(text, STR("usdt:")) || str_starts(text, STR("U:"));
	struct span at = {.source = text.ptr ? text : STR("")};
	struct pattern p;
	int err;

	at.at = is_typed ? (size_t)str_index(text, ':') + 1 : 0;
	err = pattern_read(&at, NULL, a, &p, NULL);
	if (err == -EINVAL)
		return refuse_pattern(d, text, "unterminated string");
	if (err)
		return err;
	if (p.count > 3)
		return refuse_pattern(d, text,
				      "too many ':' (put \"quotes\" around a path that has one)");
	*out = (struct find_query){.path = p.part[0]};
	if (p.count == 3)
		out->provider = p.part[1];
	if (p.count > 1)
		out->name = p.part[p.count - 1];
	return 0;
}

/* Bytes that need no quotes anywhere. */
static bool is_safe(char c)
{
	return char_is_word(c) || (c && strchr("-+./@%=~^", c));
}

static bool is_safe_text(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_safe(s.ptr[i]))
			return false;
	/* Two slashes begin a comment in a script. */
	return !memmem(s.ptr, s.len, "//", 2);
}

void pattern_quote(struct str part, struct buf *out)
{
	if (is_safe_text(part)) {
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
