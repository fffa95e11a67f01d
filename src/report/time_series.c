/* A time series: for each key a graph, one row for each interval.
 *
 *	@t:
 *	             1                                                   3
 *	hh:mm:ss.ms  |___________________________________________________|
 *	10:00:00.100 *                                                   | 1
 *	10:00:00.200 |                                                   | -
 *	10:00:00.300 |                                                   * 3
 *	             v___________________________________________________v
 *	             1                                                   3
 *
 * Comes in: the entries of a map whose keys end in the number of an interval. All keys have the
 * same window: the last intervals up to the newest that any of them has. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/json.h"
#include "report/inside.h"

#define WIDTH  53 /* columns of the graph, its edges included */
#define SECOND UINT64_C(1000000000)

/* One interval of one key. */
struct point {
	struct str key; /* as it lies in memory, without the interval */
	uint64_t interval;
	uint64_t number; /* signed, if the series is */
};

struct series {
	const struct renderer *renderer;
	const struct map_def *map;
	bool is_signed;
	struct arena arena;
	struct point *points;
	size_t count, cap;
	uint64_t first, last; /* of the window */
};

static uint64_t number_of(const struct type *t, struct str value)
{
	uint64_t bits;

	if (type_is_aggregate(t))
		return aggregate_number(t, value.ptr);
	memcpy(&bits, value.ptr, sizeof(bits));
	return bits;
}

static int add_point(void *arg, struct str key, struct str value)
{
	struct series *s = arg;
	struct point p = {.number = number_of(&s->map->value, value)};

	memcpy(&p.interval, key.ptr + key.len - sizeof(p.interval), sizeof(p.interval));
	p.key = arena_str(&s->arena, str_of(key.ptr, key.len - sizeof(p.interval)));
	if (!p.key.ptr || arena_grow(&s->arena, (void **)&s->points, s->count, &s->cap, sizeof(p)))
		return -ENOMEM;
	if (p.interval > s->last)
		s->last = p.interval;
	s->points[s->count++] = p;
	return 0;
}

static int compare_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;
	int order = x->key.len ? memcmp(x->key.ptr, y->key.ptr, x->key.len) : 0;

	return order ? order : x->interval < y->interval ? -1 : x->interval > y->interval;
}

/* Its entries by key and time, without those before the window. */
static int open_series(struct series *s, const struct map_store *maps,
		       const struct table_request *request)
{
	size_t kept = 0;
	int err = map_take(maps, request->map, request->take, add_point, s);

	if (err)
		return err;
	s->first = s->last < s->map->series.count ? 0 : s->last - s->map->series.count + 1;
	for (size_t i = 0; i < s->count; i++)
		if (s->points[i].interval >= s->first)
			s->points[kept++] = s->points[i];
	s->count = kept;
	if (kept)
		qsort(s->points, kept, sizeof(*s->points), compare_points);
	return 0;
}

/* The points from `from` on that have one key. */
static size_t end_of_key(const struct series *s, size_t from)
{
	size_t end = from + 1;

	while (end < s->count && str_eq(s->points[end].key, s->points[from].key))
		end++;
	return end;
}

/* "a, 2" */
static int add_key(const struct series *s, const struct renderer *r, struct str key,
		   const char *separator, struct buf *out)
{
	struct cursor c = cursor_of(key.ptr, key.len, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	const struct type *t = &s->map->key;
	struct value v;

	for (unsigned i = 0; i + 1 < t->element_count; i++) {
		if (value_decode(&t->elements[i], &c, &v))
			return -EPROTO;
		buf_text(out, i ? separator : "");
		render_text(r, &v, INDENT_KEY, out);
	}
	return 0;
}

static void add_number(const struct series *s, uint64_t number, struct buf *out)
{
	if (s->is_signed)
		buf_s64(out, (int64_t)number);
	else
		buf_u64(out, number);
}

/* ---- The graph of one key */

struct graph {
	const struct point *points;
	size_t count;
	uint64_t least, most; /* the numbers at the edges */
	unsigned digits;      /* of the fraction of a second: 0, 3, 6, 9 */
};

static bool is_less(const struct series *s, uint64_t a, uint64_t b)
{
	return s->is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static double as_double(const struct series *s, uint64_t n)
{
	return s->is_signed ? (double)(int64_t)n : (double)n;
}

/* Of equal numbers the edges are the neighbours, where the type has them. */
static void find_edges(const struct series *s, struct graph *g)
{
	uint64_t top = s->is_signed ? INT64_MAX : UINT64_MAX;
	uint64_t bottom = s->is_signed ? (uint64_t)INT64_MIN : 0;

	g->least = g->most = g->points[0].number;
	for (size_t i = 1; i < g->count; i++) {
		if (is_less(s, g->points[i].number, g->least))
			g->least = g->points[i].number;
		if (is_less(s, g->most, g->points[i].number))
			g->most = g->points[i].number;
	}
	if (g->least != g->most)
		return;
	g->least -= g->least != bottom;
	g->most += g->most != top;
}

static unsigned digits_of(const struct series *s, bool is_single)
{
	uint64_t interval = s->map->series.interval;

	if (is_single)
		return 9;
	return interval >= SECOND ? 0 : interval >= 1000000 ? 3 : interval >= 1000 ? 6 : 9;
}

/* "hh:mm:ss", the point and the digits, and a blank */
static size_t margin_of(const struct graph *g)
{
	return 8 + (g->digits ? g->digits + 1 : 0) + 1;
}

static void add_edges(const struct series *s, const struct graph *g, struct buf *out)
{
	size_t start;

	buf_fill(out, ' ', margin_of(g));
	start = out->len;
	add_number(s, g->least, out);
	while (!out->failed && out->len - start < 21)
		buf_char(out, ' ');
	start = out->len;
	add_number(s, g->most, out);
	if (!out->failed && out->len - start < 32) {
		size_t len = out->len - start, blanks = 32 - len;

		buf_fill(out, ' ', blanks);
		if (!out->failed) {
			memmove(out->ptr + start + blanks, out->ptr + start, len);
			memset(out->ptr + start, ' ', blanks);
		}
	}
	buf_char(out, '\n');
}

static void add_rule(char edge, struct buf *out)
{
	buf_char(out, edge);
	buf_fill(out, '_', WIDTH - 2);
	buf_char(out, edge);
	buf_char(out, '\n');
}

static void add_header(const struct graph *g, struct buf *out)
{
	static const char *const units[] = {"", ".ms", ".μs", ".ns"};
	size_t used = 8 + (g->digits ? 3 : 0);

	buf_printf(out, "hh:mm:ss%s", units[g->digits / 3]);
	buf_fill(out, ' ', margin_of(g) - used);
	add_rule('|', out);
}

static void add_time(const struct series *s, const struct graph *g, uint64_t interval,
		     struct buf *out)
{
	uint64_t ns = interval * s->map->series.interval, unit = SECOND;
	time_t seconds = (time_t)(ns / SECOND);
	struct tm local = {0};

	localtime_r(&seconds, &local);
	buf_printf(out, "%02d:%02d:%02d", local.tm_hour, local.tm_min, local.tm_sec);
	for (unsigned i = 0; i < g->digits; i++)
		unit /= 10;
	if (g->digits)
		buf_printf(out, ".%0*llu", (int)g->digits,
			   (unsigned long long)(ns % SECOND / unit));
	buf_char(out, ' ');
}

/* The column of a number between the edges, of `columns`. */
static size_t column_of(const struct series *s, const struct graph *g, double n, size_t columns)
{
	double least = as_double(s, g->least), range = as_double(s, g->most) - least;
	double column = range > 0 ? (double)columns * (n - least) / range : 0;

	return column < 0 ? 0 : column > WIDTH - 1 ? WIDTH - 1 : (size_t)column;
}

static void add_row(const struct series *s, const struct graph *g, uint64_t interval,
		    const struct point *p, struct buf *out)
{
	char line[WIDTH];

	add_time(s, g, interval, out);
	memset(line, ' ', sizeof(line));
	line[0] = line[WIDTH - 1] = '|';
	if (as_double(s, g->least) < 0 && as_double(s, g->most) > 0)
		line[column_of(s, g, 0, WIDTH)] = '.';
	if (p)
		line[column_of(s, g, as_double(s, p->number), WIDTH - 1)] = '*';
	buf_str(out, str_of(line, sizeof(line)));
	buf_char(out, ' ');
	if (p)
		add_number(s, p->number, out);
	else
		buf_char(out, '-');
	buf_char(out, '\n');
}

static void add_graph(const struct series *s, const struct point *points, size_t count,
		      struct buf *out)
{
	struct graph g = {.points = points, .count = count};
	uint64_t first = points[0].interval, rows = s->last - first + 1;
	size_t at = 0;

	g.digits = digits_of(s, rows == 1);
	find_edges(s, &g);
	add_edges(s, &g, out);
	add_header(&g, out);
	for (uint64_t row = 0; row < rows && !out->failed; row++) {
		bool is_met = at < count && points[at].interval == first + row;

		add_row(s, &g, first + row, is_met ? &points[at] : NULL, out);
		at += is_met;
	}
	buf_fill(out, ' ', margin_of(&g));
	add_rule('v', out);
	add_edges(s, &g, out);
	buf_char(out, '\n');
}

static int add_text(const struct series *s, struct buf *out)
{
	size_t end;
	int err = 0;

	for (size_t i = 0; i < s->count && !err; i = end) {
		bool has_key = s->points[i].key.len;

		end = end_of_key(s, i);
		buf_str(out, s->map->name);
		buf_text(out, has_key ? "[" : "");
		err = add_key(s, s->renderer, s->points[i].key, ", ", out);
		buf_text(out, has_key ? "]:\n" : ":\n");
		add_graph(s, s->points + i, end - i, out);
	}
	return err;
}

/* ---- JSON */

static void add_json_points(const struct series *s, size_t from, size_t end, struct buf *out)
{
	buf_char(out, '[');
	for (size_t i = from; i < end; i++) {
		uint64_t ns = s->points[i].interval * s->map->series.interval;
		time_t seconds = (time_t)(ns / SECOND);
		char text[32] = "";
		struct tm utc = {0};

		gmtime_r(&seconds, &utc);
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
		buf_printf(out,
			   "%s{\"interval_start\":\"%s.%09llu\",\"value\":", i > from ? "," : "",
			   text, (unsigned long long)(ns % SECOND));
		add_number(s, s->points[i].number, out);
		buf_char(out, '}');
	}
	buf_char(out, ']');
}

/* {"type": "tseries", "data": {"@t": {"key": [...], ...}}}; nothing for an empty map */
static int add_json(const struct series *s, struct buf *out)
{
	struct renderer raw = *s->renderer;
	struct json j = {out, false};
	struct buf key = BUF_INIT;
	bool has_key = s->count && s->points[0].key.len;
	size_t end;
	int err = 0;

	if (!s->count)
		return 0;
	raw.escape = ESCAPE_NOTHING;
	json_open(&j, '{');
	json_pair(&j, "type", STR("tseries"));
	json_key(&j, "data");
	json_open(&j, '{');
	json_key_str(&j, s->map->name);
	if (has_key)
		json_open(&j, '{');
	for (size_t i = 0; i < s->count && !err; i = end) {
		end = end_of_key(s, i);
		if (has_key) {
			buf_clear(&key);
			err = add_key(s, &raw, s->points[i].key, ",", &key);
			json_key_str(&j, buf_as_str(&key));
		}
		add_json_points(s, i, end, out);
		j.comma = true;
	}
	out->failed |= key.failed;
	buf_free(&key);
	if (has_key)
		json_close(&j, '}');
	json_close(&j, '}');
	json_close(&j, '}');
	buf_char(out, '\n');
	return err;
}

int series_print(const struct renderer *r, const struct table_request *request,
		 const struct map_store *maps, struct buf *out)
{
	const struct map_def *map = &r->program->maps[request->map];
	struct series s = {.renderer = r, .map = map, .is_signed = map->value.is_signed};
	int err = open_series(&s, maps, request);

	if (!err)
		err = request->style == REPORT_JSON ? add_json(&s, out) : add_text(&s, out);
	arena_free(&s.arena);
	return !err && out->failed ? -ENOMEM : err;
}
