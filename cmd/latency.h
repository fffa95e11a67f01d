/* nopal latency: its script, which nopal top runs too, and its results, a row for each key. */
#ifndef NOPAL_CMD_LATENCY_H
#define NOPAL_CMD_LATENCY_H

#include <stdint.h>
#include <stdio.h>

#include "nopal/trace.h"
#include "pair.h"
#include "run.h"
#include "scope.h"
#include "script_text.h"

/* One operation that was among the slowest. */
struct slow {
	uint64_t ns;
	char *text; /* process, thread, command, arguments, separated by tabs; owned */
};

#define SLOW_MOST 1000

struct slow_list {
	struct slow *list; /* the slowest first; owned */
	size_t count, most;
};

/* Keep the operation if it is one of the slowest: "NS\tPID\tTID\tCOMM\tARGUMENTS". */
void slow_take(struct slow_list *l, const char *line, size_t len);
void slow_free(struct slow_list *l);

enum latency_order { BY_TOTAL, BY_COUNT, BY_AVG, BY_P50, BY_P99, BY_MAX }; /* ORDER: latency.c */

struct latency_view {
	const char *title; /* of the key's column; NULL: there is no key */
	struct nopal_look look;
	bool json;
	enum latency_order order;
	long top;	/* rows; 0: all */
	double seconds; /* since the probes were attached */
	const struct slow_list *slow;
	const char *subject; /* for JSON: the pair */
};

/* The command while it runs. */
struct latency {
	struct run run;
	struct scope scope;
	struct pair pair;
	const char *key; /* -k: what start and done have in common; NULL: the thread */
	const char *by;	 /* --by: a row for each */
	enum latency_order order;
	long top, slowest;
	uint64_t interval;
	bool show_script;
	char *arguments; /* of the start, that --slowest shows: "args.query, args.id"; owned */
	char *format;	 /* "query=%s id=%d"; owned */
	unsigned argument_count;
	struct slow_list slow;
	struct latency_view view;
	uint64_t began, shown; /* CLOCK_MONOTONIC */
	char *rest;	       /* of a line that has not ended yet */
	size_t rest_len;
};

/* Write the script for the pair, the key and the scope of `l`. 0, or an exit code after a message.
 */
int latency_write_script(struct script_text *t, const struct command *c, struct latency *l);
/* Print what the maps of the run hold: @lat, @max and @sum by key; the operations without a start
 * or an end from @starts, @dones, @pairs and @skipped. */
void latency_print(struct nopal_trace *t, const struct latency_view *v, FILE *out);

#endif
