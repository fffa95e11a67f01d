/* Where probes are: in a file, in the images a process has mapped, in every process.
 *
 * A path in a query may be
 *   - a file name, absolute or relative; a bare name is looked up in $PATH, then among the
 *     loader's libraries (libc.so.6, libstdc++.so.6 through ld.so.cache);
 *   - a pattern with `*`: files it matches on disk, and those the process has mapped; without a
 *     slash only these; `*` alone: every image mapped by the process or by any process;
 *   - empty: every image of `pid`, which must then be given.
 * With a pid, names are looked up in that process's mount namespace, through /proc/PID/root. */
#ifndef NOPAL_FIND_FIND_H
#define NOPAL_FIND_FIND_H

#include <sys/types.h>

#include "base/file.h"
#include "probe/probe.h"

struct find_query {
	pid_t pid;			 /* 0: none */
	struct str path, provider, name; /* patterns; an empty provider or name matches all */
	bool to_attach;			 /* the caller needs the files of what is found */
	/* Of functions instead of a name: the places of a line of source. */
	struct str source;     /* "src/tick.c", of which the last parts suffice; empty: none */
	unsigned line, column; /* column 0: any */
	/* Names of functions as their authors wrote them: "ns::f" (any parameters), "ns::f(int)".
	 */
	bool is_demangled;
};

/* One ELF image that was found. */
struct found_image {
	struct str path;      /* as the user knows it: "/usr/lib/libx.so" */
	struct str open_path; /* what open(2) takes here and now: "/proc/7/map_files/7f..-7f..",
				 "/proc/7/root/usr/..." */
	pid_t pid;	      /* a process that maps it; 0: found on disk */
	struct file *file;    /* that its sites were read from; a query to_attach has it */
	struct site_list *sites;
};

/* Called once for each image with at least one matching site, in a stable order; `matches` indexes
 * image->sites. The image and all it points to live until finder_free(), except for its file, which
 * is closed after the call unless the callback holds it. Non-zero ends the search and is returned.
 */
typedef int found_fn(void *arg, const struct found_image *image, const size_t *matches,
		     size_t count);

/* A search remembers images by device and inode, so that each is read once, whatever the number of
 * queries. */
struct finder;
int finder_new(struct finder **out);
void finder_free(struct finder *f); /* NULL is fine */
/* Long work ends with -EINTR when that descriptor becomes readable; -1: nothing stops it. */
void finder_stop_on(struct finder *f, int fd);
/* What was left out so far, and provider files that could not be read, as warnings; each is
 * reported once. */
void finder_problems(struct finder *f, struct diag *d);
/* For callers that ask again and again for a long time: forget the images in which no query has
 * found anything, if there are many. */
void finder_trim(struct finder *f);
/* Does the path of a query, a name or pattern, mean a file that is mapped under this name? */
bool finder_wants(struct str path, struct str mapped);
/* Files that are not ELF, or corrupt, are messages in `d` only when they were named (no pattern, no
 * process scan); the search goes on. Number of images found, or -errno when the query itself is
 * impossible. */
int finder_sites(struct finder *f, const struct find_query *q, found_fn *fn, void *arg,
		 struct diag *d);

/* The first library that the file `path` is linked with and that has probes, the C and C++
 * libraries apart: its path, and how many there are. Empty: none has. */
struct str finder_library(struct finder *f, struct str path, struct arena *a, size_t *count);

/* The first library that the file is linked with and that has a function `name`; empty: none has.
 */
struct str finder_function_library(struct finder *f, struct str path, struct str name,
				   struct arena *a);

/* Functions of a file by pattern (the query's name; it has no provider), for uprobes: link-time
 * name, file offset. A name "0x1234" is a link-time address: its offset and the function that holds
 * it, or an empty name. A function that is not in the file is looked for among those that the
 * compiler put into others, which debug information has; so are the places of a line. */
struct found_function {
	struct str path, open_path;
	struct file *file; /* as a found_image has it */
	struct str name;
	struct str plain; /* of a query that is_demangled: the name as its author wrote it */
	uint64_t address; /* link-time */
	uint64_t offset;
	uint64_t start, extent; /* of the function that has `offset`: file offset of its first
				   instruction, bytes; 0 bytes: no symbol has it */
	const struct arch *arch;
	bool is_inlined; /* a copy of `name` inside another function, which `start` is of */
	unsigned line;	 /* of a query for a line: where there is code, that line or a later one */
};
typedef int function_fn(void *arg, const struct found_function *function);
int finder_functions(struct finder *f, const struct find_query *q, function_fn *fn, void *arg,
		     struct diag *d);
/* The function that holds `offset` of the file: its name, or an empty str. Reads symbols on first
 * use. */
struct str finder_function_at(struct finder *f, const struct found_image *image, uint64_t offset);

#endif
