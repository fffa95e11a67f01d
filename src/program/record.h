/* What comes out of a run. Records: what an engine sends for an event, and the values in them and
 * in maps. Every byte is treated as hostile: a record may come from memory that a traced process
 * can write.
 *
 *   u32 size     of the whole record, a multiple of 8
 *   u16 format   index into program->formats
 *   u16 flags    0
 *   fields       packed, as type.h says under "records"
 */
#ifndef NOPAL_PROGRAM_RECORD_H
#define NOPAL_PROGRAM_RECORD_H

#include "base/cursor.h"
#include "program/program.h"

struct record_head {
	uint32_t size;
	uint16_t format;
	uint16_t flags;
};

/* A decoded value; borrows its bytes. */
struct value {
	const struct type *type;
	uint64_t bits;	  /* INT, FLOAT, NAME; DISPLAY: its first word; aggregates: unused */
	uint64_t extra;	  /* DISPLAY: its second word; STACK: pid */
	uint64_t third;	  /* DISPLAY */
	uint32_t flags;	  /* TEXT_*; STACK: enum unwind_end */
	struct str bytes; /* STR, BUF: the text; STACK: the addresses; TUPLE: its elements, for
			   * value_decode; aggregates: the value as it lies in memory */
};

struct record {
	const struct format *format;
	struct cursor rest; /* fields not yet taken */
};

/* Open the record in `bytes`: checks size and format. -EPROTO. */
int record_open(const struct program *p, struct str bytes, struct record *out);
/* The next field, of type t. -EPROTO when it does not fit. */
int record_field(struct record *r, const struct type *t, struct value *out);
/* A value as it lies in a slot, key or map value (strings at full size). -EPROTO. */
int value_decode(const struct type *t, struct cursor *from, struct value *out);
/* Word number `i` of an aggregate; 0 after its end. */
uint64_t value_word(const struct value *v, size_t i);
/* Order of two keys or values of one type, for sorted printing. */
int value_compare(const struct value *a, const struct value *b);

/* ---- what a run leaves to be read: its maps, wherever they are kept, and counts of what went
 * wrong. Engines fill these; reports show them. */

typedef int map_entry_fn(void *arg, struct str key,
			 struct str value); /* full memory layout, CPUs merged */

/* The maps of a program by their numbers in it; program->maps[] has their names and types. */
struct map_store {
	void *self; /* passed back to each of: */
	int (*each)(void *self, uint32_t map, map_entry_fn *fn, void *arg);
	int (*clear)(void *self, uint32_t map); /* remove all keys */
	int (*zero)(void *self, uint32_t map);	/* keep the keys, zero the values */
	/* Give each entry and clear or zero the map, so that every event is either in what was
	 * given or in what comes next. NULL: nothing happens between `each` and `clear`. */
	int (*take)(void *self, uint32_t map, enum format_take what, map_entry_fn *fn, void *arg);
};

/* clang-format off */
static inline int map_each(const struct map_store *m, uint32_t map, map_entry_fn *fn, void *arg) { return m->each(m->self, map, fn, arg); }
static inline int map_clear(const struct map_store *m, uint32_t map) { return m->clear(m->self, map); }
static inline int map_zero(const struct map_store *m, uint32_t map) { return m->zero(m->self, map); }
/* clang-format on */

static inline int map_take(const struct map_store *m, uint32_t map, enum format_take what,
			   map_entry_fn *fn, void *arg)
{
	int err;

	if (what && m->take)
		return m->take(m->self, map, what, fn, arg);
	err = map_each(m, map, fn, arg);
	if (err || !what)
		return err;
	return what == TAKE_ENTRIES ? map_clear(m, map) : map_zero(m, map);
}

/* What was not delivered, exactly; all numbers since attach. */
struct run_stats {
	uint64_t lost_records; /* data records that found the ring full */
	uint64_t lost_updates; /* map updates refused: the map was full */
	uint64_t unmapped;     /* user mode: ... or the process could not map more of it */
	uint64_t lost_scratch; /* runs of clauses given up for want of scratch memory; none of their
				  effects happened */
	uint64_t loop_limits;  /* loops cut short */
	bool files_missed;     /* files that the traced process mapped later could not be armed */
	bool none_seen;	       /* user mode: no process that was looked at had any of the probes */
	uint64_t untraced;     /* user mode: programs that it could not trace */
	uint64_t late;	       /* ... and that ran before they were traced */
	uint64_t missed;       /* user mode: processes that had a file with probes mapped, and ended
				  before they were traced */
	struct str missed_file; /* ... the first of these; the engine's */
	bool had_children; /* user mode: the process has had children, which were to be traced */
	uint64_t waited; /* user mode: times that threads resumed before their probes were armed */
	uint64_t kept; /* user mode: bytes that stay mapped, in how many processes, the first one */
	unsigned kept_processes;
	int32_t kept_pid;
	int32_t armed_pid;  /* user mode: whose sites could not be restored; 0: none */
	int armed_err;	    /* ... -errno */
	uint64_t uncleaned; /* user mode: children with sites that were not reached at the end */
	uint64_t disturbed; /* user mode: sites on which others had breakpoints at the end */
	uint64_t spoiled;   /* user mode: parts of rings that were corrupted, as a traced process
			       has written there */
	uint64_t children;  /* processes the traced one started, not followed */
	uint64_t semaphores_late;      /* processes that began before their semaphores were raised,
					  which the kernel cannot do ... */
	uint64_t semaphores_late_most; /* ... by at most so much, ns */
	uint64_t semaphores_missed;    /* ... and that ended before */
};

/* One count of things that went wrong at one span of the script. */
struct run_fault {
	uint32_t span; /* index into program->spans */
	enum {
		FAULT_READ,
		FAULT_MAP_FULL,
		FAULT_LOOP_LIMIT,
		FAULT_DIVIDE,
		FAULT_SIGNAL,
		FAULT_WRITE,
		FAULT_INDEX,	  /* of an array, and outside of it */
		FAULT_UNSEEN,	  /* a return whose call was not seen */
		FAULT_LOOKUP,	  /* -k: a key that is read, and not there */
		FAULT_DELETION,	  /* -k: ... that is deleted */
		FAULT_ASK,	  /* user mode: no system call may be made in the process */
		FAULT_MAP_MEMORY, /* user mode: a process cannot map more of the map */
		FAULT_KINDS
	} kind;
	uint64_t count;
};

typedef int fault_fn(void *arg, const struct run_fault *fault);

#endif
