/* Stacks of scripts, in the memory that traced processes and the tracer share: where the runtimes
 * of each process are, which the tracer writes; and the functions that were met, with all that
 * their names are made of, which processes write. Freestanding. */
#ifndef NOPAL_USER_INSIDE_LANGS_H
#define NOPAL_USER_INSIDE_LANGS_H

#include "lang/frames.h"

#define LANG_PLACES 256 /* programs that are traced in a run; those of later ones are not known */
#define LANG_FUNCTIONS \
	4096		/* that are kept; names of later ones are read from the living process */
#define LANG_SEEN 16384 /* words of a hash table, a power of two */
#define LANG_READ (LANG_PERL + 1)

/* The runtimes of a program that runs in a process; children of fork share those of their parent.
 */
struct lang_place {
	uint64_t known; /* bits of enum lang_kind; bit 0: targets[0] is the first of them */
	struct lang_target targets[LANG_READ];
};

struct lang_function {
	uint64_t is_ready;
	struct lang_definition head;
	char bytes[LANG_BYTES];
};

struct lang_area {
	uint64_t count; /* of functions, ready or not; may be more than there is room for */
	uint64_t seen[LANG_SEEN];
	struct lang_place places[LANG_PLACES];
	struct lang_function functions[LANG_FUNCTIONS];
};

#endif
