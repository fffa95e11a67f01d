/* Writing JSON, one value after the other, with commas and quotes.
 * Bytes that are not UTF-8 are written as U+00NN of their value, so that output is always valid
 * JSON. */
#ifndef NOPAL_BASE_JSON_H
#define NOPAL_BASE_JSON_H

#include "base/buf.h"

struct json {
	struct buf *out;
	bool comma; /* a comma is due before the next value */
};

void json_open(struct json *j, char bracket);  /* '{' or '[' */
void json_close(struct json *j, char bracket); /* '}' or ']' */
void json_key(struct json *j, const char *key);
void json_key_str(struct json *j, struct str key);
void json_str(struct json *j, struct str s);
void json_pair(struct json *j, const char *key, struct str s); /* "key": "s" */
void json_text(struct json *j, const char *text);
void json_s64(struct json *j, int64_t value);
void json_u64(struct json *j, uint64_t value);
void json_hex(struct json *j, uint64_t value); /* "0x1f", a string */
void json_bool(struct json *j, bool value);

#endif
