/* The results of nopal latency as tables, histograms and JSON. */
#include "latency.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "command.h"
#include "nopal/diag.h"

/* One key. */
struct row {
	char *key;			   /* owned */
	struct nopal_histogram *histogram; /* owned */
	uint64_t count, sum, max;
};

struct rows {
	struct row *list;
	size_t count;
	enum latency_order order;
	int err;
};

/* ---- reading the maps */

static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->key, ((const struct row *)b)->key);
}

static int take_row(void *arg, const struct nopal_map_entry *e)
{
	struct rows *r = arg;
	struct row *bigger = realloc(r->list, (r->count + 1) * sizeof(*bigger));
	struct row row = {.key = strdup(e->key ? e->key : "")};

	r->list = bigger ? bigger : r->list;
	row.histogram = e->histogram ? nopal_histogram_copy(e->histogram) : NULL;
	if (!bigger || !row.key || !row.histogram) {
		free(row.key);
		nopal_histogram_free(row.histogram);
		return -1;
	}
	row.count = nopal_histogram_count(row.histogram);
	r->list[r->count++] = row;
	return 0;
}

static struct row *find_row(struct rows *r, const char *key)
{
	const struct row wanted = {.key = (char *)(uintptr_t)(key ? key : "")};

	return r->count ? bsearch(&wanted, r->list, r->count, sizeof(wanted), compare_keys) : NULL;
}

static int take_sum(void *arg, const struct nopal_map_entry *e)
{
	struct row *row = find_row(arg, e->key);

	if (row)
		row->sum = (uint64_t)e->number;
	return 0;
}

static int take_max(void *arg, const struct nopal_map_entry *e)
{
	struct row *row = find_row(arg, e->key);

	if (row)
		row->max = (uint64_t)e->number;
	return 0;
}

static int take_number(void *arg, const struct nopal_map_entry *e)
{
	*(uint64_t *)arg = (uint64_t)e->number;
	return 0;
}

static uint64_t number_of(struct nopal_trace *t, const char *map)
{
	uint64_t number = 0;

	nopal_trace_map(t, map, take_number, &number, NULL);
	return number;
}

static uint64_t average(const struct row *row)
{
	return row->count ? row->sum / row->count : 0;
}

/* The middle of a bucket may be above the largest value in it. */
static uint64_t percentile(const struct row *row, double percent)
{
	uint64_t value = nopal_histogram_percentile(row->histogram, percent);

	return value < row->max ? value : row->max;
}

static uint64_t order_of(const struct row *row, enum latency_order order)
{
	switch (order) {
	case BY_TOTAL: return row->sum;
	case BY_COUNT: return row->count;
	case BY_AVG: return average(row);
	case BY_P50: return percentile(row, 50);
	case BY_P99: return percentile(row, 99);
	case BY_MAX: return row->max;
	}
	return 0;
}

static int compare_rows(const void *a, const void *b, void *order)
{
	uint64_t x = order_of(a, *(enum latency_order *)order);
	uint64_t y = order_of(b, *(enum latency_order *)order);

	return x < y ? 1 : x > y ? -1 : compare_keys(a, b);
}

static void read_rows(struct nopal_trace *t, struct rows *r)
{
	r->err = nopal_trace_map(t, "@lat", take_row, r, NULL);
	if (!r->count)
		return;
	qsort(r->list, r->count, sizeof(*r->list), compare_keys);
	nopal_trace_map(t, "@sum", take_sum, r, NULL);
	nopal_trace_map(t, "@max", take_max, r, NULL);
	qsort_r(r->list, r->count, sizeof(*r->list), compare_rows, &r->order);
}

static void free_rows(struct rows *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->list[i].key);
		nopal_histogram_free(r->list[i].histogram);
	}
	free(r->list);
}

/* ---- text */

static char *rate_text(uint64_t count, double seconds)
{
	double rate = seconds > 0 ? (double)count / seconds : 0;
	char *text = NULL;

	if (rate >= 100)
		return nopal_show_count((uint64_t)(rate + 0.5));
	return asprintf(&text, "%.*f", rate >= 10 ? 1 : 2, rate) < 0 ? NULL : text;
}

/* Percentiles that have a column. */
static const double percents[] = {50, 90, 99, 99.9};

#define PERCENTS (sizeof(percents) / sizeof(*percents))

static void add_row(struct cells *c, const struct row *row, const struct latency_view *v)
{
	if (v->title)
		cells_add(c, strdup(row->key));
	cells_add(c, nopal_show_count(row->count));
	cells_add(c, rate_text(row->count, v->seconds));
	cells_add(c, nopal_show_duration(average(row)));
	for (size_t i = 0; i < PERCENTS; i++)
		cells_add(c, nopal_show_duration(percentile(row, percents[i])));
	cells_add(c, nopal_show_duration(row->max));
}

static void print_table(const struct rows *r, const struct latency_view *v, FILE *out)
{
	const struct nopal_column columns[] = {
		{v->title, false, 0}, {"COUNT", true, 0}, {"RATE/s", true, 2},
		{"AVG", true, 3},     {"P50", true, 0},	  {"P90", true, 5},
		{"P99", true, 0},     {"P99.9", true, 4}, {"MAX", true, 1},
	};
	const unsigned count = sizeof(columns) / sizeof(*columns), first = v->title ? 0 : 1;
	struct cells c = {.list = NULL};

	for (size_t i = 0; i < r->count && (!v->top || i < (size_t)v->top); i++)
		add_row(&c, &r->list[i], v);
	cells_print(&c, columns + first, count - first, &v->look, out);
	if (v->top && r->count > (size_t)v->top)
		fprintf(out, "and %zu more: --top=N shows them\n", r->count - (size_t)v->top);
}

/* That of all keys together. */
static void print_histogram(const struct rows *r, const struct latency_view *v, FILE *out)
{
	struct nopal_histogram *all = nopal_histogram_copy(r->list[0].histogram);
	struct nopal_look look = v->look;

	look.nanoseconds = true;
	for (size_t i = 1; all && i < r->count; i++)
		nopal_histogram_add(all, r->list[i].histogram);
	if (all)
		nopal_histogram_print(all, &look, write_text, out);
	nopal_histogram_free(all);
}

/* ---- JSON */

static void print_json_row(const struct row *row, const struct latency_view *v, FILE *out)
{
	fputs("{\"type\": \"latency\", \"probe\": ", out);
	put_json_text(out, v->subject);
	if (v->title) {
		fputs(", \"key\": ", out);
		put_json_text(out, row->key);
	}
	fprintf(out, ", \"count\": %" PRIu64 ", \"seconds\": %.3f, \"total_ns\": %" PRIu64,
		row->count, v->seconds, row->sum);
	fprintf(out, ", \"avg_ns\": %" PRIu64, average(row));
	for (size_t i = 0; i < PERCENTS; i++)
		fprintf(out, ", \"p%g_ns\": %" PRIu64, percents[i], percentile(row, percents[i]));
	fprintf(out, ", \"max_ns\": %" PRIu64 "}\n", row->max);
}

/* ---- all of it */

/* Those that are not one in another, as spans of an event loop, were paired wrongly. */
static void print_inside(struct nopal_trace *t, const struct latency_view *v, FILE *out)
{
	uint64_t inside = v->has_depth ? number_of(t, "@inside") : 0;

	if (v->json && v->has_depth)
		fprintf(out, "{\"type\": \"inside\", \"starts\": %" PRIu64 "}\n", inside);
	else if (inside)
		fprintf(out, "inside another: %" PRIu64 "; if they overlap, use -k KEY\n", inside);
}

/* How many did not make a pair. While the run goes on, starts are read before the pairs: those that
 * ended meanwhile are not said to have no end. */
static void print_unpaired(struct nopal_trace *t, const struct latency_view *v, FILE *out)
{
	uint64_t starts = number_of(t, "@starts"), early = number_of(t, "@early");
	uint64_t ended = number_of(t, "@pairs") + number_of(t, "@skipped");
	uint64_t open = starts > ended ? starts - ended : 0;

	if (v->json)
		fprintf(out,
			"{\"type\": \"unpaired\", \"starts\": %" PRIu64 ", \"dones\": %" PRIu64
			"}\n",
			open, early);
	else if (open || early)
		fprintf(out,
			"unpaired: %" PRIu64 " started and %s, %" PRIu64
			" ended and had started before\n",
			open, v->is_over ? "did not end" : "have not ended yet", early);
}

void latency_print(struct nopal_trace *t, const struct latency_view *v, FILE *out)
{
	struct rows r = {.order = v->order};

	read_rows(t, &r);
	if (r.err)
		say_error("cannot read the results: %s", strerror(r.err < -1 ? -r.err : 12));
	for (size_t i = 0; v->json && i < r.count; i++)
		print_json_row(&r.list[i], v, out);
	if (!v->json && r.count) {
		print_table(&r, v, out);
		print_histogram(&r, v, out);
	}
	slowest_print(v->slowest, &v->look, out);
	print_unpaired(t, v, out);
	print_inside(t, v, out);
	free_rows(&r);
}
