/* The rows of all images that the traced processes map, and where they map them: what a program in
 * the kernel needs to walk their stacks. A file's rows are kept once for all processes; those
 * with the same mappings share them, too.
 *
 *	process 17 -> run { first 0, count 3 } -> mappings 0..2, by address
 *	mapping 1  -> chunks 1200..1599 of libc.so.6
 *	chunk 1201 -> the rows after 1660, up to that of chunk 1202
 *	row        -> rule
 *
 * At first all of it is in memory of its own, which grows. unwind_tables_move() gives it the memory
 * that the kernel reads, which does not: what finds no room there is left out and counted.
 *
 * What the kernel reads is changed only in this order: rules, rows, mappings, and then the entry of
 * the process, in one piece. Mappings that no process has any more are used again only after
 * UNWIND_REST_NS, when no walk that began before can still read them.
 *
 * A process may unload a library and load another one at its address before the mappings are read
 * again. So a mapping has a proof, the start of the file's build-id, and a walk looks whether it is
 * there. A mapping of a part of the code has none: V8 moves its own elsewhere. */
#ifndef NOPAL_UNWIND_TABLES_H
#define NOPAL_UNWIND_TABLES_H

#include <sys/types.h>

#include "unwind/unwind.h"

#define UNWIND_REST_NS	     2000000000u
#define UNWIND_MAPPINGS_MOST 65536u	/* of all processes; a power of two */
#define UNWIND_RUN_MOST	     4096u	/* of one */
#define UNWIND_WORDS_MOST    (1u << 24) /* rows and chunks of all files: 64 MiB */

/* One mapping of code. */
struct unwind_mapping {
	uint64_t start, end;
	uint64_t base;	/* pc - base: what chunks count from */
	uint64_t frame; /* pc + frame: how the pc is kept in a stack; see UNWIND_FRAME_FILE */
	uint32_t first, count; /* chunks; count 0: there are none, and `first` says why */
	uint64_t proof_at;     /* where in the process the file has ... */
	uint64_t proof;	       /* ... these 8 bytes: else another one is there by now; 0: unknown */
};

/* `first` of a mapping without rows. */
enum {
	UNWIND_FILE_SILENT, /* the file says nothing of its functions */
	UNWIND_FILE_NO_ROOM,
	UNWIND_FILE_CLOSED,	     /* it cannot be opened or read */
	UNWIND_FILE_LATER,	     /* it is not known yet */
	UNWIND_CODE_UNFRAMED,	     /* code made at run time that keeps no frame pointers */
	UNWIND_NO_FILE = 0xffffffff, /* code made at run time: by frame pointers */
};

/* A frame of a stack: an offset in a file, which means the same in every process, or else an
 * address. */
#define UNWIND_FRAME_FILE  (1ull << 63)
#define UNWIND_FRAME_EXACT (1ull << 62) /* where a thread stood, not where a call returns to */
#define UNWIND_FRAME_SHIFT 40		/* below it: the offset; above it: the file */
#define UNWIND_FRAME_FILES (1u << 21)
#define UNWIND_FRAME_NUMBER(frame) \
	((uint32_t)((frame) >> UNWIND_FRAME_SHIFT) & (UNWIND_FRAME_FILES - 1))
#define UNWIND_FRAME_OFFSET(frame)  ((frame) & ((1ull << UNWIND_FRAME_SHIFT) - 1))
#define UNWIND_FRAME_ADDRESS(frame) ((frame) & ~UNWIND_FRAME_EXACT)
/* With UNWIND_FRAME_FILE: of a file that has no number yet. Below it 29 bits of its inode, or 0
 * when it says nothing, and 32 of the offset: by the time of printing, another file may be at the
 * address. */
#define UNWIND_FRAME_LATER	   (1ull << 61)
#define UNWIND_LATER_SHIFT	   32
#define UNWIND_LATER_INODE	   ((1u << 29) - 1)
#define UNWIND_LATER_BITS(frame)   ((uint32_t)((frame) >> UNWIND_LATER_SHIFT) & UNWIND_LATER_INODE)
#define UNWIND_LATER_OFFSET(frame) ((uint32_t)(frame))

/* The mappings of a process, in the order of their addresses. */
struct unwind_run {
	uint32_t first, count;
};

#define UNWIND_RUN_UNFRAMED (1u << 31) /* of `count`: the process makes such code */

/* A file as the kernel knows it, and what is kept of it: for mappings that are in no run yet. */
struct unwind_file_key {
	uint64_t inode;
	uint64_t device; /* major << 20 | minor */
};

struct unwind_file {
	uint64_t base;	/* to be added to where the file's first byte would be mapped: what chunks
			 * count from */
	uint64_t frame; /* + offset: how it is kept */
	struct {
		uint32_t first, count;
	} chunks;	   /* as in struct unwind_mapping */
	uint64_t proof_at; /* as in struct unwind_mapping, from the file's first byte on */
	uint64_t proof;
	uint64_t begin; /* where in the file its code does, in whole pages */
};

/* What the files say: of each its chunks, one more for their end, and its rows. */
union unwind_word {
	uint32_t before; /* of a chunk: which word is the last row before it */
	struct unwind_row row;
};

/* Where the kernel reads. */
struct unwind_memory {
	union unwind_word *words;
	struct unwind_rule *rules; /* UNWIND_RULES_MOST */
	struct unwind_mapping *mappings;
	size_t word_cap, mapping_cap;
};

/* Who gives the kernel the rest. */
struct unwind_publisher {
	void *arg;
	/* The run of a process is this now; count 0: it has none. */
	void (*process)(void *arg, pid_t pid, struct unwind_run run);
	void (*file)(void *arg, struct unwind_file_key key, const struct unwind_file *file);
};

struct unwind_tables;

int unwind_tables_new(struct unwind_tables **out);
void unwind_tables_free(struct unwind_tables *u); /* NULL is fine; not the memory it was given */

/* Files are numbered by the caller, from 1. Is its table read, or known not to be had? */
bool unwind_tables_has(const struct unwind_tables *u, uint32_t file);
/* Read it; without an image: it cannot be opened. The image's budget is used. -ENOMEM. */
int unwind_tables_add(struct unwind_tables *u, uint32_t file, struct unwind_file_key key,
		      const struct unwind_source *source);

/* The file is not an image: code in it was made at run time. -ENOMEM. */
int unwind_tables_add_code(struct unwind_tables *u, uint32_t file);

/* Code that a process maps; `file` 0: no file. */
struct unwind_code {
	uint64_t start, end, offset;
	uint32_t file;
};

/* All the code of a process, in any order; `unframed`: what it makes at run time keeps no frame
 * pointers. -ENOMEM; -E2BIG: no room, it has no run now. */
int unwind_tables_process(struct unwind_tables *u, pid_t pid, struct unwind_code *code,
			  size_t count, bool unframed);
/* A child has its parent's mappings, if these are known. */
void unwind_tables_fork(struct unwind_tables *u, pid_t parent, pid_t child);
void unwind_tables_end(struct unwind_tables *u, pid_t pid); /* it has ended */
bool unwind_tables_knows(const struct unwind_tables *u, pid_t pid);

/* How much there is; for the size of the memory. */
size_t unwind_tables_words(const struct unwind_tables *u);
size_t unwind_tables_mappings(const struct unwind_tables *u);
/* Copy all to `to`, which must outlive the tables or be taken away again by unwind_tables_leave(),
 * and publish every process. -E2BIG: it is too small. */
int unwind_tables_move(struct unwind_tables *u, const struct unwind_memory *to,
		       const struct unwind_publisher *publisher);
/* The memory is about to go: nothing changes any more. */
void unwind_tables_leave(struct unwind_tables *u);

#endif
