/* Emitting the functions of walks. */
#include "engine/bpf/walk/bodies.h"

void walk_bodies(struct walks *w)
{
	/* They ask for others. */
	for (size_t i = 0; i < w->count && !w->code->failed; i++) {
		const struct walk_body b = w->bodies[i]; /* a copy: the array grows */

		if (b.kind == WALK_SCRIPT || b.kind == WALK_STAGES)
			script_walk_body(w, &b);
		else
			user_walk_body(w, &b);
	}
}
