/* Arguments of functions at their returns: a clause at the entry keeps them. */
#ifndef NOPAL_SCRIPT_SAVED_ARGS_H
#define NOPAL_SCRIPT_SAVED_ARGS_H

#include "script/lower/lower.h"

/* What a variant of returns reads, while it is lowered. */
struct saved_args {
	uint16_t numbers[PROGRAM_MAX_PARTS - 1]; /* of the arguments, in the order of the words */
	unsigned count;
	uint16_t slot; /* the words, after that of saved_args.c */
	size_t end;    /* of the instructions that take them */
	struct map *map;
};

/* Does the variant read arguments at a return? */
bool saved_args_wanted(const struct variant *v);
/* At the start of the code: take what the entry has kept, or leave the clause. */
void saved_args_open(struct lower *l, struct saved_args *k, struct label *end);
/* Argument n, which becomes one of those that are kept. */
void saved_args_argument(struct lower *l, unsigned n, uint16_t out);
/* After the code: the map and the types are known. */
void saved_args_close(struct lower *l);
/* The clause for the entries. */
int saved_args_clause(struct script *s, const struct variant *v, const struct saved_args *k,
		      struct clause *out, struct diag *d);

#endif
