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
#include "shown.h"
#include "slowest.h"

enum latency_order { BY_TOTAL, BY_COUNT, BY_AVG, BY_P50, BY_P99, BY_MAX }; /* ORDER: latency.c */

struct latency_view {
	const char *title; /* of the key's column; NULL: there is no key */
	struct nopal_look look;
	enum nopal_format format;
	enum latency_order order;
	long top;	/* rows; 0: all */
	bool has_depth; /* pairs are those of a thread, one in another; @inside counts them */
	bool is_over;	/* no more events */
	double seconds; /* since the probes were attached */
	const struct slowest *slowest;
	const char *subject; /* for JSON: the pair */
	struct flame *flame; /* NULL: none; else what its stacks took, in microseconds */
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
	bool stack, no_lines;
	const char *flame;	/* the file of a flame graph; NULL: none */
	struct shown arguments; /* what --slowest shows of the start */
	struct slowest kept;
	struct latency_view view;
	uint64_t began, shown; /* CLOCK_MONOTONIC */
};

/* Write the script for the pair, the key and the scope of `l`. 0, or an exit code after a message.
 */
int latency_write_script(struct script_text *t, const struct command *c, struct latency *l);
/* Of the column for --by: "normalize(args.query)" -> "QUERY". The caller frees it. */
char *latency_title(const char *by);
/* Print what the maps of the run hold: @lat, @max and @sum by key; the operations without a start
 * from @early, those without an end from @starts, @pairs and @skipped. */
void latency_print(struct nopal_trace *t, const struct latency_view *v, FILE *out);

#endif
