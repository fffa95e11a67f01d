/* Collecting and rendering messages. */
#include "base/diag.h"

#include <errno.h>

static const char *const level_names[] = {
	[DIAG_ERROR] = "error",
	[DIAG_WARNING] = "warning",
};

void diag_free(struct diag *d)
{
	arena_free(&d->arena);
	*d = (struct diag)DIAG_INIT;
}

/* Keep only the line that the span begins in: no more of the source is shown, and a file may be
 * large and its messages many. */
static struct span span_of_line(struct span span)
{
	size_t at = span.at < span.source.len ? span.at : span.source.len, start = 0, end = at;

	for (size_t i = 0; i < at; i++)
		if (span.source.ptr[i] == '\n') {
			span.lines_above++;
			start = i + 1;
		}
	while (end < span.source.len && span.source.ptr[end] != '\n')
		end++;
	if (span.source.ptr)
		span.source = str_of(span.source.ptr + start, end - start);
	span.at = at - start;
	return span;
}

/* A warning of a place that is looked at several times, as for programs of several kinds. */
static bool is_repeated(const struct diag *d, const struct message *m)
{
	for (const struct message *old = d->first; old; old = old->next)
		if (old->tag == m->tag && old->level == m->level && old->span.at == m->span.at &&
		    old->span.lines_above == m->span.lines_above &&
		    str_eq(old->span.path, m->span.path) && str_eq(old->text, m->text))
			return true;
	return false;
}

static void add_message(struct diag *d, enum diag_level level, const char *tag, struct span span,
			const char *format, va_list args)
{
	unsigned *count;
	struct message *m;

	if (!d)
		return;
	count = level == DIAG_ERROR ? &d->errors : &d->warnings;
	d->is_full = (*count)++ >= DIAG_LIMIT;
	if (d->is_full)
		return;
	m = arena_new(&d->arena, struct message);
	if (!m)
		return;
	m->level = level;
	m->tag = tag;
	m->span = span_of_line(span);
	m->span.path = arena_str(&d->arena, span.path);
	m->span.source = arena_str(&d->arena, m->span.source);
	m->text = arena_vprintf(&d->arena, format, args);
	if (level == DIAG_WARNING && span.source.ptr && is_repeated(d, m)) {
		--*count;
		d->is_full = true; /* it gets no hint */
		return;
	}
	if (d->last)
		d->last->next = m;
	else
		d->first = m;
	d->last = m;
}

int diag_error_at(struct diag *d, int err, const char *tag, struct span span, const char *format,
		  ...)
{
	va_list args;

	va_start(args, format);
	add_message(d, DIAG_ERROR, tag, span, format, args);
	va_end(args);
	return err;
}

void diag_warn_at(struct diag *d, const char *tag, struct span span, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_message(d, DIAG_WARNING, tag, span, format, args);
	va_end(args);
}

int diag_ensure(struct diag *d, int err, const char *what)
{
	if (err >= 0 || err == -ECANCELED || !d || d->errors)
		return err;
	return diag_error(d, err, err == -ENOMEM ? "no-memory" : "failed", "cannot %s: %s", what,
			  strerror(-err));
}

void diag_log(struct diag *d, struct str log)
{
	if (d && d->last && !d->is_full)
		d->last->log = arena_str(&d->arena, log);
}

void diag_hint(struct diag *d, const char *format, ...)
{
	va_list args;

	if (!d || !d->last || d->is_full)
		return;
	va_start(args, format);
	d->last->hint = arena_vprintf(&d->arena, format, args);
	va_end(args);
}

void diag_hint_permission(struct diag *d, int err, const char *otherwise)
{
	if (err == -EACCES || err == -EPERM)
		diag_hint(d, "run as root, or %s", otherwise);
}

void diag_place(struct diag *d, const struct message *last, struct span span)
{
	for (struct message *m = !d ? NULL : last ? last->next : d->first; m; m = m->next) {
		if (m->level != DIAG_ERROR || m->span.source.len)
			continue;
		m->span = span_of_line(span);
		m->span.path = arena_str(&d->arena, m->span.path);
		m->span.source = arena_str(&d->arena, m->span.source);
	}
}

void diag_add_all(struct diag *d, const struct diag *from)
{
	for (const struct message *m = from->first; d && m; m = m->next) {
		if (m->level == DIAG_ERROR)
			diag_error_at(d, 0, m->tag, m->span, "%.*s", STR_FMT(m->text));
		else
			diag_warn_at(d, m->tag, m->span, "%.*s", STR_FMT(m->text));
		if (m->log.len)
			diag_log(d, m->log);
		if (m->hint.len)
			diag_hint(d, "%.*s", STR_FMT(m->hint));
	}
}

void span_position(struct span span, unsigned *line, unsigned *column)
{
	*line = 1 + span.lines_above;
	*column = 1;
	for (size_t i = 0; i < span.at && i < span.source.len; i++) {
		(*column)++;
		if (span.source.ptr[i] == '\n') {
			(*line)++;
			*column = 1;
		}
	}
}

/* ---- Showing. A script made by a program is one line of a megabyte; the reader of a message needs
 * the part under the marks. */

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

/* The line of a span and a line of marks under it; of a long line the span, and a little around it.
 */
static void excerpt_source(struct span span, struct buf *out)
{
	struct str line = span.source;
	size_t column = span.at, start = 0, end = line.len;
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
	/* '^' and one '~' for each further character; at the end of the line there is none. */
	start = out->len;
	add_under(str_of(line.ptr + column, marks), '~', out);
	if (out->len == start)
		buf_char(out, '^');
	else if (!out->failed)
		out->ptr[start] = '^';
	buf_char(out, '\n');
}

/* A text safe for a terminal, and on one line: it may have the name of a file in it, which any user
 * made, and which must not look like another message. Of a very long one the start and the end. */
static void excerpt_text(struct str text, struct buf *out)
{
	size_t tail;

	if (text.len <= TEXT_HEAD + TEXT_TAIL) {
		buf_escaped_line(out, text);
		return;
	}
	tail = character_start(text, text.len - TEXT_TAIL);
	buf_escaped_line(out, str_of(text.ptr, character_start(text, TEXT_HEAD)));
	buf_text(out, CUT);
	buf_escaped_line(out, str_of(text.ptr + tail, text.len - tail));
}

static void render_message(const struct message *m, struct buf *out)
{
	unsigned line, column;

	if (m->span.path.len) {
		buf_escaped(out, m->span.path);
		if (m->span.source.len) {
			span_position(m->span, &line, &column);
			buf_printf(out, ":%u:%u", line, column);
		}
		buf_text(out, ": ");
	}
	buf_printf(out, "%s: ", level_names[m->level]);
	excerpt_text(m->text, out);
	if (m->log.len) {
		buf_text(out, ": ");
		buf_escaped_lines(out, m->log);
	}
	buf_char(out, '\n');
	if (m->span.source.len)
		excerpt_source(m->span, out);
	if (!m->hint.len)
		return;
	buf_text(out, "hint: ");
	excerpt_text(m->hint, out);
	buf_char(out, '\n');
}

void diag_render(const struct diag *d, struct buf *out)
{
	unsigned hidden = (d->errors > DIAG_LIMIT ? d->errors - DIAG_LIMIT : 0) +
			  (d->warnings > DIAG_LIMIT ? d->warnings - DIAG_LIMIT : 0);

	for (const struct message *m = d->first; m; m = m->next)
		render_message(m, out);
	if (hidden)
		buf_printf(out, "(and %u more message%s)\n", hidden, hidden == 1 ? "" : "s");
}
