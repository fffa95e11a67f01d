/* Names of functions as their authors wrote them: C++, Rust, D. */
#ifndef NOPAL_SYMBOLS_DEMANGLE_H
#define NOPAL_SYMBOLS_DEMANGLE_H

#include "base/buf.h"

/* clang-format off */
enum demangle_form {
	DEMANGLE_WHOLE, /* "_Z3fooi" -> "foo(int)" */
	DEMANGLE_SHORT, /* "foo": without the parameters, where the name tells them apart */
	DEMANGLE_NOT,
};
/* clang-format on */

/* Names of other languages, and those whose plain form is too long, stay as they are. */
void demangle(struct str name, enum demangle_form form, struct buf *out);

#endif
