/* Places in files, each once: a probe's site is the same place in all processes. */
#ifndef NOPAL_USER_RUN_PLACES_H
#define NOPAL_USER_RUN_PLACES_H

#include "base/hash.h"
#include "program/program.h"

struct native_places {
	const struct attach **all; /* one of those that share the place */
	size_t count, cap;
	struct hash by_place;
};

bool places_have(const struct native_places *places, const struct attach *at);
/* 0, also when it is there, or in no file and so never added; -ENOMEM. */
int places_add(struct native_places *places, const struct attach *at);
void places_free(struct native_places *places); /* may be used again */

#endif
