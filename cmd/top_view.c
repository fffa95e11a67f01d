/* The rows of nopal top: read, sorted, drawn. */
#include "top.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "command.h"

#define SPARK 20 /* intervals in a row */

/* A row and the map that it is of. */
struct shown_row {
	const struct top_map *map;
	const struct tally_row *row;
};

/* ---- reading */

/* The maps of the run, once it is known. */
static bool open_maps(struct top *top, struct nopal_trace *t)
{
	unsigned count = 0;
	const char *name;

	if (top->maps)
		return true;
	while (nopal_trace_map_name(t, count))
		count++;
	top->maps = calloc(count + 1, sizeof(*top->maps));
	for (unsigned i = 0; top->maps && i < count; i++) {
		name = nopal_trace_map_name(t, i);
		if (!top->only || !strcmp(top->only, name))
			top->maps[top->map_count++].name = name;
	}
	return top->maps;
}

/* A ring for each row. */
static bool grow_history(struct top_map *m)
{
	size_t rows = m->tally.cap;
	void *bigger;

	if (m->history_rows >= m->tally.count)
		return true;
	bigger = realloc(m->history, rows * sizeof(*m->history));
	if (!bigger)
		return false;
	m->history = bigger;
	memset(m->history + m->history_rows, 0, (rows - m->history_rows) * sizeof(*m->history));
	m->history_rows = rows;
	return true;
}

static void take_row(struct top *top, struct top_map *m, const struct tally_row *row)
{
	m->history[row->number][top->at] =
		row->count > UINT32_MAX ? UINT32_MAX : (uint32_t)row->count;
	top->has_histograms |= row->all != NULL;
	top->has_values |= row->text != NULL;
	for (unsigned i = 0; row->recent && i < 63; i++)
		top->heat[top->at][i] += (uint32_t)nopal_histogram_between(
			row->recent, i ? UINT64_C(1) << i : 0, UINT64_C(1) << (i + 1));
}

void top_update(struct top *top, struct nopal_trace *t, double seconds)
{
	if (!open_maps(top, t))
		return;
	top->at = (top->at + 1) % TOP_HISTORY;
	top->columns += top->columns < TOP_HISTORY;
	top->seconds = seconds;
	memset(top->heat[top->at], 0, sizeof(top->heat[0]));
	for (unsigned i = 0; i < top->map_count; i++) {
		struct top_map *m = &top->maps[i];

		tally_update(&m->tally, t, m->name);
		for (size_t n = 0; grow_history(m) && n < m->tally.count; n++)
			take_row(top, m, &m->tally.rows[n]);
	}
}

bool top_has_news(const struct top *top)
{
	for (unsigned i = 0; i < top->map_count; i++)
		for (size_t n = 0; n < top->maps[i].tally.count; n++)
			if (top->maps[i].tally.rows[n].count || top->maps[i].tally.rows[n].text)
				return true;
	return false;
}

void top_free(struct top *top)
{
	for (unsigned i = 0; i < top->map_count; i++) {
		tally_free(&top->maps[i].tally);
		free(top->maps[i].history);
	}
	free(top->maps);
	top->maps = NULL;
	top->map_count = 0;
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
static const char *probe_name(const struct shown_row *r)
{
	const char *name = short_name(r->row->key);
	const struct tally *all = &r->map->tally;

	for (size_t i = 0; i < all->count && all->count < 500; i++)
		if (&all->rows[i] != r->row && !strcmp(short_name(all->rows[i].key), name))
			return strstr(r->row->key, "/memfd:") || r->row->key == name
				       ? name
				       : r->row->key + 5;
	return name;
}

/* "shop:order", or of several maps "@by[shop:order]"; NULL: out of memory. */
static char *name_of(const struct top *top, const struct shown_row *r)
{
	char *name;
	int made;

	if (!r->row->part_count && top->subject)
		return strdup(short_name(top->subject));
	if (top->map_count == 1)
		return strdup(r->row->part_count ? probe_name(r) : r->map->name);
	made = asprintf(&name, r->row->part_count ? "%s[%s]" : "%s", r->map->name,
			r->row->part_count ? probe_name(r) : "");
	return made < 0 ? NULL : name;
}

/* ---- order */

static uint64_t p99(const struct tally_row *row)
{
	return row->recent ? nopal_histogram_percentile(row->recent, 99) : 0;
}

static int compare_rows(const void *a, const void *b, void *order)
{
	const struct shown_row *of_a = a, *of_b = b;
	const struct tally_row *x = of_a->row, *y = of_b->row;
	enum top_order by = *(const enum top_order *)order;
	uint64_t nx = by == TOP_BY_RATE ? x->count : by == TOP_BY_P99 ? p99(x) : 0;
	uint64_t ny = by == TOP_BY_RATE ? y->count : by == TOP_BY_P99 ? p99(y) : 0;
	int maps = strcmp(of_a->map->name, of_b->map->name);

	if (nx != ny)
		return nx < ny ? 1 : -1;
	if (by != TOP_BY_NAME && x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return maps ? maps : strcmp(x->key, y->key);
}

/* The rows that are shown, in order; *count of them. The caller frees the list. */
static struct shown_row *sorted(const struct top *top, size_t *count)
{
	enum top_order order = top->order;
	struct shown_row *list;
	size_t all = 0;

	for (unsigned i = 0; i < top->map_count; i++)
		all += top->maps[i].tally.count;
	list = calloc(all + 1, sizeof(*list));
	*count = 0;
	for (unsigned i = 0; list && i < top->map_count; i++)
		for (size_t n = 0; n < top->maps[i].tally.count; n++) {
			const struct tally_row *row = &top->maps[i].tally.rows[n];

			if (!*top->filter || strstr(row->key, top->filter))
				list[(*count)++] = (struct shown_row){&top->maps[i], row};
		}
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
static char *spark_text(const struct top *top, const struct shown_row *r,
			const struct nopal_look *look)
{
	const uint32_t *history = r->map->history[r->row->number];
	unsigned width = top->columns < SPARK ? top->columns : SPARK;
	uint32_t most = 0;
	char *text = calloc(width + 1, 4), *at = text;

	for (unsigned i = 0; i < width; i++) {
		uint32_t count = history[(top->at + TOP_HISTORY - i) % TOP_HISTORY];

		most = count > most ? count : most;
	}
	for (unsigned i = width; text && i-- > 0;)
		at = stpcpy(at, level(history[(top->at + TOP_HISTORY - i) % TOP_HISTORY], most,
				      look, false));
	return text;
}

/* Of a histogram. */
static char *value_text(const struct top *top, uint64_t value)
{
	return top->has_times ? nopal_show_duration(value) : nopal_show_count(value);
}

static char *percentile_text(const struct top *top, const struct tally_row *row, double percent)
{
	if (!row->recent || !nopal_histogram_count(row->recent))
		return strdup("-");
	return value_text(top, nopal_histogram_percentile(row->recent, percent));
}

/* As percentile_text(), of the last interval: the average, or the sum. */
static char *sum_text(const struct top *top, const struct tally_row *row, bool is_average)
{
	uint64_t count = row->recent ? nopal_histogram_count(row->recent) : 0;
	double sum = count ? nopal_histogram_sum(row->recent) : 0;

	if (!count || sum < 0)
		return strdup("-");
	return value_text(top, (uint64_t)(is_average ? sum / (double)count : sum));
}

/* Of `count` events in the last interval. */
static char *rate_text(const struct top *top, uint64_t count)
{
	double seconds = top->seconds > 0 ? top->seconds : 1;

	return nopal_show_count((uint64_t)((double)count / seconds + 0.5));
}

static void add_row(struct cells *c, const struct top *top, const struct shown_row *r,
		    const struct nopal_look *look)
{
	const struct tally_row *row = r->row;

	cells_add(c, name_of(top, r));
	if (top->has_values)
		cells_add(c, strdup(row->text ? row->text : "-"));
	cells_add(c, row->text ? strdup("-") : rate_text(top, row->count));
	cells_add(c, row->text ? strdup("-") : nopal_show_count(row->total));
	if (top->has_histograms) {
		cells_add(c, sum_text(top, row, false));
		cells_add(c, sum_text(top, row, true));
		cells_add(c, percentile_text(top, row, 50));
		cells_add(c, percentile_text(top, row, 99));
		cells_add(c, percentile_text(top, row, 99.9));
		cells_add(c, percentile_text(top, row, 100));
	}
	cells_add(c, spark_text(top, r, look));
}

static void print_rows(const struct top *top, const struct shown_row *rows, size_t count,
		       const struct nopal_look *look, FILE *out)
{
	/* clang-format off */
	const struct {
		bool is_shown;
		struct nopal_column column;
	} all[] = {
		{true,                {top->title, false, 0}}, {top->has_values,     {"VALUE", true, 0}},
		{true,                {"RATE/s", true, 0}},    {true,                {"TOTAL", true, 1}},
		{top->has_histograms, {"SUM", true, 6}},       {top->has_histograms, {"AVG", true, 5}},
		{top->has_histograms, {"P50", true, 0}},       {top->has_histograms, {"P99", true, 0}},
		{top->has_histograms, {"P99.9", true, 2}},     {top->has_histograms, {"MAX", true, 4}},
		{true,                {"HISTORY", true, 3}},
	};
	/* clang-format on */
	struct nopal_column columns[sizeof(all) / sizeof(*all)];
	struct cells c = {.list = NULL};
	unsigned used = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].is_shown)
			columns[used++] = all[i].column;
	for (size_t i = 0; i < count; i++)
		add_row(&c, top, &rows[i], look);
	cells_print(&c, columns, used, look, out);
}

/* What happened `ago` intervals ago, in this many powers of two. */
static uint64_t heat_of(const struct top *top, unsigned ago, unsigned first, unsigned count)
{
	const uint32_t *heat = top->heat[(top->at + TOP_HISTORY - ago) % TOP_HISTORY];
	uint64_t sum = 0;

	for (unsigned n = first; n < first + count && n < 63; n++)
		sum += heat[n];
	return sum;
}

static bool was_any(const struct top *top, unsigned intervals, unsigned power)
{
	for (unsigned i = 0; i < intervals; i++)
		if (heat_of(top, i, power, 1))
			return true;
	return false;
}

/* Times from bottom to top, intervals from left to right: darker where there were more. A line is
 * as many powers of two as are needed to have room for all. */
static void print_heat(const struct top *top, const struct nopal_look *look, unsigned lines,
		       FILE *out)
{
	unsigned width = look->width > 12 ? look->width - 10 : 0, first = 0, end = 63, step;
	uint64_t most = 0, count;

	width = width < top->columns ? width : top->columns;
	while (first < end && !was_any(top, width, first))
		first++;
	while (end > first && !was_any(top, width, end - 1))
		end--;
	if (first == end || lines < 2)
		return;
	fprintf(out, "%8s %.*s\n", top->has_times ? "TIME" : "VALUE", (int)look->width - 10,
		"a column each interval, the last on the right");
	step = (end - first + lines - 2) / (lines - 1);
	for (unsigned n = first; n < end; n += step)
		for (unsigned i = 0; i < width; i++) {
			count = heat_of(top, i, n, step);
			most = count > most ? count : most;
		}
	for (unsigned line = (end - first + step - 1) / step; line-- > 0;) {
		unsigned n = first + line * step;
		char *label = value_text(top, UINT64_C(1) << n);

		fprintf(out, "%8s ", label ? label : "");
		free(label);
		for (unsigned i = width; i-- > 0;)
			fputs(level(heat_of(top, i, n, step), most, look, true), out);
		fputc('\n', out);
	}
}

void top_print(const struct top *top, const struct nopal_look *look, struct top_room room,
	       FILE *out)
{
	/* ORDER: enum top_order */
	static const char *const orders[] = {"rate", "total", "name", "p99"};
	struct shown_row *rows;
	uint64_t events = 0;
	size_t count;
	char *rate;

	rows = sorted(top, &count);
	for (size_t i = 0; i < count; i++)
		events += rows[i].row->count;
	rate = rate_text(top, events);
	if (top->map_count == 1)
		fprintf(out, "%s events/s, ", rate ? rate : "");
	fprintf(out, "%zu row%s by %s%s%s%s\n", count, count == 1 ? "" : "s", orders[top->order],
		*top->filter ? ", filter: " : "", top->filter, top->paused ? ", paused" : "");
	free(rate);
	if (room.heat && room.fills && count < room.rows)
		room.heat += room.rows - (unsigned)count;
	if (rows && count)
		print_rows(top, rows, count < room.rows ? count : room.rows, look, out);
	if (room.heat)
		print_heat(top, look, room.heat, out);
	free(rows);
}

static void put_json_times(FILE *out, const struct nopal_histogram *h, const char *unit)
{
	static const double percents[] = {50, 99, 99.9};

	for (size_t n = 0; n < sizeof(percents) / sizeof(*percents); n++)
		fprintf(out, ", \"p%g%s\": %" PRIu64, percents[n], unit,
			nopal_histogram_percentile(h, percents[n]));
	fprintf(out, ", \"max%s\": %" PRIu64 ", \"sum%s\": %.0f", unit,
		nopal_histogram_percentile(h, 100), unit, nopal_histogram_sum(h));
}

void top_print_json(const struct top *top, FILE *out)
{
	double seconds = top->seconds > 0 ? top->seconds : 1;
	char clock[TIME_TEXT];
	struct shown_row *rows;
	size_t count;

	time_text("%Y-%m-%dT%H:%M:%SZ", true, clock);
	rows = sorted(top, &count);
	for (size_t i = 0; rows && i < count; i++) {
		const struct tally_row *row = rows[i].row;

		if (!row->count && !row->text)
			continue;
		fprintf(out, "{\"type\": \"row\", \"time\": \"%s\", \"map\": ", clock);
		put_json_text(out, rows[i].map->name);
		fputs(", \"key\": [", out);
		for (unsigned n = 0; n < row->part_count; n++) {
			fputs(n ? ", " : "", out);
			put_json_text(out, row->parts[n]);
		}
		fprintf(out, "], \"seconds\": %.3f", top->seconds);
		if (row->text) {
			fputs(", \"value\": ", out);
			put_json_text(out, row->text);
		} else {
			fprintf(out,
				", \"count\": %" PRIu64 ", \"rate\": %.1f, \"total\": %" PRIu64,
				row->count, (double)row->count / seconds, row->total);
		}
		if (row->recent)
			put_json_times(out, row->recent, top->has_times ? "_ns" : "");
		fputs("}\n", out);
	}
	free(rows);
}
