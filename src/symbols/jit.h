/* Names of code that was compiled at run time, from the file that run-time compilers write for
 * profilers: /tmp/perf-PID.map, lines "START SIZE name" in hex. */
#ifndef NOPAL_SYMBOLS_JIT_H
#define NOPAL_SYMBOLS_JIT_H

#include <sys/types.h>

#include "base/budget.h"
#include "base/str.h"

struct jit_names;

/* Read the file, or what was added to it; *names may be NULL at first. Only a regular file of
 * `owner` or root is trusted. Memory is taken from `pool`, which all files share and which must
 * outlive the names. -errno: what was known is kept. */
int jit_names_read(const char *path, uid_t owner, struct budget *pool, struct jit_names **names);
/* Was the file longer than 48 MiB or a million lines, or the pool empty? Then newer lines are not
 * read. */
bool jit_names_are_cut(const struct jit_names *names);
void jit_names_free(struct jit_names *names); /* NULL is fine */
bool jit_names_at(const struct jit_names *names, uint64_t address, struct str *name,
		  uint64_t *into);

#endif
