/* Names of files -> paths that can be opened: bare names through $PATH and the loader's cache,
 * patterns on disk, and everything also as a process in another mount namespace sees it. */
#ifndef NOPAL_FIND_LOOKUP_H
#define NOPAL_FIND_LOOKUP_H

#include <sys/types.h>

#include "base/arena.h"

struct located {
	struct str path;      /* as the user knows it */
	struct str open_path; /* as open(2) takes it */
};

/* Find one file by its name. With a pid, names are those of that process, but a relative path with
 * a slash in it is ours. Text lives in `a` and ends in NUL. -ENOENT, -ENOMEM. */
int lookup_file(pid_t pid, struct str name, struct arena *a, struct located *out);
/* Files on disk that match a pattern, in the order of their names. Non-zero from `fn` ends it and
 * is returned. */
int lookup_pattern(struct str pattern, int (*fn)(void *arg, struct str path), void *arg);

/* The path of a library in the text of an ld.so.cache, as the loader's own tool wrote it: the n-th
 * of that name; empty when there are no more. */
struct str loader_cache_find(struct str cache, struct str name, unsigned n);
/* "c" and "libc" are short for "libc.so.6". */
bool lookup_is_short(struct str name, struct str library);

#endif
