/* Cutting long lines and texts for messages. A script made by a program is one line of a megabyte;
 * the reader of a message needs the part under the marks. */
#include "base/excerpt.h"

#define LINE_MOST 400 /* bytes of a line that are shown */
#define LINE_LEAD 100 /* ... of these, before the span */
#define TEXT_HEAD 1800
#define TEXT_TAIL 200
#define CUT	  "..."

/* Go back from `at` to the start of its character. */
static size_t character_start(struct str s, size_t at)
{
	while (at && at < s.len && ((unsigned char)s.ptr[at] & 0xc0) == 0x80)
		at--;
	return at;
}

static struct str source_line(struct span span)
{
	size_t start = span.at < span.source.len ? span.at : span.source.len, end = start;

	while (start && span.source.ptr[start - 1] != '\n')
		start--;
	while (end < span.source.len && span.source.ptr[end] != '\n')
		end++;
	return str_of(span.source.ptr + start, end - start);
}

/* Under each character of `s` as it is shown: `mark`, or, if that is a blank, tabs where it has
 * tabs. */
static void add_under(struct str s, char mark, struct buf *out)
{
	struct buf shown = BUF_INIT;

	buf_escaped_lines(&shown, s);
	for (size_t i = 0; i < shown.len; i++)
		if (((unsigned char)shown.ptr[i] & 0xc0) != 0x80)
			buf_char(out, mark == ' ' && shown.ptr[i] == '\t' ? '\t' : mark);
	out->failed |= shown.failed;
	buf_free(&shown);
}

/* '^' and one '~' for each further character of the span; at the end of the line there is none. */
static void add_marks(struct str marked, struct buf *out)
{
	size_t start = out->len;

	add_under(marked, '~', out);
	if (out->len == start)
		buf_char(out, '^');
	else if (!out->failed)
		out->ptr[start] = '^';
}

void excerpt_source(struct span span, struct buf *out)
{
	struct str line = source_line(span);
	size_t column = (size_t)(span.source.ptr + span.at - line.ptr), start = 0, end = line.len;
	size_t marks = span.len;

	if (column > line.len)
		column = line.len;
	if (line.len > LINE_MOST) {
		start = column > LINE_LEAD ? character_start(line, column - LINE_LEAD) : 0;
		if (line.len - start > LINE_MOST)
			end = character_start(line, start + LINE_MOST);
	}
	if (marks > end - column)
		marks = end - column;
	buf_text(out, start ? CUT : "");
	buf_escaped_lines(out, str_of(line.ptr + start, end - start));
	buf_text(out, end < line.len ? CUT "\n" : "\n");
	buf_fill(out, ' ', start ? strlen(CUT) : 0);
	add_under(str_of(line.ptr + start, column - start), ' ', out);
	add_marks(str_of(line.ptr + column, marks), out);
	buf_char(out, '\n');
}

void excerpt_text(struct str text, struct buf *out)
{
	size_t tail;

	if (text.len <= TEXT_HEAD + TEXT_TAIL) {
		buf_escaped_lines(out, text);
		return;
	}
	tail = character_start(text, text.len - TEXT_TAIL);
	buf_escaped_lines(out, str_of(text.ptr, character_start(text, TEXT_HEAD)));
	buf_text(out, CUT);
	buf_escaped_lines(out, str_of(text.ptr + tail, text.len - tail));
}
