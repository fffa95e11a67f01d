/* The rows of nopal top: what is known of each probe or key, and how it is shown. */
#ifndef NOPAL_CMD_TOP_H
#define NOPAL_CMD_TOP_H

#include <stdint.h>
#include <stdio.h>

#include "nopal/trace.h"
#include "tally.h"

#define TOP_HISTORY 200 /* intervals that are remembered */
#define TOP_FILTER  64	/* bytes of a filter, with its NUL */

/* ORDER: top.c leaves out TOP_BY_P99 without histograms; the words in top_view.c. */
enum top_order { TOP_BY_RATE, TOP_BY_TOTAL, TOP_BY_NAME, TOP_BY_P99, TOP_ORDERS };

/* A map that is watched. */
struct top_map {
	const char *name; /* "@lat" */
	struct tally tally;
	uint32_t (*history)[TOP_HISTORY]; /* by the number of the row: counts of the last intervals,
					     a ring; owned */
	size_t history_rows;
};

struct top {
	struct top_map *maps; /* owned */
	unsigned map_count;
	const char *title;   /* of the keys' column */
	const char *only;    /* the map to watch; NULL: all that the script has */
	const char *subject; /* what the row without a key is: a pair's start; NULL: its map */
	bool has_times;	     /* the numbers of histograms are nanoseconds */
	bool has_histograms; /* a map has them, or is to have them: percentiles are shown */
	bool has_values;     /* a map has values that do not count */
	enum top_order order;
	char filter[TOP_FILTER]; /* only rows whose key has this text; "": all */
	bool paused;
	unsigned at;			/* of the rings: the last interval */
	unsigned columns;		/* intervals so far, at most TOP_HISTORY */
	double seconds;			/* of the last interval */
	uint32_t heat[TOP_HISTORY][64]; /* times by powers of two, for each interval */
};

/* Read the maps: an interval of `seconds` has ended. */
void top_update(struct top *top, struct nopal_trace *t, double seconds);
/* Was anything counted in the last interval, or has a row a value? */
bool top_has_news(const struct top *top);

struct top_room {
	unsigned rows; /* lines of these at most */
	unsigned heat; /* lines of a heat map; 0: none */
	bool fills;    /* the heat map takes the lines that rows leave */
};

/* Print a heading, rows and a heat map. */
void top_print(const struct top *top, const struct nopal_look *look, struct top_room room,
	       FILE *out);
/* An object of JSON for each row that had an event in the interval. */
void top_print_json(const struct top *top, FILE *out);
void top_free(struct top *top);

#endif
