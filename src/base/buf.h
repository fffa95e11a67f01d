/* A growing byte buffer for text and binary output. An allocation failure sets `failed` and later
 * calls do nothing, so a writer may check once, at the end. */
#ifndef NOPAL_BASE_BUF_H
#define NOPAL_BASE_BUF_H

#include <stdarg.h>

#include "base/str.h"

struct buf {
	char *ptr; /* owned; a NUL follows the last byte once anything was added */
	size_t len;
	size_t cap;
	bool failed;
};

/* clang-format off */
#define BUF_INIT {NULL, 0, 0, false}
/* clang-format on */

void buf_free(struct buf *b);
void buf_clear(struct buf *b);		     /* forget the content, keep the memory */
int buf_reserve(struct buf *b, size_t more); /* room for `more` bytes after len; -ENOMEM */
void buf_add(struct buf *b, const void *bytes, size_t len);
void buf_str(struct buf *b, struct str s);
void buf_text(struct buf *b, const char *text);
void buf_char(struct buf *b, char c);
void buf_fill(struct buf *b, char c, size_t count);
void buf_u64(struct buf *b, uint64_t value);
void buf_s64(struct buf *b, int64_t value);
void buf_hex(struct buf *b, uint64_t value); /* without 0x */
void buf_hex_byte(struct buf *b, char byte); /* two digits */
void buf_hex_bytes(struct buf *b, struct str bytes);
/* "1 site", "2 sites": the noun is given for one, and gets an s. */
void buf_count(struct buf *b, uint64_t count, const char *noun);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *format, va_list args);
/* Untrusted text, made safe for a terminal: control bytes (newlines and tabs too) and bytes that
 * are not UTF-8 become \xNN, the rest is copied. */
void buf_escaped(struct buf *b, struct str s);
/* The same, but tabs stay. */
void buf_escaped_line(struct buf *b, struct str s);
/* The same for text of several lines: newlines and tabs stay. */
void buf_escaped_lines(struct buf *b, struct str s);

static inline struct str buf_as_str(const struct buf *b)
{
	return str_of(b->ptr ? b->ptr : "", b->len);
}

#endif
