/* The address space of a process: what it has mapped, what it may map soon, and what is planned to
 * be mapped for it. */
#ifndef NOPAL_USER_PTRACE_SPACE_H
#define NOPAL_USER_PTRACE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct range {
	uint64_t start, end;
	uint64_t offset, inode; /* of the file */
	bool is_code, is_writable;
	bool is_vdso;	/* what the kernel has mapped for its fast calls */
	uint8_t spare;	/* free, but better left so, as the heap may grow there: 2 more than 1 */
	bool is_bodies; /* planned: trampolines, not landings */
};

#define SPARE_MOST 2

struct page_piece { /* bytes of a planned page that are spoken for */
	uint64_t start, end;
};

struct space {
	struct range *ranges; /* what must not be mapped over, by address */
	size_t count, cap;
	struct range *files; /* mappings of files */
	size_t file_count, file_cap;
	struct range *planned; /* to be mapped by us: code */
	size_t planned_count, planned_cap;
	size_t mapped_count; /* of these, those that are */
	struct page_piece *pieces;
	size_t piece_count, piece_cap;
	uint8_t spare; /* up to which that may be used; 0: none */
	uint64_t stub; /* room for the stub of remote.c; 0: none */
};

#define LEAST_PAGE 4096u

#if defined(__aarch64__)
#define PAGE	  65536u /* the largest of the three that kernels have: right with all of them */
#define SPACE_TOP 0xffffffff0000u
#else
#define PAGE	  4096u
#define SPACE_TOP 0x7ffffffff000u
#endif

/* Read the mappings; what was planned stays. */
int space_read(struct space *s, pid_t pid);
void space_free(struct space *s);
/* Where its mappings end: processes have fewer bits of addresses on some kernels. */
uint64_t space_top(const struct space *s);
/* Is all of it one mapping of code without a file? */
bool space_is_code(const struct space *s, uint64_t start, uint64_t end);
/* Are these bytes of planned pages that have been mapped? */
bool space_is_mapped(const struct space *s, uint64_t start, size_t size);
/* May these bytes be ours: pages that are free or planned, and no piece? */
bool space_has_room(const struct space *s, uint64_t start, size_t size);
/* Make them a piece, and their pages planned. -ENOMEM. */
int space_take(struct space *s, uint64_t start, size_t size, bool is_bodies);
/* Is some of it planned already? */
bool space_is_planned(const struct space *s, uint64_t start, uint64_t end);
/* Pages that are mapped already, by an earlier session or a parent. */
int space_adopt(struct space *s, const struct range *pages);
/* Another tracer may have unmapped such pages since: then they must be mapped again. */
int space_recheck_adopted(struct space *s, pid_t pid);
void space_give_back(struct space *s, uint64_t start, size_t size);
/* Whole free pages between low and high, the nearest to the middle; 0: there are none. */
uint64_t space_find(const struct space *s, size_t size, uint64_t low, uint64_t high);

#endif
