/* An entry of a map as a row of its own, for programs that read the output. */
#ifndef NOPAL_REPORT_ROW_H
#define NOPAL_REPORT_ROW_H

#include "report/render.h"

/* Of CSV, once for each table: the names of the columns of a map, or those of an event, which have
 * blanks between them. */
void row_add_header(const struct renderer *r, const struct map_def *map, struct buf *out);
void row_add_names(const struct renderer *r, struct str names, struct buf *out);
/* By the renderer: {"map": "@", "key": ["a", 2], "value": 3}; folded "main;run;step 3"; or CSV
 * a,2,3. `value` is what the table shows: for JSON, JSON. CSV has a cell for each of the `count`.
 */
void row_add(const struct renderer *r, const struct map_def *map, const struct value *key,
	     const struct str *values, unsigned count, struct buf *out);
/* A cell of a row of CSV, with the comma before it unless it is the first. */
void row_add_cell(const struct renderer *r, const struct value *v, bool first, struct buf *out);
/* Are entries shown like that? */
bool row_is_wanted(const struct renderer *r);

#endif
