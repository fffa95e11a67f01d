/* The slowest operations of nopal latency, as its script sends them. */
#ifndef NOPAL_CMD_SLOWEST_H
#define NOPAL_CMD_SLOWEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "nopal/show.h"

/* One operation. */
struct slow {
	uint64_t ns;
	char *text; /* process, thread, command, arguments, stack, separated by tabs; or an object
		       of JSON; owned */
};

#define SLOW_MOST 1000

struct slowest {
	struct slow *list; /* the slowest first; owned */
	size_t count, most;
	bool json, has_stack;
	char *rest; /* of a record that has not ended yet */
	size_t rest_len;
};

/* Keep of these records those that are among the slowest. A record is a line
 * "NS\tPID\tTID\tCOMM\tARGUMENTS"; with a stack it goes on with "\tSTACK", which is several lines,
 * and an empty line ends it; or it is an object: {"type": "slow", "ns": NS, ...}. */
void slowest_take(struct slowest *l, const char *text, size_t len);
/* As a table, each with its stack below it; or as lines of JSON. */
void slowest_print(const struct slowest *l, const struct nopal_look *look, FILE *out);
void slowest_free(struct slowest *l);

#endif
