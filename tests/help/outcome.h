/* All that came out of a run of a program, as text: what two engines, or two kinds of maps, must
 * have in common. */
#ifndef NOPAL_TESTS_HELP_OUTCOME_H
#define NOPAL_TESTS_HELP_OUTCOME_H

#include "engine/engine.h"

struct outcome {
	const struct program *p;
	struct buf text;
	struct str entries[16384]; /* lines in no order of their own, to be sorted */
	size_t count;
	struct arena arena;
};

/* For engine_drain() and engine_faults(), and what does the same; arg: a struct outcome. */
int outcome_record(void *arg, struct str bytes);
int outcome_fault(void *arg, const struct run_fault *fault);

void outcome_maps(struct outcome *o, const struct map_store *maps);

/* After the faults. */
void outcome_counts(struct outcome *o, const struct run_stats *stats);
void outcome_free(struct outcome *o);

/* Whether both are the same; else what differs is printed, up to a few lines of each. */
bool outcome_same(const struct outcome *a, const char *a_name, const struct outcome *b,
		  const char *b_name);

#endif
