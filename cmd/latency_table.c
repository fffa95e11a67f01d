/* The results of nopal latency as tables, histograms and JSON. */
#include "latency.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "command.h"
#include "flame.h"
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

static void free_row(struct row *row)
{
	free(row->key);
	nopal_histogram_free(row->histogram);
}

static void free_rows(struct rows *r)
{
	for (size_t i = 0; i < r->count; i++)
		free_row(&r->list[i]);
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

/* In a row there is room for one line: a stack is a number there, and follows. */
static bool has_stacks(const struct rows *r)
{
	return r->count && r->list[0].key[0] == '\n';
}

static size_t shown_rows(const struct rows *r, const struct latency_view *v)
{
	return v->top && r->count > (size_t)v->top ? (size_t)v->top : r->count;
}

/* `number`: of a row whose key is a stack; 0: it is none. */
static void add_row(struct cells *c, const struct row *row, size_t number,
		    const struct latency_view *v)
{
	char *text = NULL;

	if (v->title && number)
		cells_add(c, asprintf(&text, "%zu", number) < 0 ? NULL : text);
	else if (v->title)
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

	for (size_t i = 0; i < shown_rows(r, v); i++)
		add_row(&c, &r->list[i], has_stacks(r) ? i + 1 : 0, v);
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

/* ---- keys that are stacks */

/* The name of a frame, "operator+(A, B)" of "    operator+(A, B)+12@a.cpp:3": without the blanks
 * before it, and from the offset on; an inlined one has none. */
static size_t put_name(FILE *out, const char *line, size_t len)
{
	size_t indent = strspn(line, " ");
	const char *name = line + indent, *end = line + len, *plus = end, *at;

	end -= end > name && end[-1] == '\n';
	while ((plus = memrchr(name, '+', (size_t)(plus - name))) &&
	       (plus[1] < '0' || plus[1] > '9'))
		;
	at = memrchr(name, '@', (size_t)(end - name));
	end = plus ? plus : at ? at : end;
	return fwrite(name, 1, (size_t)(end - name), out);
}

/* "\n    inner+4@a.c:3\n    outer+9\n" -> "outer;inner"; NULL: the key is not a stack. */
static char *fold(const char *key)
{
	size_t size = 0, end = strlen(key);
	char *text = NULL;
	FILE *out = *key == '\n' ? open_memstream(&text, &size) : NULL;
	bool any = false;

	while (out && end > 1) {
		const char *line = memrchr(key, '\n', end - 1);
		size_t start = (size_t)(line - key) + 1;

		if (any)
			fputc(';', out);
		any = put_name(out, key + start, end - start) > 0 || any;
		end = start - 1;
	}
	if (out)
		fclose(out);
	return text;
}

static void print_stacks(const struct rows *r, const struct latency_view *v, FILE *out)
{
	for (size_t i = 0; has_stacks(r) && i < shown_rows(r, v); i++)
		fprintf(out, "%zu:%s", i + 1, r->list[i].key);
}

static void add_to_row(struct row *to, struct row *from)
{
	nopal_histogram_add(to->histogram, from->histogram);
	to->count += from->count;
	to->sum += from->sum;
	to->max = from->max > to->max ? from->max : to->max;
	free_row(from);
}

/* Keys become folded stacks, and those that differed in addresses alone one row. */
static void fold_rows(struct rows *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->count; i++) {
		char *stack = fold(r->list[i].key);

		if (!stack)
			continue;
		free(r->list[i].key);
		r->list[i].key = stack;
	}
	qsort(r->list, r->count, sizeof(*r->list), compare_keys);
	for (size_t i = 0; i < r->count; i++) {
		if (kept && !strcmp(r->list[kept - 1].key, r->list[i].key))
			add_to_row(&r->list[kept - 1], &r->list[i]);
		else
			r->list[kept++] = r->list[i];
	}
	r->count = kept;
	qsort_r(r->list, r->count, sizeof(*r->list), compare_rows, &r->order);
}

static void add_flame(const struct rows *r, struct flame *f)
{
	for (size_t i = 0; i < r->count; i++) {
		char *line = NULL;

		if (asprintf(&line, "%s %" PRIu64, r->list[i].key, r->list[i].sum / 1000) >= 0)
			flame_read(f, line, strlen(line));
		free(line);
	}
}

/* ---- CSV */

static void put_csv_text(FILE *out, const char *text)
{
	if (!text[strcspn(text, ",\"\n\r")]) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++)
		fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
	fputc('"', out);
}

static void print_csv_row(const struct row *row, const struct latency_view *v, FILE *out)
{
	if (v->title) {
		put_csv_text(out, row->key);
		fputc(',', out);
	}
	fprintf(out, "%" PRIu64 ",%.3f,%" PRIu64 ",%" PRIu64, row->count, v->seconds, row->sum,
		average(row));
	for (size_t i = 0; i < PERCENTS; i++)
		fprintf(out, ",%" PRIu64, percentile(row, percents[i]));
	fprintf(out, ",%" PRIu64 "\n", row->max);
}

static void print_csv(const struct rows *r, const struct latency_view *v, FILE *out)
{
	fprintf(out, "%scount,seconds,total_ns,avg_ns", v->title ? "key," : "");
	for (size_t i = 0; i < PERCENTS; i++)
		fprintf(out, ",p%g_ns", percents[i]);
	fputs(",max_ns\n", out);
	for (size_t i = 0; i < r->count; i++)
		print_csv_row(&r->list[i], v, out);
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

	if (v->format == NOPAL_JSON && v->has_depth)
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

	if (v->format == NOPAL_JSON)
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

static void print_rows(struct rows *r, const struct latency_view *v, FILE *out)
{
	if (has_stacks(r) && (v->flame || v->format == NOPAL_CSV))
		fold_rows(r);
	if (v->flame) {
		add_flame(r, v->flame);
	} else if (v->format == NOPAL_CSV) {
		print_csv(r, v, out);
	} else if (v->format == NOPAL_JSON) {
		for (size_t i = 0; i < r->count; i++)
			print_json_row(&r->list[i], v, out);
	} else if (r->count) {
		print_table(r, v, out);
		print_stacks(r, v, out);
		print_histogram(r, v, out);
	}
}

/* Where the output is rows alone, all else goes to standard error. */
void latency_print(struct nopal_trace *t, const struct latency_view *v, FILE *out)
{
	FILE *rest = v->flame || v->format == NOPAL_CSV ? stderr : out;
	struct rows r = {.order = v->order};

	read_rows(t, &r);
	if (r.err)
		say_error("cannot read the results: %s", strerror(r.err < -1 ? -r.err : 12));
	print_rows(&r, v, out);
	slowest_print(v->slowest, &v->look, out);
	print_unpaired(t, v, rest);
	print_inside(t, v, rest);
	free_rows(&r);
}
