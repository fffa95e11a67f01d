/* A set of engines: what set.c and set_choose.c share. */
#ifndef NOPAL_ENGINE_SET_H
#define NOPAL_ENGINE_SET_H

#include "engine/engine.h"

#define NO_MEMBER UINT8_MAX

/* Where a clause of the first program runs. */
struct seat {
	uint8_t member;
	uint32_t clause; /* its number there */
};

struct set {
	struct engine engine; /* first: what others hold */
	struct arena arena;
	struct engine *members[ENGINES_MAX];
	bool is_used[ENGINES_MAX]; /* it has clauses */
	unsigned count;
	uint8_t *owners; /* of each map: the member whose clauses use it, or NO_MEMBER */
	bool *is_shared; /* of each map: each member may have a part of it */
	const struct map_def *maps;
	bool grows; /* it may be extended: then nothing is shared */
	uint32_t map_count;
	struct seat *seats;
	uint32_t seat_count;
};

/* chosen[i] becomes the member that runs clause i of `p`. Clauses that share a map go to the same
 * one. 0, -ENOMEM, or why no engine can run a clause. */
int set_choose(struct set *s, const struct program *p, uint8_t *chosen, struct diag *d);

#endif
