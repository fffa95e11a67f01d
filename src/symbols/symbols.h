/* Addresses -> names. A process is remembered (its maps) as soon as it is seen, so that stacks can
 * be named after it has exited; symbol tables are read only when a name is asked for, and shared
 * between processes by device, inode and path. */
#ifndef NOPAL_SYMBOLS_SYMBOLS_H
#define NOPAL_SYMBOLS_SYMBOLS_H

#include <sys/types.h>

#include "base/diag.h"

struct symbols;

/* How a name is written. */
#define SYMBOL_OFFSET 1u /* "main+18" and not "main" */
#define SYMBOL_MODULE 2u /* " (/usr/bin/x)" after it */

int symbols_new(struct symbols **out);
void symbols_free(struct symbols *s); /* NULL is fine */
/* Read a process's maps now: when it is new, and again after new images were mapped. What was
 * mapped before stays known where nothing newer covers it. */
void symbols_see(struct symbols *s, pid_t pid);
/* The same of the text of its maps, already read. */
void symbols_see_maps(struct symbols *s, pid_t pid, struct str maps);
/* A mapping of code that the kernel reported, for processes that may be gone before their maps are
 * read. */
struct symbols_mapping {
	uint64_t start, length, offset; /* of `start` in the file */
	uint32_t major, minor;
	uint64_t inode;
	struct str path;
};
void symbols_map(struct symbols *s, pid_t pid, const struct symbols_mapping *m);
/* A child begins with its parent's mappings. */
void symbols_fork(struct symbols *s, pid_t parent, pid_t child);
/* Read the maps of every process. */
void symbols_see_all(struct symbols *s);
/* How names of C++, Rust and D are shown: as linkers have them, or as in the source, with
 * parameters (the default) or without. Say so before the first name is asked for. */
void symbols_demangle(struct symbols *s, bool any, bool parameters);
/* "main+18", or "0x55d1..." when nothing is known. Names are untrusted: escape them for a terminal.
 */
void symbols_user(struct symbols *s, pid_t pid, uint64_t address, unsigned flags, struct buf *out);
/* Read debug information too, from now on: symbols_frame.sources. */
void symbols_want_lines(struct symbols *s);
/* A function as debug information has it, and where in it an address is. */
struct symbols_source {
	struct str function; /* demangled; empty: not known */
	struct str file;     /* "/build/src/tick.c"; empty: not known */
	size_t folder;	     /* of that: bytes of the folder where it was compiled, "/build/" */
	unsigned line;	     /* 0: not known */
};
/* The number of a mapped file, from 1, by which its names can be had when no process maps it any
 * more; 0: it has none. */
struct mapped_file;
uint32_t symbols_file(struct symbols *s, const struct mapped_file *file);
/* The number of the file of which `bits` (not 0) are these of its inode; if none is known, the
 * process is asked again. 0: none is, or several. */
uint32_t symbols_file_by_inode(struct symbols *s, pid_t pid, uint64_t bits, uint64_t mask);
/* A frame of a stack, in parts. */
struct symbols_frame {
	struct buf function;	/* empty: no symbol has it */
	struct str module;	/* path of the file; empty: none. Valid until the next call */
	uint64_t device, inode; /* of the file, as /proc/PID/maps has them; inode 0: none */
	uint64_t offset;	/* in the function, or without one in the file */
	uint64_t in_file;	/* offset in the file; without one the address */
	struct str build_id;	/* of the file: bytes. Valid as long as the symbols */
	bool is_code; /* false: nothing executable is mapped there, and the maps are known */
	/* Inlined functions, the innermost first, and last the function itself; source_count 0:
	 * nothing is known. Valid until the next call. */
	const struct symbols_source *sources;
	unsigned source_count;
};
/* Fill a frame whose buffer the caller opened and frees. `is_return`: the address is that after a
 * call, which may be the last instruction of its function: the call's is looked up. */
void symbols_frame_user(struct symbols *s, pid_t pid, uint64_t address, bool is_return,
			struct symbols_frame *out);
/* The same of an offset in a file, by its number. */
void symbols_frame_file(struct symbols *s, uint32_t file, uint64_t offset, bool is_return,
			struct symbols_frame *out);
void symbols_frame_kernel(struct symbols *s, uint64_t address, struct symbols_frame *out);
void symbols_kernel(struct symbols *s, uint64_t address, unsigned flags, struct buf *out);
/* What was left out because it is too large, as warnings; each is reported once. */
void symbols_problems(struct symbols *s, struct diag *d);
/* An address without a name: "0x55d1...", "0". */
void symbols_number(uint64_t address, struct buf *out);

#endif
