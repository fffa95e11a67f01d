/* The words of a text as a set, to ask many times whether it has one: the text is gone through
 * once. */
#ifndef NOPAL_PROVIDER_WORDS_H
#define NOPAL_PROVIDER_WORDS_H

#include "base/arena.h"

struct words {
	uint32_t *hashes; /* open addressing; 0: free */
	size_t mask;
};

/* Lives in `a`. -ENOMEM. */
int words_of(struct str text, struct arena *a, struct words *out);
/* True also, once in a while, for a word that is not there. A word is letters, digits and '_'. */
bool words_have(const struct words *w, struct str word);

#endif
