/* Numbers, bars and tables for people: short numbers with units, columns that fit the width of a
 * terminal, bars of UTF-8 blocks. Untrusted text in cells is escaped; it is cut where it is too
 * long for its column. */
#ifndef NOPAL_REPORT_DRAW_H
#define NOPAL_REPORT_DRAW_H

#include "base/buf.h"
#include "nopal/show.h"
#include "program/type.h"

/* "850 ns", "7.20 ms", "1.50 s": three digits. */
void draw_duration(uint64_t ns, struct buf *out);
/* "4,452" */
void draw_count(uint64_t n, struct buf *out);
/* Columns of a terminal that text takes. */
size_t draw_width(struct str text);
/* Bytes of `text` that take at most `most` columns; *width: how many they take. */
size_t draw_fit(struct str text, size_t most, size_t *width);
/* A bar: `part` of `width` columns, 0 to 1; filled up with blanks. */
void draw_bar(double part, unsigned width, const struct nopal_look *look, struct buf *out);
/* The rows of a histogram from its first used bucket to its last: bounds, count, share, bar. */
void draw_histogram(const struct type *t, struct str counts, const struct nopal_look *look,
		    struct buf *out);

/* A table while it is filled: the cells row by row. */
struct columns {
	const struct nopal_column *columns;
	unsigned count;
	struct buf text; /* the cells, escaped, each with a NUL after it */
	size_t cells;
};

void columns_add(struct columns *c, struct str cell);
/* The header line and the rows, at most look->width wide; columns that do not fit are left out, as
 * their `drop` says. */
void columns_print(const struct columns *c, const struct nopal_look *look, struct buf *out);
void columns_free(struct columns *c);

#endif
