/* One map while it is printed: its entries, and how their values are shown. */
#ifndef NOPAL_REPORT_TABLE_H
#define NOPAL_REPORT_TABLE_H

#include "report/inside.h"

struct table_entry {
	struct value key, value;
};

struct map_table {
	const struct renderer *renderer;
	const struct map_def *map;
	enum report_style style;
	int64_t div;
	struct arena arena;
	struct table_entry *entries;
	size_t count, cap;
};

/* table.c: the number of a value that is one, or that is sorted as one. */
uint64_t table_number(const struct value *v);
bool table_has_number(const struct type *t); /* is it shown as that number? */
/* As bpftrace has it, in text or JSON. */
void table_add_value(const struct map_table *t, const struct value *v, struct buf *out);
/* The keys of one entry, with `separator` between them. */
void table_add_key(const struct renderer *r, const struct value *key, const char *separator,
		   struct buf *out);
int table_compare_keys(const void *a, const void *b); /* of two entries */

/* table_draw.c: the next title of "pid, args.word", without "args."; "" after the last. */
struct str table_next_title(struct str *rest);
/* Draw a map for people, or false: it is nothing that is drawn. Sorts the entries. */
bool table_draw(struct map_table *t, int64_t top, struct buf *out);

#endif
