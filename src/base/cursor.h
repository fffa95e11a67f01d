/* The only way in which untrusted bytes are read: every read is checked against the end.
 * After a failed read the cursor stays failed, and *out is untouched. */
#ifndef NOPAL_BASE_CURSOR_H
#define NOPAL_BASE_CURSOR_H

#include "base/str.h"

struct cursor {
	const unsigned char *at;
	const unsigned char *end;
	bool big_endian; /* byte order of the numbers read */
	bool failed;
};

struct cursor cursor_of(const void *bytes, size_t len, bool big_endian);
static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}
static inline bool cursor_u8(struct cursor *c, uint8_t *out)
{
	if (c->failed || c->at == c->end) {
		c->failed = true;
		return false;
	}
	*out = *c->at++;
	return true;
}
bool cursor_u16(struct cursor *c, uint16_t *out);
bool cursor_u32(struct cursor *c, uint32_t *out);
bool cursor_u64(struct cursor *c, uint64_t *out);
/* An address of 4 or 8 bytes. */
bool cursor_word(struct cursor *c, unsigned size, uint64_t *out);
bool cursor_bytes(struct cursor *c, size_t len, struct str *out); /* borrowed from the input */
bool cursor_skip(struct cursor *c, size_t len);
/* Text up to a NUL that must be there; the NUL is skipped. */
bool cursor_text(struct cursor *c, struct str *out);

#endif
