/* The types of a compiled script, and how a value of each lies in memory. One layout serves map
 * keys, map values, slots and records, whichever engine writes it: native byte order, every value a
 * multiple of 8 bytes long.
 *
 *   INT FLOAT NAME   8 bytes
 *   STR BUF          struct text_head, then `size` bytes, zero-padded
 *                    (as a field of a record: only `len` bytes, zero-padded to a multiple of 8)
 *   USTACK KSTACK    struct stack_head, then `size` / 8 frames, zero-padded: addresses, or of
 *                    USTACK offsets in files (unwind/tables.h, UNWIND_FRAME_FILE)
 *                    (as a field of a record: only `count` of them)
 *   LSTACK           the frames of a script, two words a frame: object and position (lang/lang.h)
 *   DISPLAY          `size` bytes: one to three words
 *   TUPLE            its elements, one after the other, at full size (in a record, too)
 */
#ifndef NOPAL_PROGRAM_TYPE_H
#define NOPAL_PROGRAM_TYPE_H

#include "base/str.h"
#include "program/numbers.h"

struct ctype;

enum type_kind {
	TYPE_NONE,
	TYPE_INT,   /* `size` 1, 2, 4, 8 is the declared width; always held extended to 8 bytes   */
	TYPE_FLOAT, /* IEEE bits in the low `size` bytes, 4 or 8                                  */
	TYPE_STR,   /* text of at most `size` bytes, no NUL counted; `size` is a multiple of 8    */
	TYPE_BUF,   /* bytes, as TYPE_STR                                                         */
	TYPE_NAME,  /* index into program->names: `probe`, `func`                                 */
	TYPE_TUPLE, /* elements                                                                   */
	TYPE_USTACK, /* user stack of at most `size` / 8 frames */
	TYPE_KSTACK,
	TYPE_LSTACK,  /* stack of a script, of at most `size` / 16 frames */
	TYPE_DISPLAY, /* words that are shown as `display` says                                   */
/* What only a map's value can be: see aggregates.h. ORDER: type_is_aggregate() */
#define AGGREGATE(kind, ...) TYPE_##kind,
#include "program/aggregates.h"
#undef AGGREGATE
};

/* The number of kinds. */
enum {
	TYPE_KINDS = TYPE_DISPLAY + 1
#define AGGREGATE(...) +1
#include "program/aggregates.h"
#undef AGGREGATE
};

/* Sets of kinds; those that a register holds. */
#define TYPE_BIT(kind) (1u << (kind))
#define TYPE_WORDS     (TYPE_BIT(TYPE_INT) | TYPE_BIT(TYPE_FLOAT) | TYPE_BIT(TYPE_NAME))
#define TYPE_BUCKETS   (TYPE_BIT(TYPE_HIST) | TYPE_BIT(TYPE_LHIST))

/* How an INT is shown, a TUPLE, or the number of an aggregate (SHOW_NUMBER and SHOW_HEX only); it
 * makes no difference to anything else. */
enum type_show {
	SHOW_NUMBER, /* 42 */
	SHOW_BOOL,   /* true */
	SHOW_CHAR,   /* 'a' */
	SHOW_HEX,    /* 0x7ffd2a80 */
	SHOW_ENUM,   /* the constant's name, when `ctype` has one */
	/* Of a TUPLE, where SHOW_NUMBER is (1, 2); or of a BUF that is an array of numbers. */
	SHOW_RECORD, /* { .a = 1, .b = 2 } */
	SHOW_ARRAY,  /* [1,2] */
	SHOW_MIXED,  /* of (USTACK, LSTACK): both as one stack */
	/* Of a stack, where SHOW_NUMBER is main+18. */
	SHOW_PERF,     /* 11a2 main+18 (/usr/bin/x) */
	SHOW_RAW,      /* 7ffd2a80: frames are addresses of the process, of no file */
	SHOW_FILE,     /* x+0x11a2 */
	SHOW_BUILD_ID, /* 4f3ad83b... 0x11a2 */
};

/* Which clock a number of nanoseconds is of: strftime() shows the time of day. */
enum type_clock {
	CLOCK_SINCE_BOOT, /* as CLOCK_MONOTONIC */
	CLOCK_WITH_SLEEP, /* as CLOCK_BOOTTIME */
	CLOCK_OF_DAY,	  /* since 1970 */
};

struct type {
	enum type_kind kind;
	uint32_t size;	   /* see the kinds */
	bool is_signed;	   /* INT, SUM, MIN, MAX, AVG, STATS, HIST */
	bool is_open;	   /* INT, aggregates, of scripts only: what it really is shows
			      when an image with the probe is there */
	uint8_t show;	   /* INT, TUPLE, stacks, aggregates: enum type_show */
	uint8_t shown;	   /* INT: bytes that %x, %u and %o show; 0: `size` */
	bool is_flexible;  /* INT, of scripts only: of constants that are not negative, so that it
			      has the sign of what it meets */
	bool is_raw;	   /* INT: a register, of whose 64 bits %d shows 32 */
	uint32_t capacity; /* STR, of scripts only: bytes with the NUL that sizeof() says; 0: `size`
			    */
	bool is_kernel;	   /* of scripts only: from kernel memory, so an address of it */
	/* HIST: 0..6 extra bits per power of two; BUF as SHOW_ARRAY: an element's bytes */
	uint8_t bits;
	uint8_t clock;	     /* INT, of scripts only: enum type_clock */
	uint8_t hidden_bits; /* HIST: of these, not shown: they are for percentiles */
	/* What C calls it, NULL: nothing does. Reports look at SHOW_ENUM's, scripts at all: what a
	 * pointer points to is nowhere else. */
	const struct ctype *ctype;
	int64_t min, max, step;	     /* LHIST */
	struct str name;	     /* of an element of a SHOW_RECORD */
	const struct type *elements; /* TUPLE */
	unsigned element_count;
	const char *display; /* DISPLAY: "usym", "time": a row of report/display.c */
};

/* A type that is only shown: `words` of 8 bytes, 1 to 3. What they mean is up to the builtin that
 * makes them and the row of report/display.c that prints them. */
/* clang-format off */
#define DISPLAY_TYPE(name, words)                                            \
	{                                                                    \
		.kind = TYPE_DISPLAY, .size = 8 * (words), .display = (name) \
	}
/* clang-format on */

/* A stack, of whatever kind. */
static inline bool type_is_stack(const struct type *t)
{
	return t->kind == TYPE_USTACK || t->kind == TYPE_KSTACK || t->kind == TYPE_LSTACK;
}

/* With this many bits the middle of a bucket is less than 1 % off each value in it. */
#define HIST_MAX_BITS 6

#define TEXT_CUT	1u /* the type's `size` cut it; print a trailer */
#define TEXT_UNREADABLE 2u /* the address could not be read; len is 0 */
#define TEXT_NULL	4u /* the address was 0; len is 0 */

struct text_head {
	uint32_t len;
	uint32_t flags;
};

struct stack_head {
	uint32_t count; /* frames that follow; LSTACK: words */
	/* The low 24 bits: the process, as the tracer's pid namespace has it; 0 for kernel stacks,
	 * and for those of which all frames are offsets in files. Above them: enum unwind_end. */
	uint32_t pid;
};

/* ustack(mixed) */
static inline bool type_is_mixed(const struct type *t)
{
	return t->kind == TYPE_TUPLE && t->show == SHOW_MIXED;
}

#define STACK_PID_BITS 24 /* the kernel's numbers have at most 22 */

bool type_equal(const struct type *a, const struct type *b);
/* Values of one can be copied into the other byte by byte: equal except for the width and sign of
 * ints. */
bool type_same_layout(const struct type *a, const struct type *b);
/* Bytes a value takes in a slot, key or map value. */
size_t type_memory(const struct type *t);
bool type_is_aggregate(const struct type *t);
/* A row of aggregates.h. */
struct aggregation {
	uint8_t words;
	bool is_scalar;
	enum aggregate_takes takes;
	enum aggregate_join join;
};
const struct aggregation *type_aggregation(const struct type *t); /* NULL: it is none */
/* Can a script read a map's value of this type? Histograms and statistics are only printed. */
bool type_is_readable(const struct type *t);
/* Is a map's value of this type the sum of all CPUs' values, word by word? */
bool type_adds_up(const struct type *t);
/* An aggregate's memory, aligned to 8 bytes, takes in a number, or what another CPU's took in. */
void aggregate_take(const struct type *t, void *memory, uint64_t n);
void aggregate_merge(const struct type *t, void *memory, const void *other);
/* What an aggregate is sorted by, and what a script reads if it can: the number, the average, or
 * how much was counted. Memory at any alignment. */
uint64_t aggregate_number(const struct type *t, const void *memory);
/* How many values a histogram has taken in. Memory at any alignment. */
uint64_t histogram_count(const struct type *t, const void *memory);
/* The smallest value that at least `millionths` millionths of a histogram's values do not exceed:
 * the middle of its bucket; -1 for negative values of hist(), the bounds for those outside of
 * lhist(). 0: it has no values. */
uint64_t aggregate_percentile(const struct type *t, const void *memory, uint64_t millionths);
/* The sum of a histogram's values, each as the middle of its bucket. */
double histogram_sum(const struct type *t, const void *memory);
/* The number that IEEE bits of `size` bytes, 4 or 8, are. */
double float_of_bits(uint64_t bits, unsigned size);
/* Text for messages and dumps: "int32", "uint64", "string[64]", "(int64,string[64])", "hist(2)". */
struct buf;
void type_print(const struct type *t, struct buf *out);

/* Those of hist(): numbers.h. */
unsigned lhist_buckets(const struct type *t);
unsigned lhist_bucket(const struct type *t, int64_t value);

#endif
