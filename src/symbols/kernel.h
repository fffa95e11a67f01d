/* The kernel's own symbols, from /proc/kallsyms. */
#ifndef NOPAL_SYMBOLS_KERNEL_H
#define NOPAL_SYMBOLS_KERNEL_H

#include "base/str.h"

struct kernel_symbols;

/* Read and sort them. -errno; an empty table when the kernel hides its addresses. */
int kernel_symbols_read(const char *path, struct kernel_symbols **out);
void kernel_symbols_free(struct kernel_symbols *k); /* NULL is fine */
/* The function around `address`; *into: bytes from its start. */
bool kernel_symbols_at(const struct kernel_symbols *k, uint64_t address, struct str *name,
		       uint64_t *into);

/* The address of a symbol by name. */
bool kernel_symbols_find(const struct kernel_symbols *k, struct str name, uint64_t *address);
bool kernel_symbols_are_hidden(const struct kernel_symbols *k);
/* Does it list more than functions? */
bool kernel_symbols_have_data(const struct kernel_symbols *k);

#endif
