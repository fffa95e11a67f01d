/* The rows of nopal top: what is known of each probe or key, and how it is shown. */
#ifndef NOPAL_CMD_TOP_H
#define NOPAL_CMD_TOP_H

#include <stdint.h>
#include <stdio.h>

#include "nopal/trace.h"

#define TOP_HISTORY 200 /* intervals that are remembered */
#define TOP_FILTER  64	/* bytes of a filter, with its NUL */

enum top_order { TOP_BY_RATE, TOP_BY_TOTAL, TOP_BY_NAME, TOP_BY_P99, TOP_ORDERS };

struct top_row {
	char *key;			/* owned */
	uint64_t total, count;		/* since the start, in the last interval */
	uint32_t history[TOP_HISTORY];	/* counts of the last intervals, a ring */
	struct nopal_histogram *all;	/* times since the start; owned; NULL: only counted */
	struct nopal_histogram *recent; /* of the last interval */
};

struct top {
	struct top_row *rows; /* by key; owned */
	size_t count, cap, known;
	const char *title; /* of the keys' column */
	bool has_times;
	enum top_order order;
	char filter[TOP_FILTER]; /* only rows whose key has this text; "": all */
	bool paused;
	unsigned at;			/* of the rings: the last interval */
	unsigned columns;		/* intervals so far, at most TOP_HISTORY */
	double seconds;			/* of the last interval */
	uint32_t heat[TOP_HISTORY][64]; /* times by powers of two, for each interval */
};

/* Read the maps: an interval of so many seconds has ended. */
void top_update(struct top *top, struct nopal_trace *t, double seconds);
/* Print a heading, at most `lines` lines of rows, and, when `heat` is not 0, a heat map of so many
 * lines. */
void top_print(const struct top *top, const struct nopal_look *look, unsigned lines, unsigned heat,
	       FILE *out);
void top_free(struct top *top);

#endif
