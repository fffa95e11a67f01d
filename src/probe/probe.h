/* What a USDT probe is, once read from an ELF file: provider:name at a site, with arguments and a
 * semaphore.
 *
 * All text borrows from the list's arena, so a site is valid as long as its list. */
#ifndef NOPAL_PROBE_PROBE_H
#define NOPAL_PROBE_PROBE_H

#include "probe/argument.h"

/* What a program says of a site besides its arguments. */
struct description {
	struct str file; /* "src/tick.c"; empty: not known */
	unsigned line;	 /* 0: not known */
	struct str text; /* "a request was answered": a line for people; empty: none */
};

struct site {
	struct str provider;
	struct str name;
	uint64_t location;  /* link-time address, after prelink adjustment */
	uint64_t base;	    /* the note's base field, unchanged */
	uint64_t semaphore; /* link-time address, adjusted; 0: none */
	uint64_t offset;    /* location as a file offset; SITE_NO_OFFSET when no segment holds it */
	uint64_t sema_offset; /* semaphore as a file offset; 0: none */
	bool is_entry;	      /* a 5-byte nop at a function's first instruction */
	struct str args_text; /* as the note has it: "-4@%eax 8@%rbx" */
	struct operand *operands;
	unsigned operand_count;
	struct argument *args; /* one for each operand; NULL: nothing is known, or not asked for */
	const struct description *described; /* NULL: the program says nothing about it */
	bool is_asked;			     /* provider files were asked about its arguments ... */
	bool is_declared;		     /* ... and have it */
	const char *problem;		     /* why it cannot be attached; NULL: fine */
};

#define SITE_NO_OFFSET UINT64_MAX

/* The order of two sites by the probe they belong to: name, then provider. */
int site_compare_probes(const struct site *a, const struct site *b);

/* The sites of one ELF file, in the order of its notes. */
struct site_list {
	struct arena arena;
	const struct arch *arch;
	struct str build_id; /* hex digits; empty: none */
	struct site *sites;
	size_t count;
	bool is_whole; /* has all sites of the file, whichever were wanted */
};

#endif
