/* The rows of nopal top: read, sorted, drawn. */
#include "top.h"

#include <stdlib.h>
#include <string.h>

#include "cells.h"

#define SPARK 20 /* intervals in a row */

/* ---- reading */

static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct top_row *)a)->key, ((const struct top_row *)b)->key);
}

/* The row of a key, which may be new; NULL: out of memory. */
static struct top_row *row_of(struct top *top, const char *key)
{
	const struct top_row wanted = {.key = (char *)(uintptr_t)key};
	struct top_row *row = NULL, *bigger;

	if (top->known)
		row = bsearch(&wanted, top->rows, top->known, sizeof(wanted), compare_keys);
	if (row)
		return row;
	if (top->count == top->cap) {
		bigger = realloc(top->rows, (top->cap + 64) * sizeof(*bigger));
		if (!bigger)
			return NULL;
		top->rows = bigger;
		top->cap += 64;
	}
	row = &top->rows[top->count];
	*row = (struct top_row){.key = strdup(key)};
	if (!row->key)
		return NULL;
	top->count++;
	return row;
}

/* Times of the last interval: those of all intervals, without the earlier ones. */
static void take_times(struct top_row *row, const struct nopal_histogram *now)
{
	nopal_histogram_free(row->recent);
	row->recent = nopal_histogram_copy(now);
	if (row->recent && row->all)
		nopal_histogram_subtract(row->recent, row->all);
	nopal_histogram_free(row->all);
	row->all = nopal_histogram_copy(now);
}

static int take_entry(void *arg, const struct nopal_map_entry *e)
{
	struct top *top = arg;
	struct top_row *row = row_of(top, e->key ? e->key : "");
	uint64_t total = e->histogram ? nopal_histogram_count(e->histogram) : (uint64_t)e->number;

	if (!row)
		return 0;
	row->count = total - row->total;
	row->total = total;
	row->history[top->at] = row->count > UINT32_MAX ? UINT32_MAX : (uint32_t)row->count;
	if (!e->histogram)
		return 0;
	take_times(row, e->histogram);
	for (unsigned i = 0; row->recent && i < 63; i++)
		top->heat[top->at][i] += (uint32_t)nopal_histogram_between(
			row->recent, i ? UINT64_C(1) << i : 0, UINT64_C(1) << (i + 1));
	return 0;
}

void top_update(struct top *top, struct nopal_trace *t, double seconds)
{
	top->at = (top->at + 1) % TOP_HISTORY;
	top->columns += top->columns < TOP_HISTORY;
	top->seconds = seconds;
	memset(top->heat[top->at], 0, sizeof(top->heat[0]));
	for (size_t i = 0; i < top->count; i++) {
		top->rows[i].count = top->rows[i].history[top->at] = 0;
		nopal_histogram_free(top->rows[i].recent);
		top->rows[i].recent = NULL;
	}
	top->known = top->count;
	nopal_trace_map(t, top->has_times ? "@lat" : "@", take_entry, top, NULL);
	if (top->count)
		qsort(top->rows, top->count, sizeof(*top->rows), compare_keys);
}

void top_free(struct top *top)
{
	for (size_t i = 0; i < top->count; i++) {
		free(top->rows[i].key);
		nopal_histogram_free(top->rows[i].all);
		nopal_histogram_free(top->rows[i].recent);
	}
	free(top->rows);
	top->rows = NULL;
	top->count = 0;
}

/* ---- names */

/* "tick:loop" of "usdt:/usr/bin/tick:tick:loop"; what follows a comma is the rest of the key. */
static const char *short_name(const char *key)
{
	const char *end = key + strcspn(key, ","), *at = end;
	int colons = 0;

	if (strncmp(key, "usdt:", 5))
		return key;
	while (at > key && (at[-1] != ':' || ++colons < 2))
		at--;
	return at;
}

/* With the path where another row has the same name. */
static const char *name_of(const struct top *top, const struct top_row *row)
{
	const char *name = short_name(row->key);

	for (size_t i = 0; i < top->count && top->count < 500; i++)
		if (&top->rows[i] != row && !strcmp(short_name(top->rows[i].key), name))
			return strstr(row->key, "/memfd:") ? name : row->key + 5;
	return name;
}

/* ---- order */

static uint64_t p99(const struct top_row *row)
{
	return row->recent ? nopal_histogram_percentile(row->recent, 99) : 0;
}

static int compare_rows(const void *a, const void *b, void *order)
{
	const struct top_row *x = *(struct top_row *const *)a, *y = *(struct top_row *const *)b;
	uint64_t of_x = 0, of_y = 0;

	switch (*(const enum top_order *)order) {
	case TOP_BY_RATE: of_x = x->count, of_y = y->count; break;
	case TOP_BY_TOTAL: of_x = x->total, of_y = y->total; break;
	case TOP_BY_P99: of_x = p99(x), of_y = p99(y); break;
	default: break;
	}
	if (of_x != of_y)
		return of_x < of_y ? 1 : -1;
	return x->total != y->total && *(const enum top_order *)order != TOP_BY_NAME
		       ? (x->total < y->total ? 1 : -1)
		       : strcmp(x->key, y->key);
}

/* The rows that are shown, in order; *count of them. The caller frees the list. */
static const struct top_row **sorted(const struct top *top, size_t *count)
{
	const struct top_row **list = calloc(top->count + 1, sizeof(*list));
	enum top_order order = top->order;

	*count = 0;
	for (size_t i = 0; list && i < top->count; i++)
		if (!*top->filter || strstr(top->rows[i].key, top->filter))
			list[(*count)++] = &top->rows[i];
	if (list)
		qsort_r(list, *count, sizeof(*list), compare_rows, &order);
	return list;
}

/* ---- drawing */

/* One of nine levels, for part/most; something is never drawn as nothing. */
static const char *level(uint64_t part, uint64_t most, const struct nopal_look *look, bool shade)
{
	static const char *const sparks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const shades[] = {" ", "░", "░", "▒", "▒", "▓", "▓", "█", "█"};
	static const char *const plain[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
	size_t n = most ? (size_t)((part * 8 + most - 1) / most) : 0;

	return !look->utf8 ? plain[n] : shade ? shades[n] : sparks[n];
}

/* The last intervals of a row, the newest at the end. */
static char *spark_text(const struct top *top, const struct top_row *row,
			const struct nopal_look *look)
{
	unsigned width = top->columns < SPARK ? top->columns : SPARK;
	uint32_t most = 0;
	char *text = calloc(width + 1, 4), *at = text;

	for (unsigned i = 0; i < width; i++) {
		uint32_t count = row->history[(top->at + TOP_HISTORY - i) % TOP_HISTORY];

		most = count > most ? count : most;
	}
	for (unsigned i = width; text && i-- > 0;)
		at = stpcpy(at, level(row->history[(top->at + TOP_HISTORY - i) % TOP_HISTORY], most,
				      look, false));
	return text;
}

static char *time_text(const struct top_row *row, double percent)
{
	return row->recent && nopal_histogram_count(row->recent)
		       ? nopal_show_duration(nopal_histogram_percentile(row->recent, percent))
		       : strdup("-");
}

/* Of so many events in the last interval. */
static char *rate_text(const struct top *top, uint64_t count)
{
	double seconds = top->seconds > 0 ? top->seconds : 1;

	return nopal_show_count((uint64_t)((double)count / seconds + 0.5));
}

static void add_row(struct cells *c, const struct top *top, const struct top_row *row,
		    const struct nopal_look *look)
{
	cells_add(c, strdup(name_of(top, row)));
	cells_add(c, rate_text(top, row->count));
	cells_add(c, nopal_show_count(row->total));
	if (top->has_times) {
		cells_add(c, time_text(row, 50));
		cells_add(c, time_text(row, 99));
		cells_add(c, time_text(row, 99.9));
	}
	cells_add(c, spark_text(top, row, look));
}

static void print_rows(const struct top *top, const struct top_row **rows, size_t count,
		       const struct nopal_look *look, FILE *out)
{
	const struct nopal_column with_times[] = {
		{top->title, false, 0}, {"RATE/s", true, 0}, {"TOTAL", true, 1},   {"P50", true, 0},
		{"P99", true, 0},	{"P99.9", true, 2},  {"HISTORY", true, 3},
	};
	const struct nopal_column counts[] = {
		{top->title, false, 0},
		{"RATE/s", true, 0},
		{"TOTAL", true, 1},
		{"HISTORY", true, 2},
	};
	struct cells c = {.list = NULL};

	for (size_t i = 0; i < count; i++)
		add_row(&c, top, rows[i], look);
	cells_print(&c, top->has_times ? with_times : counts, top->has_times ? 7 : 4, look, out);
}

/* Times from bottom to top, intervals from left to right: darker where there were more. */
static void print_heat(const struct top *top, const struct nopal_look *look, unsigned lines,
		       FILE *out)
{
	unsigned width = look->width > 12 ? look->width - 10 : 0, first = 63, end = 0;
	uint32_t most = 0;

	width = width < top->columns ? width : top->columns;
	for (unsigned i = 0; i < top->columns; i++)
		for (unsigned n = 0; n < 63; n++) {
			uint32_t count = top->heat[(top->at + TOP_HISTORY - i) % TOP_HISTORY][n];

			if (!count)
				continue;
			most = count > most ? count : most;
			first = n < first ? n : first;
			end = n + 1 > end ? n + 1 : end;
		}
	if (end > first + lines)
		first = end - lines;
	for (unsigned n = end; n-- > first;) {
		char *label = nopal_show_duration(UINT64_C(1) << n);

		fprintf(out, "%8s ", label ? label : "");
		free(label);
		for (unsigned i = width; i-- > 0;)
			fputs(level(top->heat[(top->at + TOP_HISTORY - i) % TOP_HISTORY][n], most,
				    look, true),
			      out);
		fputc('\n', out);
	}
}

void top_print(const struct top *top, const struct nopal_look *look, unsigned lines, unsigned heat,
	       FILE *out)
{
	static const char *const orders[] = {"rate", "total", "name", "p99"}; /* ORDER */
	const struct top_row **rows;
	uint64_t events = 0;
	size_t count;
	char *rate;

	rows = sorted(top, &count);
	for (size_t i = 0; i < count; i++)
		events += rows[i]->count;
	rate = rate_text(top, events);
	fprintf(out, "%s events/s, %zu row%s by %s%s%s%s\n", rate ? rate : "", count,
		count == 1 ? "" : "s", orders[top->order], *top->filter ? ", filter: " : "",
		top->filter, top->paused ? ", paused" : "");
	free(rate);
	if (rows && count)
		print_rows(top, rows, count < lines ? count : lines, look, out);
	if (heat)
		print_heat(top, look, heat, out);
	free(rows);
}
