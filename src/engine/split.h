/* What engines of a set share: clauses whose sites are divided among them, and the maps of these.
 */
#ifndef NOPAL_ENGINE_SPLIT_H
#define NOPAL_ENGINE_SPLIT_H

#include "engine/engine.h"

/* A program whose clauses may be cut in two. */
struct split {
	const struct program *program;
	uint32_t *origins; /* of each of its clauses: the number before */
};

/* Which maps can be shared, so that each engine has a part: aggregations that only the user reads.
 * `grows`: programs that extend this one must not read them, either. NULL: no memory. */
bool *split_maps(struct arena *arena, const struct program *p, bool grows);
/* Does a program that extends the first leave the shared maps what they are? */
bool split_may_extend(const struct program *p, const bool *shared);
/* Does the clause use a map that is not shared? */
bool split_has_own_maps(const struct program *p, const struct clause *c, const bool *shared);
/* Cut every clause of `p` that the first engine can run at some of its sites but not at all of
 * them, if all its maps are shared. Memory of the arena. -ENOMEM. */
int split_program(struct arena *arena, const struct engine *first, const struct program *p,
		  const bool *shared, struct split *out);

/* The entries of a map that several stores have a part of: those of equal keys are merged. -ENOMEM,
 * or what `fn` returned. */
int split_map_take(const struct map_store *const *stores, unsigned count, const struct map_def *def,
		   uint32_t map, enum format_take what, map_entry_fn *fn, void *arg);

#endif
