/* The growing buffer, and the escaping of untrusted text. */
#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

void buf_free(struct buf *b)
{
	free(b->ptr);
	*b = (struct buf)BUF_INIT;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}

int buf_reserve(struct buf *b, size_t more)
{
	size_t need, cap = b->cap ? b->cap : 128;
	char *bigger;

	if (b->failed)
		return -ENOMEM;
	if (__builtin_add_overflow(b->len + 1, more, &need) || need > SIZE_MAX / 2) {
		b->failed = true;
		return -ENOMEM;
	}
	if (need <= b->cap)
		return 0;
	while (cap < need)
		cap *= 2;
	bigger = realloc(b->ptr, cap);
	if (!bigger) {
		b->failed = true;
		return -ENOMEM;
	}
	b->ptr = bigger;
	b->cap = cap;
	return 0;
}

void buf_add(struct buf *b, const void *bytes, size_t len)
{
	if (buf_reserve(b, len))
		return;
	if (len)
		memcpy(b->ptr + b->len, bytes, len);
	b->len += len;
	b->ptr[b->len] = '\0';
}

void buf_str(struct buf *b, struct str s)
{
	buf_add(b, s.ptr, s.len);
}

void buf_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_fill(struct buf *b, char c, size_t count)
{
	if (buf_reserve(b, count))
		return;
	memset(b->ptr + b->len, c, count);
	b->len += count;
	b->ptr[b->len] = '\0';
}

static void add_number(struct buf *b, uint64_t value, unsigned base)
{
	char digits[24];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	buf_add(b, digits + at, sizeof(digits) - at);
}

void buf_u64(struct buf *b, uint64_t value)
{
	add_number(b, value, 10);
}

void buf_s64(struct buf *b, int64_t value)
{
	if (value < 0)
		buf_char(b, '-');
	add_number(b, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10);
}

void buf_hex(struct buf *b, uint64_t value)
{
	add_number(b, value, 16);
}

void buf_hex_byte(struct buf *b, char byte)
{
	buf_char(b, "0123456789abcdef"[(unsigned char)byte >> 4]);
	buf_char(b, "0123456789abcdef"[byte & 15]);
}

void buf_hex_bytes(struct buf *b, struct str bytes)
{
	for (size_t i = 0; i < bytes.len; i++)
		buf_hex_byte(b, bytes.ptr[i]);
}

void buf_vprintf(struct buf *b, const char *format, va_list args)
{
	va_list again;
	int len;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (len < 0 || buf_reserve(b, (size_t)len + 1))
		return;
	vsnprintf(b->ptr + b->len, (size_t)len + 1, format, args);
	b->len += (size_t)len;
}

void buf_count(struct buf *b, uint64_t count, const char *noun)
{
	buf_u64(b, count);
	buf_char(b, ' ');
	buf_text(b, noun);
	if (count != 1)
		buf_char(b, 's');
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(b, format, args);
	va_end(args);
}

void buf_escaped(struct buf *b, struct str s)
{
	size_t i = 0;

	while (i < s.len) {
		size_t run = utf8_printable(str_of(s.ptr + i, s.len - i));

		if (run) {
			buf_add(b, s.ptr + i, run);
			i += run;
		} else {
			buf_printf(b, "\\x%02x", (unsigned char)s.ptr[i++]);
		}
	}
}

static void escape_all_but(struct buf *b, struct str s, const char *kept)
{
	size_t start = 0;

	for (size_t i = 0; i < s.len; i++) {
		if (!s.ptr[i] || !strchr(kept, s.ptr[i]))
			continue;
		buf_escaped(b, str_of(s.ptr + start, i - start));
		buf_char(b, s.ptr[i]);
		start = i + 1;
	}
	buf_escaped(b, str_of(s.ptr + start, s.len - start));
}

void buf_escaped_line(struct buf *b, struct str s)
{
	escape_all_but(b, s, "\t");
}

void buf_escaped_lines(struct buf *b, struct str s)
{
	escape_all_but(b, s, "\t\n");
}
