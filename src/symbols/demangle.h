/* C++ names as their authors wrote them, when the C++ run-time library of the machine is there. */
#ifndef NOPAL_SYMBOLS_DEMANGLE_H
#define NOPAL_SYMBOLS_DEMANGLE_H

#include "base/buf.h"

/* Loaded for the first C++ name; zero at first. */
struct demangler {
	bool tried;
	void *library;
	char *(*call)(const char *name, char *buffer, size_t *len, int *status);
};

void demangler_close(struct demangler *d);
/* "_Z3fooi" -> "foo(int)". Names that are not C++, or whose plain form could become huge, stay as
 * they are. */
void demangle(struct demangler *d, struct str name, struct buf *out);

#endif
