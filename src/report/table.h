/* Maps as text or JSON, sorted as bpftrace sorts them: numbers and aggregates by value, the rest by
 * key; equals by key. Comes in: the entries an engine hands over. */
#ifndef NOPAL_REPORT_TABLE_H
#define NOPAL_REPORT_TABLE_H

#include "program/record.h"
#include "report/render.h"

struct table_request {
	enum report_style style;
	uint32_t map;
	int64_t top; /* show only the last `top` entries; 0: all */
	int64_t div; /* divide numbers by it; 0: 1 */
};

int table_print(const struct renderer *r, const struct table_request *request,
		const struct map_store *maps, struct buf *out);
/* Each entry in printed order, as text; a non-zero result of `fn` ends it and is returned. */
int table_each(const struct renderer *r, const struct table_request *request,
	       const struct map_store *maps, report_entry_fn *fn, void *arg);
/* One entry, for print(@m[key]). */
void table_print_entry(const struct renderer *r, enum report_style style, const struct map_def *map,
		       const struct value *key, const struct value *value, struct buf *out);

#endif
