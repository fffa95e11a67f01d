/* How to go from a function to its caller at each address of an image, from its call frame
 * information (.eh_frame, .debug_frame: DWARF 5, 6.4; Linux Standard Base 5, 10.6): x86-64 and
 * aarch64. In: an image, untrusted. Out: a table of rows, 4 bytes each, and rules that the tables
 * of all images share, because the same few hundred occur everywhere.
 *
 *	row  { pc 0x0,    rule 7 }	rule 7  { CFA = sp + 8,  return address at CFA - 8 }
 *	row  { pc 0x1,    rule 9 }	rule 9  { CFA = sp + 16, return address at CFA - 8,
 *	row  { pc 0x2f,   rule 7 }	          frame pointer at CFA - 16 }
 *	row  { pc 0x30,   rule 0 }	rule 0  nothing is known from here to the next row
 *
 * The code is split into chunks of 4 KiB. A row has only its place in its chunk; an index says, for
 * each chunk, which row is the last one before it, and that one holds at the start of the chunk.
 *
 * The CFA (canonical frame address) is the stack pointer's value in the caller, just before the
 * call. Rows and rules are also read by programs in the kernel, so their layout is fixed. */
#ifndef NOPAL_UNWIND_UNWIND_H
#define NOPAL_UNWIND_UNWIND_H

#include "base/hash.h"
#include "elf/image.h"

struct unwind_row {
	uint16_t pc;   /* from the start of its chunk; holds up to the next row */
	uint16_t rule; /* number */
};

#define UNWIND_CHUNK_SHIFT 12
#define UNWIND_CHUNK	   (1u << UNWIND_CHUNK_SHIFT) /* bytes of code, and the most rows of them */

/* How the CFA is computed. */
enum unwind_cfa {
	UNWIND_NONE,	/* no function is here, or none with such information */
	UNWIND_SP,	/* sp + cfa_off */
	UNWIND_FP,	/* fp + cfa_off */
	UNWIND_SP_LOAD, /* what is stored at sp + cfa_off */
	UNWIND_FP_LOAD, /* what is stored at fp + cfa_off; functions that realign their stack */
	UNWIND_PLT,	/* sp + 8, or 8 more when the low 4 bits of pc are at least cfa_off */
	UNWIND_UNKNOWN, /* something that rules cannot say */
	UNWIND_REFUSED, /* there were too many rules already */
};

/* Where a register of the caller is. */
enum unwind_place {
	UNWIND_SAME,   /* unchanged; of the return address: in the link register */
	UNWIND_AT_CFA, /* stored at CFA + offset */
	UNWIND_AT_SP,  /* stored at sp + offset */
	UNWIND_AT_FP,  /* stored at fp + offset */
	UNWIND_LOST,   /* of the return address: this is the outermost frame */
	UNWIND_BAD,    /* something that rules cannot say */
};

#define UNWIND_SIGNAL                                                         \
	0x80 /* of `ra`: the frame of a signal handler's caller, at which any \
	      * instruction may have been interrupted: no call is before pc */

struct unwind_rule {
	uint8_t cfa; /* enum unwind_cfa */
	uint8_t fp;  /* enum unwind_place of the caller's frame pointer */
	uint8_t ra;  /* enum unwind_place of the return address, and UNWIND_SIGNAL */
	int8_t more; /* added to a loaded CFA */
	int32_t cfa_off, fp_off, ra_off;
};

/* Numbers of rules that are always the same. */
enum {
	UNWIND_RULE_NONE,
	UNWIND_RULE_UNKNOWN,
	UNWIND_RULE_REFUSED,
	UNWIND_RULE_CHAIN, /* of frame pointers: code made at run time */
};

#define UNWIND_RULES_MOST 16384	     /* a power of two; 1,500 files of a system have 3,500 */
#define UNWIND_ROWS_MOST  (1u << 22) /* of one file */

/* The rules of all tables of a run. */
struct unwind_rules {
	struct unwind_rule items[UNWIND_RULES_MOST];
	uint32_t count;
	uint32_t refused; /* that found no room: rows have UNWIND_RULE_REFUSED instead */
	struct hash by_value;
	uint16_t recent[1024]; /* numbers found lately, by a few bits of the rules */
};

int unwind_rules_init(struct unwind_rules *r); /* -ENOMEM */
void unwind_rules_free(struct unwind_rules *r);

/* The rows of one image. */
struct unwind_table {
	uint64_t base;		 /* link-time address that chunks count from */
	struct unwind_row *rows; /* by pc; the first is at `base`, the last has UNWIND_RULE_NONE */
	size_t count, cap;
	uint32_t *before; /* by chunk: the last row before it; of the first chunk: the first row */
	size_t chunk_count, chunk_cap;
};

/* Can rows be read for this CPU (EM_X86_64)? */
bool unwind_knows_cpu(uint16_t machine);

/* An image; `path` and `root` as for debugfile_open(), or without a path: no other file is read. */
struct unwind_source {
	const struct image *image;
	struct str path, root;
};

/* Read the table of an image; where that says nothing of much of its code, of its separate debug
 * file, too. Memory and work come out of the image's budget. No rows: there is no such information.
 * -ENOTSUP: of another CPU; -EBADMSG: it is damaged from its start; -E2BIG, -ENOMEM. */
int unwind_table_read(const struct unwind_source *source, struct unwind_rules *rules,
		      struct unwind_table *out);
void unwind_table_free(struct unwind_table *t);
/* The row at a link-time address; NULL: there is none. */
const struct unwind_row *unwind_row_at(const struct unwind_table *t, uint64_t address);
/* The number of its rule. */
uint16_t unwind_rule_at(const struct unwind_table *t, uint64_t address);

/* ---- step.c: one step, as the programs in the kernel make it. */

struct unwind_regs {
	uint64_t pc, sp, fp;
	uint64_t lr;   /* aarch64: of the innermost frame, and of one that a signal interrupted */
	bool is_exact; /* pc is where it stands, not where a call returns to */
	bool has_lr;   /* the CPU has a link register: aarch64 */
};

#define UNWIND_NO_LR 1 /* it is not known; an address of code is even there */

/* Why a stack ends where it does. Kept with a stack, in the order of this list. */
enum unwind_end {
	UNWIND_GOES_ON, /* nothing said; of a stack: it was followed by frame pointers */
	UNWIND_ROOT,	/* its outermost frame */
	UNWIND_LIMIT,	/* as many frames as were asked for */
	UNWIND_NO_ROWS, /* the file of the last frame says nothing about this address */
	UNWIND_NO_ROOM, /* there was no room for what the file of the last frame says there */
	UNWIND_LATER, /* the file of the last frame was mapped so lately that it was not read yet */
	UNWIND_NOT_RULE,   /* the file says something that rules cannot say */
	UNWIND_UNREADABLE, /* the memory of the stack cannot be read, or makes no sense */
	UNWIND_NOT_CODE,   /* the return address is in no code that is known of */
	UNWIND_NO_FRAMES,  /* the last frame is of code made at run time without frame pointers */
	UNWIND_NO_PROCESS, /* the mappings of the process are not known */
	UNWIND_CHAINED,	   /* in user mode, where it was followed by frame pointers */
	UNWIND_BUSY, /* the mappings were being changed, and could not be asked for the next frame
		      */
	UNWIND_ENDS_COUNT_,
};

/* 8 bytes of the stack. False: unreadable. */
typedef bool unwind_read_fn(void *arg, uint64_t address, uint64_t *out);

/* From a frame to its caller by the rule at its pc. *regs is untouched unless it goes on. */
enum unwind_end unwind_step(const struct unwind_rule *rule, struct unwind_regs *regs,
			    unwind_read_fn *read, void *arg);

#endif
