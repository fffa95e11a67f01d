/* The two probes of an operation: where it starts, and where it is done. */
#ifndef NOPAL_CMD_PAIR_H
#define NOPAL_CMD_PAIR_H

#include <stdbool.h>

#include "command.h"
#include "run.h"
#include "script_text.h"

struct pair {
	/* As typed, or as a script has them: probe_word_write() takes both. */
	const char *start, *done;
	char *own_start, *own_done; /* what pair_free() frees */
	bool is_function;	    /* a uprobe and its uretprobe */
};

/* Take `count` words: START DONE; a function, uprobe:FILE:FUNCTION; or the name of a pair,
 * PROVIDER:NAME or FILE:PROVIDER:NAME, of which the probes are called as is usual: NAME__start and
 * NAME__done, NAME-entry and NAME-return. 0, or an exit code after a message. */
int pair_find(const struct command *c, char **words, int count, const struct run *run,
	      struct pair *out);
/* What start and done have in common, if every site of both says so: a key for @m[KEY]; NULL:
 * nothing is known. */
const char *pair_key(const struct pair *p, const struct run *run);
/* Is, by their names, the first the end of the second? */
bool pair_is_reversed(const struct pair *p);
void pair_free(struct pair *p);

#endif
