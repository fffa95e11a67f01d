/* Searching the memory of a process for words that lead into code of ours. */
#ifndef NOPAL_USER_PTRACE_WORD_SEARCH_H
#define NOPAL_USER_PTRACE_WORD_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct inject;
struct threads;

/* A mapping of the process. */
struct mapped_range {
	uint64_t start, end;
	uint64_t device, inode;
	bool is_own; /* private, and no code that was never writable: its words are searched */
	bool is_shared;
	bool is_code; /* ... and no file's */
	bool is_none; /* no access at all */
	bool is_stack, is_guarded;
	bool is_ours;
	unsigned users; /* threads whose stack pointer or own data are there */
};

struct mappings {
	struct mapped_range *all; /* by address */
	size_t count, cap;
};

int mappings_read(struct mappings *all, pid_t pid); /* the caller frees `all->all` */
struct mapped_range *mappings_at(const struct mappings *all, uint64_t at); /* NULL: nothing is */

/* Code that was put into the process. */
struct code_area {
	uint64_t start, end;
	unsigned session;
	uint64_t entry; /* of its ledger */
	bool is_landings;
};

struct code_areas {
	struct code_area *all; /* by address */
	size_t count, cap;
};

const struct code_area *area_at(const struct code_areas *areas, uint64_t at);
/* True: enough was seen. */
typedef bool word_fn(void *arg, const struct code_area *area, uint64_t word);
/* Call `fn` with each word in the process's memory that leads into an area. -E2BIG: there is too
 * much memory; else -errno, when not all of it could be searched. */
int memory_search(struct inject *x, const struct threads *t, struct mappings *all,
		  const struct code_areas *areas, word_fn *fn, void *arg);

#endif
