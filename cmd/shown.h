/* The arguments of a probe that a command shows of its own accord. */
#ifndef NOPAL_CMD_SHOWN_H
#define NOPAL_CMD_SHOWN_H

#include "pair.h"
#include "run.h"

/* Those that can be read. ORDER: the same in all three texts, which are owned. */
struct shown {
	char *values; /* "args.query, args.id"; NULL: none */
	char *names;  /* of the keys of JSON: "args.query args.id" */
	char *format; /* of printf(): "query=%s id=%ld" */
	unsigned count;
};

/* Of the pair's start: of a USDT probe its arguments, of a function the parameters that its debug
 * information names. Nothing is shown of what cannot be found. */
void shown_find(struct shown *s, const struct pair *pair, const struct run *run);
void shown_free(struct shown *s);

#endif
