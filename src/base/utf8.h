/* UTF-8, as far as showing untrusted bytes on a terminal needs it. */
#ifndef NOPAL_BASE_UTF8_H
#define NOPAL_BASE_UTF8_H

#include "base/str.h"

/* Bytes at the start of `s` that are printable well-formed UTF-8: no C0, DEL or C1 controls, no
 * overlong forms, no surrogates, no bidirectional overrides. 0 when there are none. */
size_t utf8_printable(struct str s);

/* Length of the well-formed character at the start of `s`, printable or not, and its code point;
 * 0 when there is none. */
size_t utf8_decode(struct str s, uint32_t *out);

#endif
