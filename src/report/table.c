/* Collecting the entries of a map, sorting them, printing them. */
#include "report/table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "report/histogram.h"

struct entry {
	struct value key, value;
};

struct table {
	const struct renderer *renderer;
	const struct map_def *map;
	enum report_style style;
	int64_t div;
	struct arena arena;
	struct entry *entries;
	size_t count, cap;
};

static bool is_histogram(const struct type *t)
{
	return t->kind == TYPE_HIST || t->kind == TYPE_LHIST;
}

static bool is_mean(const struct type *t)
{
	return t->kind == TYPE_AVG || t->kind == TYPE_STATS;
}

static bool sorts_by_value(const struct type *t)
{
	return t->kind == TYPE_INT || t->kind == TYPE_FLOAT || type_is_aggregate(t);
}

static int decode_copy(struct table *t, const struct type *type, struct str bytes,
		       struct value *out)
{
	struct str copy = arena_str(&t->arena, bytes);
	struct cursor c = cursor_of(copy.ptr, copy.len, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);

	if (!copy.ptr)
		return -ENOMEM;
	return value_decode(type, &c, out);
}

static int add_entry(void *arg, struct str key, struct str value)
{
	struct table *t = arg;
	struct entry e;
	int err;

	err = decode_copy(t, &t->map->key, key, &e.key);
	if (!err)
		err = decode_copy(t, &t->map->value, value, &e.value);
	if (!err)
		err = arena_grow(&t->arena, (void **)&t->entries, t->count, &t->cap, sizeof(e));
	if (!err)
		t->entries[t->count++] = e;
	return err;
}

static int compare_keys(const void *a, const void *b)
{
	return value_compare(&((const struct entry *)a)->key, &((const struct entry *)b)->key);
}

static int compare_values(const void *a, const void *b)
{
	int order =
		value_compare(&((const struct entry *)a)->value, &((const struct entry *)b)->value);

	return order ? order : compare_keys(a, b);
}

static void sort_entries(struct table *t)
{
	if (t->count > 1)
		qsort(t->entries, t->count, sizeof(*t->entries),
		      sorts_by_value(&t->map->value) ? compare_values : compare_keys);
}

/* A whole number, divided. */
static void add_number(const struct type *type, uint64_t bits, int64_t div, struct buf *out)
{
	if (type->is_signed)
		buf_s64(out, (int64_t)bits / div);
	else
		buf_u64(out, bits / (uint64_t)div);
}

static uint64_t mean_of(const struct value *v)
{
	uint64_t count = value_word(v, 0), total = value_word(v, 1);

	if (!count)
		return 0;
	if (!v->type->is_signed)
		return total / count;
	return (int64_t)count <= 0 ? 0 : (uint64_t)((int64_t)total / (int64_t)count);
}

/* stats(): "count 2, average 5, total 11", or the same as an object. */
static void add_stats(const struct table *t, const struct value *v, struct buf *out)
{
	bool json = t->style == REPORT_JSON;

	buf_text(out, json ? "{\"count\": " : "count ");
	buf_u64(out, value_word(v, 0));
	buf_text(out, json ? ", \"average\": " : ", average ");
	add_number(v->type, mean_of(v), 1, out);
	buf_text(out, json ? ", \"total\": " : ", total ");
	add_number(v->type, value_word(v, 1), 1, out);
	if (json)
		buf_char(out, '}');
}

static void add_histogram(const struct table *t, const struct value *v, struct buf *out)
{
	if (t->style == REPORT_JSON) {
		histogram_json(v, t->div, out);
		return;
	}
	buf_char(out, '\n');
	histogram_text(v, t->div, out);
}

static void add_plain(const struct table *t, const struct value *v, struct buf *out)
{
	if (t->style == REPORT_JSON)
		render_json(t->renderer, v, INDENT_VALUE, out);
	else
		render_text(t->renderer, v, INDENT_VALUE, out);
}

static void add_value(const struct table *t, const struct value *v, struct buf *out)
{
	static const struct type count_type = {.kind = TYPE_INT, .size = 8};
	bool is_set = value_word(v, 1) != 0;

	switch (v->type->kind) {
	case TYPE_INT: add_number(v->type, v->bits, t->div, out); break;
	case TYPE_COUNT: add_number(&count_type, value_word(v, 0), t->div, out); break;
	case TYPE_SUM: add_number(v->type, value_word(v, 0), t->div, out); break;
	case TYPE_MIN:
	case TYPE_MAX: add_number(v->type, is_set ? value_word(v, 0) : 0, t->div, out); break;
	case TYPE_AVG: add_number(v->type, mean_of(v), t->div, out); break;
	case TYPE_STATS: add_stats(t, v, out); break;
	case TYPE_HIST:
	case TYPE_LHIST: add_histogram(t, v, out); break;
	default: add_plain(t, v, out); break;
	}
}

/* The keys of one entry, with `separator` between them. */
static void add_key(const struct renderer *r, const struct value *key, const char *separator,
		    struct buf *out)
{
	struct elements e;
	struct value element;

	if (key->type->kind != TYPE_TUPLE) {
		render_text(r, key, INDENT_KEY, out);
		return;
	}
	elements_open(key, &e);
	while (elements_next(&e, &element)) {
		render_text(r, &element, INDENT_KEY, out);
		if (e.next < e.type->element_count)
			buf_text(out, separator);
	}
}

static void add_text_entry(const struct table *t, const struct entry *e, struct buf *out)
{
	buf_str(out, t->map->name);
	if (t->map->key.kind != TYPE_NONE) {
		buf_char(out, '[');
		add_key(t->renderer, &e->key, ", ", out);
		buf_char(out, ']');
	}
	buf_text(out, ": ");
	add_value(t, &e->value, out);
	buf_char(out, '\n');
}

/* bpftrace ends a histogram, a table of averages and a map without entries in an empty line. */
static void add_text(const struct table *t, size_t first, struct buf *out)
{
	for (size_t i = first; i < t->count; i++)
		add_text_entry(t, &t->entries[i], out);
	if (!t->count)
		buf_char(out, '\n');
	if (is_mean(&t->map->value))
		buf_char(out, '\n');
}

static void add_json_key(const struct table *t, const struct value *key, struct json *j)
{
	struct renderer raw = *t->renderer;
	struct buf text = BUF_INIT;

	raw.escape = ESCAPE_NOTHING;
	add_key(&raw, key, ",", &text);
	json_key_str(j, buf_as_str(&text));
	j->out->failed |= text.failed;
	buf_free(&text);
}

static const char *json_type(const struct type *value)
{
	if (is_histogram(value))
		return "hist";
	return is_mean(value) ? "stats" : "map";
}

static void add_json_entries(const struct table *t, size_t first, struct json *j)
{
	if (t->map->key.kind == TYPE_NONE) {
		add_value(t, &t->entries[t->count - 1].value, j->out);
		return;
	}
	json_open(j, '{');
	for (size_t i = first; i < t->count; i++) {
		add_json_key(t, &t->entries[i].key, j);
		add_value(t, &t->entries[i].value, j->out);
		j->comma = true;
	}
	json_close(j, '}');
}

/* {"type": "map", "data": {"@name": {"key": value, ...}}}; nothing for an empty map. */
static void add_json(const struct table *t, size_t first, struct buf *out)
{
	struct json j = {out, false};

	if (!t->count)
		return;
	json_open(&j, '{');
	json_key(&j, "type");
	json_text(&j, json_type(&t->map->value));
	json_key(&j, "data");
	json_open(&j, '{');
	json_key_str(&j, t->map->name);
	add_json_entries(t, first, &j);
	json_close(&j, '}');
	json_close(&j, '}');
	buf_char(out, '\n');
}

/* stats() shows all there is: `top` and `div` mean nothing for it. */
static size_t first_shown(const struct table *t, int64_t top)
{
	if (t->map->value.kind == TYPE_STATS || top <= 0 || (uint64_t)top >= t->count)
		return 0;
	return t->count - (size_t)top;
}

static void print_entries(const struct table *t, int64_t top, struct buf *out)
{
	if (t->style == REPORT_JSON)
		add_json(t, first_shown(t, top), out);
	else
		add_text(t, first_shown(t, top), out);
}

int table_print(const struct renderer *r, const struct table_request *request,
		const struct map_store *maps, struct buf *out)
{
	struct table t = {
		.renderer = r,
		.map = &r->program->maps[request->map],
		.style = request->style,
		.div = request->div > 0 ? request->div : 1,
		.arena = ARENA_INIT,
	};
	int err = map_each(maps, request->map, add_entry, &t);

	if (err >= 0) {
		sort_entries(&t);
		print_entries(&t, request->top, out);
	}
	arena_free(&t.arena);
	return err < 0 ? err : 0;
}

/* The number an entry is, when it is one. */
static bool entry_number(const struct value *v, int64_t *out)
{
	switch (v->type->kind) {
	case TYPE_INT: *out = (int64_t)v->bits; return true;
	case TYPE_COUNT:
	case TYPE_SUM: *out = (int64_t)value_word(v, 0); return true;
	case TYPE_MIN:
	case TYPE_MAX: *out = value_word(v, 1) ? (int64_t)value_word(v, 0) : 0; return true;
	case TYPE_AVG: *out = (int64_t)mean_of(v); return true;
	default: return false;
	}
}

static int give_entry(const struct table *t, const struct entry *e, report_entry_fn *fn, void *arg)
{
	struct buf key = BUF_INIT, text = BUF_INIT;
	int64_t number = 0;
	bool is_number = entry_number(&e->value, &number);
	int err = -ENOMEM;

	if (t->map->key.kind != TYPE_NONE)
		add_key(t->renderer, &e->key, ",", &key);
	add_value(t, &e->value, &text);
	if (!key.failed && !text.failed)
		err = fn(arg, buf_as_str(&key), buf_as_str(&text), is_number, number);
	buf_free(&key);
	buf_free(&text);
	return err;
}

int table_each(const struct renderer *r, const struct table_request *request,
	       const struct map_store *maps, report_entry_fn *fn, void *arg)
{
	struct table t = {
		.renderer = r,
		.map = &r->program->maps[request->map],
		.style = request->style,
		.div = 1,
		.arena = ARENA_INIT,
	};
	int err = map_each(maps, request->map, add_entry, &t);

	if (err >= 0) {
		sort_entries(&t);
		err = 0;
		for (size_t i = 0; i < t.count && !err; i++)
			err = give_entry(&t, &t.entries[i], fn, arg);
	}
	arena_free(&t.arena);
	return err;
}

void table_print_entry(const struct renderer *r, enum report_style style, const struct map_def *map,
		       const struct value *key, const struct value *value, struct buf *out)
{
	struct entry e = {.key = *key, .value = *value};
	struct table t = {.renderer = r, .map = map, .style = style, .div = 1};

	t.entries = &e;
	t.count = 1;
	if (style == REPORT_JSON)
		add_json(&t, 0, out);
	else
		add_text_entry(&t, &e, out);
}
