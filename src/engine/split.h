/* What engines of a set share: clauses whose sites are divided among them, and the maps of these.
 */
#ifndef NOPAL_ENGINE_SPLIT_H
#define NOPAL_ENGINE_SPLIT_H

#include "engine/engine.h"

/* A program whose clauses may be cut in two. */
struct split {
	const struct program *program;
	uint32_t *origins; /* of each of its clauses: the number before */
	bool *is_shared;   /* of each map: each engine may have a part of it */
};

/* Cut every clause of `p` that the first engine can run at some of its sites but not at all of
 * them, if its maps can be shared: aggregations, which only the user reads. Memory of
 * the arena. -ENOMEM. */
int split_program(struct arena *arena, const struct engine *first, const struct program *p,
		  struct split *out);
/* Nothing is cut or shared. */
int split_nothing(struct arena *arena, const struct program *p, struct split *out);

/* The entries of a map that several stores have a part of: those of equal keys are merged. -ENOMEM,
 * or what `fn` returned. */
int split_map_each(const struct map_store *const *stores, unsigned count, const struct map_def *def,
		   uint32_t map, map_entry_fn *fn, void *arg);

#endif
