/* The list of the functions that walks have asked for. */
#include "engine/bpf/walk/bodies.h"

#include "base/array.h"

void walks_add_body(struct walks *w, const struct walk_body *b)
{
	if (array_grow(w->bodies, w->count, w->cap))
		w->code->failed = true;
	else
		w->bodies[w->count++] = *b;
}
