/* Collecting and rendering messages. */
#include "base/diag.h"

#include <errno.h>
#include <stdarg.h>

#include "base/excerpt.h"

static const char *const level_names[] = {
	[DIAG_ERROR] = "error",
	[DIAG_WARNING] = "warning",
};

void diag_free(struct diag *d)
{
	arena_free(&d->arena);
	*d = (struct diag)DIAG_INIT;
}

static struct str format_text(struct arena *a, const char *format, va_list args)
{
	struct buf text = BUF_INIT;
	struct str out;

	buf_vprintf(&text, format, args);
	out = arena_str(a, buf_as_str(&text));
	buf_free(&text);
	return out;
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

static void add_message(struct diag *d, enum diag_level level, const char *tag, struct span span,
			const char *format, va_list args)
{
	unsigned *count = level == DIAG_ERROR ? &d->errors : &d->warnings;
	struct message *m;

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
	m->text = format_text(&d->arena, format, args);
	if (d->last)
		d->last->next = m;
	else
		d->first = m;
	d->last = m;
}

int diag_error(struct diag *d, int err, const char *tag, const char *format, ...)
{
	va_list args;

	if (!d)
		return err;
	va_start(args, format);
	add_message(d, DIAG_ERROR, tag, (struct span){0}, format, args);
	va_end(args);
	return err;
}

int diag_error_at(struct diag *d, int err, const char *tag, struct span span, const char *format,
		  ...)
{
	va_list args;

	if (!d)
		return err;
	va_start(args, format);
	add_message(d, DIAG_ERROR, tag, span, format, args);
	va_end(args);
	return err;
}

int diag_ensure(struct diag *d, int err, const char *what)
{
	if (err >= 0 || !d || d->errors)
		return err;
	return diag_error(d, err, err == -ENOMEM ? "no-memory" : "failed", "cannot %s: %s", what,
			  strerror(-err));
}

void diag_warn(struct diag *d, const char *tag, const char *format, ...)
{
	va_list args;

	if (!d)
		return;
	va_start(args, format);
	add_message(d, DIAG_WARNING, tag, (struct span){0}, format, args);
	va_end(args);
}

void diag_warn_at(struct diag *d, const char *tag, struct span span, const char *format, ...)
{
	va_list args;

	if (!d)
		return;
	va_start(args, format);
	add_message(d, DIAG_WARNING, tag, span, format, args);
	va_end(args);
}

void diag_hint(struct diag *d, const char *format, ...)
{
	va_list args;

	if (!d || !d->last || d->is_full)
		return;
	va_start(args, format);
	d->last->hint = format_text(&d->arena, format, args);
	va_end(args);
}

void diag_hint_permission(struct diag *d, int err, const char *otherwise)
{
	if (err == -EACCES || err == -EPERM)
		diag_hint(d, "run as root, or %s", otherwise);
}

static void add_copy(struct diag *d, const struct message *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_message(d, m->level, m->tag, m->span, format, args);
	va_end(args);
}

void diag_add_all(struct diag *d, const struct diag *from)
{
	for (const struct message *m = from->first; d && m; m = m->next) {
		add_copy(d, m, "%.*s", STR_FMT(m->text));
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
	/* The kernel's verifier writes several lines. */
	excerpt_text(m->text, out);
	buf_char(out, '\n');
	if (m->span.path.len && m->span.source.len)
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
		buf_printf(out, "(and %u more messages)\n", hidden);
}
