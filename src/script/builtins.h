/* Builtins and functions: one table, and what its rows are made of. */
#ifndef NOPAL_SCRIPT_BUILTINS_H
#define NOPAL_SCRIPT_BUILTINS_H

#include "script/check.h"
#include "script/lower.h"

enum function_use {
	USE_NAME = 1,	   /* stands for itself: pid */
	USE_CALL = 2,	   /* is called: str(p) */
	USE_STATEMENT = 4, /* has no value: printf(...) */
	USE_AGGREGATE = 8, /* only as the value of a map: @ = count() */
	USE_UNSAFE = 16,   /* only with --unsafe */
};

/* Arguments of a function, one letter each; those behind a '[' may be left out:
 *
 *   i  an integer           p  an address             c  a constant integer
 *   s  a string literal     t  any string             e  any value
 *   m  a map without a key  M  a map, with or without a key
 *   x  anything: `check` looks at it itself           *  any number of values */
struct function {
	const char *name;
	const char *args;
	unsigned uses; /* enum function_use */
	/* The type rule: sets e->shape; arguments are typed and fit `args`. */
	int (*check)(struct check *c, struct expr *e);
	/* Code that leaves the value in register or slot `out`, by its type. */
	void (*lower)(struct lower *l, const struct expr *e, uint16_t out);
	int number; /* for the two functions above: BUILTIN_PID, TYPE_SUM, FORMAT_CLEAR */
};

/* NULL when there is none of this name. "arg7" is the row "argN". */
const struct function *function_find(struct str name);
/* The nearest name to a misspelt one, or NULL. */
const char *function_guess(struct str name);
/* Is it one of bpftrace's that cannot be had here? */
bool function_is_foreign(struct str name);
/* "arg7" -> 7, below 128. */
bool arg_number(struct str name, unsigned *out);

#endif
