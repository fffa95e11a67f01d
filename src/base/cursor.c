/* Reads that are checked against the end. */
#include "base/cursor.h"

struct cursor cursor_of(const void *bytes, size_t len, bool big_endian)
{
	const unsigned char *at = bytes;

	return (struct cursor){at, at + len, big_endian, false};
}

bool cursor_bytes(struct cursor *c, size_t len, struct str *out)
{
	if (c->failed || len > cursor_left(c)) {
		c->failed = true;
		return false;
	}
	*out = str_of((const char *)c->at, len);
	c->at += len;
	return true;
}

bool cursor_skip(struct cursor *c, size_t len)
{
	struct str ignored;

	return cursor_bytes(c, len, &ignored);
}

/* A number of 1 to 8 bytes in the cursor's byte order. */
bool cursor_word(struct cursor *c, unsigned size, uint64_t *out)
{
	struct str bytes;
	uint64_t value = 0;

	if (!cursor_bytes(c, size, &bytes))
		return false;
	for (unsigned i = 0; i < size; i++) {
		unsigned at = c->big_endian ? i : size - 1 - i;

		value = value << 8 | (unsigned char)bytes.ptr[at];
	}
	*out = value;
	return true;
}

/* clang-format off */
#define READER(bits)                                                  \
	bool cursor_u##bits(struct cursor *c, uint##bits##_t *out)    \
	{                                                             \
		uint64_t value;                                       \
                                                                      \
		if (!cursor_word(c, bits / 8, &value))                \
			return false;                                 \
		*out = (uint##bits##_t)value;                         \
		return true;                                          \
	}
READER(16)
READER(32)
READER(64)
/* clang-format on */

bool cursor_text(struct cursor *c, struct str *out)
{
	size_t left = cursor_left(c);
	const unsigned char *nul = left && !c->failed ? memchr(c->at, '\0', left) : NULL;

	if (!nul) {
		c->failed = true;
		return false;
	}
	*out = str_of((const char *)c->at, (size_t)(nul - c->at));
	c->at = nul + 1;
	return true;
}
