/* An entry of a map as a row of its own, for programs that read the output. */
#ifndef NOPAL_REPORT_ROW_H
#define NOPAL_REPORT_ROW_H

#include "report/render.h"

/* By the renderer: {"map": "@", "key": ["a", 2], "value": 3}; folded "main;run;step 3"; or CSV
 * a,2,3. `value` is what the table shows: for JSON, JSON. */
void row_add(const struct renderer *r, const struct map_def *map, const struct value *key,
	     struct str value, struct buf *out);
/* A cell of a row of CSV, with the comma before it unless it is the first. */
void row_add_cell(const struct renderer *r, const struct value *v, bool first, struct buf *out);
/* Are entries shown like that? */
bool row_is_wanted(const struct renderer *r);

#endif
