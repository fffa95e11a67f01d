/* What a run of a program leaves to be read: its maps, wherever they are kept, and counts of what
 * went wrong. Engines fill these; reports show them. */
#ifndef NOPAL_PROGRAM_OUTCOME_H
#define NOPAL_PROGRAM_OUTCOME_H

#include "base/str.h"

typedef int map_entry_fn(void *arg, struct str key,
			 struct str value); /* full memory layout, CPUs merged */

/* The maps of a program by their numbers in it; program->maps[] has their names and types. */
struct map_store {
	void *self; /* passed back to each of: */
	int (*each)(void *self, uint32_t map, map_entry_fn *fn, void *arg);
	int (*clear)(void *self, uint32_t map); /* remove all keys */
	int (*zero)(void *self, uint32_t map);	/* keep the keys, zero the values */
};

/* clang-format off */
static inline int map_each(const struct map_store *m, uint32_t map, map_entry_fn *fn, void *arg) { return m->each(m->self, map, fn, arg); }
static inline int map_clear(const struct map_store *m, uint32_t map) { return m->clear(m->self, map); }
static inline int map_zero(const struct map_store *m, uint32_t map) { return m->zero(m->self, map); }
/* clang-format on */

/* What was not delivered, exactly; all numbers since attach. */
struct run_stats {
	uint64_t lost_records; /* data records that found the ring full */
	uint64_t lost_updates; /* map updates refused: the map was full */
	uint64_t lost_scratch; /* runs of clauses given up for want of scratch memory; none of their
				  effects happened */
	uint64_t loop_limits;  /* loops cut short */
	bool files_missed;     /* files that the traced process mapped later could not be armed */
	uint64_t children;     /* processes the traced one started, not followed */
};

/* One count of things that went wrong at one span of the script. */
struct run_fault {
	uint32_t place; /* index into program->places */
	enum { FAULT_READ, FAULT_MAP_FULL, FAULT_LOOP_LIMIT, FAULT_DIVIDE } kind;
	uint64_t count;
};

typedef int fault_fn(void *arg, const struct run_fault *fault);

#endif
