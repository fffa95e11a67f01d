/* The list of the functions that walks have asked for. */
#include "engine/bpf/walk/bodies.h"

#include "base/array.h"

static bool same_body(const struct walk_body *a, const struct walk_body *b)
{
	return a->kind == b->kind && a->depth == b->depth && a->may_sleep == b->may_sleep &&
	       a->is_raw == b->is_raw && a->marks == b->marks;
}

int walks_body(struct walks *w, const struct walk_body *b)
{
	for (size_t i = 0; i < w->count; i++)
		if (same_body(&w->bodies[i], b))
			return w->bodies[i].label;
	if (array_grow(w->bodies, w->count, w->cap))
		w->code->failed = true;
	else
		w->bodies[w->count++] = *b;
	if (w->code->failed)
		return 0;
	w->bodies[w->count - 1].label = code_label(w->code);
	return w->bodies[w->count - 1].label;
}
