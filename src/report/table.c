/* Collecting the entries of a map, sorting them, printing them. */
#include "report/table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "report/histogram.h"
#include "report/row.h"

/* ---- One value */

uint64_t table_number(const struct value *v)
{
	return type_is_aggregate(v->type) ? aggregate_number(v->type, v->bytes.ptr) : v->bits;
}

static void add_number(uint64_t bits, bool is_signed, int64_t div, struct buf *out)
{
	if (is_signed)
		buf_s64(out, (int64_t)bits / div);
	else
		buf_u64(out, bits / (uint64_t)div);
}

/* stats(): "{ .count = 2, .average = 5, .total = 11 }", or the same as an object. */
static void add_stats(const struct map_table *t, const struct value *v, struct buf *out)
{
	bool json = t->style == REPORT_JSON;

	buf_text(out, json ? "{\"count\": " : "{ .count = ");
	buf_u64(out, value_word(v, 0));
	buf_text(out, json ? ", \"average\": " : ", .average = ");
	add_number(table_number(v), v->type->is_signed, 1, out);
	buf_text(out, json ? ", \"total\": " : ", .total = ");
	add_number(value_word(v, 1), v->type->is_signed, 1, out);
	buf_text(out, json ? "}" : " }");
}

static void add_histogram(const struct map_table *t, const struct value *v, struct buf *out)
{
	if (t->style == REPORT_JSON) {
		histogram_json(v, t->div, out);
		return;
	}
	buf_char(out, '\n');
	histogram_text(v, t->div, out);
}

/* In hexadecimal, where dividing means nothing: text in JSON, which has decimal numbers only. */
static void add_hex(const struct map_table *t, uint64_t bits, struct buf *out)
{
	buf_printf(out, t->style == REPORT_JSON ? "\"0x%llx\"" : "0x%llx",
		   (unsigned long long)bits);
}

/* How the values of a map are shown: as a number, or by `add`; neither: as in a record. */
struct value_style {
	bool is_number;
	void (*add)(const struct map_table *t, const struct value *v, struct buf *out);
	const char *json;    /* the "type" of the object; NULL: "map" */
	bool sorts_by_value; /* and not by key */
	bool is_graph;	     /* lines of its own, below the name */
};

/* clang-format off */
static const struct value_style value_styles[TYPE_KINDS] = {
	/*               number  add            json     by value  graph */
	[TYPE_INT]   = { true,   NULL,          NULL,    true,     false },
	[TYPE_FLOAT] = { false,  NULL,          NULL,    true,     false },
	[TYPE_AVG]   = { true,   NULL,          "stats", true,     false },
	[TYPE_STATS] = { false,  add_stats,     "stats", true,     false },
	[TYPE_HIST]  = { false,  add_histogram, "hist",  true,     true  },
	[TYPE_LHIST] = { false,  add_histogram, "hist",  true,     true  },
};
/* clang-format on */

static const struct value_style *style_of(const struct type *t)
{
	static const struct value_style number = {.is_number = true, .sorts_by_value = true};

	return type_is_aggregate(t) && !value_styles[t->kind].sorts_by_value
		       ? &number
		       : &value_styles[t->kind];
}

bool table_has_number(const struct type *t)
{
	return style_of(t)->is_number;
}

/* A bool, a constant or an address has a text of its own, which cannot be divided. */
static bool has_own_text(const struct map_table *t, const struct type *type)
{
	return type->kind == TYPE_INT && t->div == 1 &&
	       (type->show == SHOW_BOOL || type->show == SHOW_ENUM || type->show == SHOW_HEX);
}

void table_add_value(const struct map_table *t, const struct value *v, struct buf *out)
{
	const struct value_style *style = style_of(v->type);

	if (type_is_aggregate(&t->map->value) && t->map->value.show == SHOW_HEX)
		add_hex(t, table_number(v), out);
	else if (style->is_number && !has_own_text(t, v->type))
		add_number(table_number(v), v->type->is_signed, t->div, out);
	else if (style->add)
		style->add(t, v, out);
	else if (t->style == REPORT_JSON)
		render_json(t->renderer, v, INDENT_VALUE, out);
	else
		render_text(t->renderer, v, INDENT_VALUE, out);
}

/* ---- Collecting and sorting */

/* Of a text only what is used is kept, and not the room that its map has for it. */
static int decode_copy(struct map_table *t, const struct type *type, struct str bytes,
		       struct value *out)
{
	struct cursor c = cursor_of(bytes.ptr, bytes.len, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	int err = value_decode(type, &c, out);

	if (err || !out->bytes.len)
		return err;
	out->bytes = arena_str(&t->arena, out->bytes);
	return out->bytes.ptr ? 0 : -ENOMEM;
}

/* zero() leaves histograms without values, which show nothing. */
static bool is_without_values(const struct type *t, struct str value)
{
	return (TYPE_BUCKETS >> t->kind & 1) && !histogram_count(t, value.ptr);
}

static int add_entry(void *arg, struct str key, struct str value)
{
	struct map_table *t = arg;
	struct table_entry e;
	int err;

	if (is_without_values(&t->map->value, value))
		return 0;
	err = decode_copy(t, &t->map->key, key, &e.key);
	if (!err)
		err = decode_copy(t, &t->map->value, value, &e.value);
	if (!err)
		err = arena_grow(&t->arena, (void **)&t->entries, t->count, &t->cap, sizeof(e));
	if (!err)
		t->entries[t->count++] = e;
	return err;
}

int table_compare_keys(const void *a, const void *b)
{
	return value_compare(&((const struct table_entry *)a)->key,
			     &((const struct table_entry *)b)->key);
}

static int compare_values(const void *a, const void *b)
{
	int order = value_compare(&((const struct table_entry *)a)->value,
				  &((const struct table_entry *)b)->value);

	return order ? order : table_compare_keys(a, b);
}

/* ---- Printing */

void table_add_key(const struct renderer *r, const struct value *key, const char *separator,
		   struct buf *out)
{
	struct elements e;
	struct value element;

	if (key->type->kind != TYPE_TUPLE || key->type->show != SHOW_NUMBER) {
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

static void add_text_entry(const struct map_table *t, const struct table_entry *e, struct buf *out)
{
	buf_str(out, t->map->name);
	if (t->map->key.kind != TYPE_NONE) {
		buf_char(out, '[');
		table_add_key(t->renderer, &e->key, ", ", out);
		buf_char(out, ']');
	}
	buf_text(out, style_of(&t->map->value)->is_graph ? ":" : ": ");
	table_add_value(t, &e->value, out);
	buf_char(out, '\n');
}

/* {"type": "map", "data": {"@name": {"key": value, ...}}}; nothing for an empty map. */
static void add_json(const struct map_table *t, size_t first, struct buf *out)
{
	const char *type = style_of(&t->map->value)->json;
	struct renderer raw = *t->renderer;
	struct buf key = BUF_INIT;
	struct json j = {out, false};

	if (!t->count)
		return;
	json_open(&j, '{');
	json_key(&j, "type");
	json_text(&j, type ? type : "map");
	json_key(&j, "data");
	json_open(&j, '{');
	json_key_str(&j, t->map->name);
	if (t->map->key.kind == TYPE_NONE) {
		table_add_value(t, &t->entries[t->count - 1].value, out);
	} else {
		raw.escape = ESCAPE_NOTHING;
		json_open(&j, '{');
		for (size_t i = first; i < t->count; i++) {
			buf_clear(&key);
			table_add_key(&raw, &t->entries[i].key, ",", &key);
			json_key_str(&j, buf_as_str(&key));
			out->failed |= key.failed;
			table_add_value(t, &t->entries[i].value, out);
			j.comma = true;
		}
		json_close(&j, '}');
		buf_free(&key);
	}
	json_close(&j, '}');
	json_close(&j, '}');
	buf_char(out, '\n');
}

/* All entries of a map, sorted. The caller frees the arena, also after a failure. */
static int table_open(const struct renderer *r, const struct table_request *request,
		      const struct map_store *maps, struct map_table *t)
{
	int err;

	*t = (struct map_table){
		.renderer = r,
		.map = &r->program->maps[request->map],
		.style = request->style,
		.div = request->div > 0 ? request->div : 1,
	};
	err = map_take(maps, request->map, request->take, add_entry, t);
	if (err >= 0 && t->count > 1)
		qsort(t->entries, t->count, sizeof(*t->entries),
		      style_of(&t->map->value)->sorts_by_value ? compare_values
							       : table_compare_keys);
	return err < 0 ? err : 0;
}

/* stats() in CSV: count,average,total. */
static void add_stats_row(const struct map_table *t, const struct table_entry *e, struct buf *out)
{
	uint64_t numbers[] = {value_word(&e->value, 0), table_number(&e->value),
			      value_word(&e->value, 1)};
	struct buf cells[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
	struct str values[3];

	for (unsigned i = 0; i < 3; i++) {
		add_number(numbers[i], i && e->value.type->is_signed, 1, &cells[i]);
		values[i] = buf_as_str(&cells[i]);
		out->failed |= cells[i].failed;
	}
	row_add(t->renderer, t->map, &e->key, values, 3, out);
	for (unsigned i = 0; i < 3; i++)
		buf_free(&cells[i]);
}

/* print(@x) of a map without keys shows 0 before it has a value. */
static int add_zero(struct map_table *t)
{
	const struct map_def *m = t->map;
	size_t size = type_memory(&m->value);
	char *zeros;

	if (t->count || m->key.kind != TYPE_NONE || TYPE_BUCKETS >> m->value.kind & 1)
		return 0;
	zeros = arena_alloc(&t->arena, size);
	if (!zeros)
		return -ENOMEM;
	memset(zeros, 0, size);
	return add_entry(t, str_of(zeros, 0), str_of(zeros, size));
}

/* Each entry as a row, the largest first. */
static void add_rows(const struct map_table *t, size_t first, struct buf *out)
{
	bool is_csv = t->renderer->is_csv, is_stats = t->map->value.kind == TYPE_STATS;
	struct buf text = BUF_INIT;

	if (is_csv)
		row_add_header(t->renderer, t->map, out);
	for (size_t i = t->count; i-- > first;) {
		struct str value;

		if (is_csv && is_stats) {
			add_stats_row(t, &t->entries[i], out);
			continue;
		}
		buf_clear(&text);
		table_add_value(t, &t->entries[i].value, &text);
		value = buf_as_str(&text);
		row_add(t->renderer, t->map, &t->entries[i].key, &value, 1, out);
		out->failed |= text.failed;
	}
	buf_free(&text);
}

static void print_table(struct map_table *t, int64_t top, struct buf *out)
{
	const struct renderer *r = t->renderer;
	size_t first = 0;

	if (r->look && table_draw(t, top, out))
		return;
	/* stats() shows all there is: `top` and `div` mean nothing for it. */
	if (t->map->value.kind != TYPE_STATS && top > 0 && (uint64_t)top < t->count)
		first = t->count - (size_t)top;
	if (row_is_wanted(r)) {
		add_rows(t, first, out);
	} else if (t->style == REPORT_JSON) {
		add_json(t, first, out);
	} else {
		for (size_t i = first; i < t->count; i++)
			add_text_entry(t, &t->entries[i], out);
	}
}

int table_print(const struct renderer *r, const struct table_request *request,
		const struct map_store *maps, struct buf *out)
{
	struct map_table t;
	int err = table_open(r, request, maps, &t);

	if (!err && request->with_zero)
		err = add_zero(&t);
	if (!err)
		print_table(&t, request->top, out);
	arena_free(&t.arena);
	return !err && out->failed ? -ENOMEM : err;
}

void table_print_value(const struct renderer *r, enum report_style style, const struct map_def *map,
		       const struct value *value, struct buf *out)
{
	const struct map_table t = {.renderer = r, .map = map, .style = style, .div = 1};
	bool is_json = style == REPORT_JSON;

	buf_text(out, is_json ? "{\"type\": \"value\", \"data\": " : "");
	table_add_value(&t, value, out);
	buf_text(out, is_json ? "}\n" : "\n");
}

/* One entry of a map. */
struct wanted_entry {
	struct map_table table; /* has no others */
	const struct value *key;
};

/* 1: it is this one. */
static int take_wanted(void *arg, struct str key, struct str value)
{
	struct wanted_entry *w = arg;
	struct cursor c = cursor_of(key.ptr, key.len, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	struct value v;
	int err = value_decode(&w->table.map->key, &c, &v);

	if (err || value_compare(&v, w->key))
		return err;
	err = add_entry(&w->table, key, value);
	return err ? err : 1;
}

int table_print_entry(const struct renderer *r, const struct table_request *request,
		      const struct map_store *maps, const struct value *key, struct buf *out)
{
	const struct map_def *map = &r->program->maps[request->map];
	struct wanted_entry w = {.table = {.renderer = r, .map = map, .div = 1}, .key = key};
	struct buf zeros = BUF_INIT;
	struct value value = {.type = &map->value};
	int err = map_each(maps, request->map, take_wanted, &w);

	buf_fill(&zeros, '\0', type_memory(&map->value));
	value.bytes = buf_as_str(&zeros);
	if (zeros.failed)
		err = -ENOMEM;
	if (err >= 0)
		table_print_value(r, request->style, map,
				  w.table.count ? &w.table.entries[0].value : &value, out);
	buf_free(&zeros);
	arena_free(&w.table.arena);
	return err < 0 ? err : 0;
}

/* The parts of a key as texts, each with a NUL after it; their number. */
static unsigned read_parts(const struct renderer *r, const struct value *key, struct buf *out)
{
	bool several = key->type->kind == TYPE_TUPLE && key->type->show == SHOW_NUMBER;
	struct elements e;
	struct value element;
	unsigned count = key->type->kind != TYPE_NONE;

	if (!several) {
		if (count)
			render_text(r, key, INDENT_KEY, out);
		buf_char(out, '\0');
		return count;
	}
	elements_open(key, &e);
	for (count = 0; elements_next(&e, &element); count++) {
		render_text(r, &element, INDENT_KEY, out);
		buf_char(out, '\0');
	}
	return count;
}

int table_each(const struct renderer *r, const struct table_request *request,
	       const struct map_store *maps, report_entry_fn *fn, void *arg)
{
	struct map_table t;
	struct buf key = BUF_INIT, text = BUF_INIT, parts = BUF_INIT;
	int err = table_open(r, request, maps, &t);

	for (size_t i = 0; i < t.count && !err; i++) {
		const struct table_entry *e = &t.entries[i];
		const struct value_style *style = style_of(e->value.type);
		unsigned part_count;

		buf_clear(&key);
		buf_clear(&text);
		buf_clear(&parts);
		part_count = read_parts(r, &e->key, &parts);
		if (t.map->key.kind != TYPE_NONE)
			table_add_key(r, &e->key, ",", &key);
		table_add_value(&t, &e->value, &text);
		err = key.failed || text.failed || parts.failed
			      ? -ENOMEM
			      : fn(arg, &(struct report_entry){
						.key = buf_as_str(&key),
						.text = buf_as_str(&text),
						.parts = parts.ptr,
						.part_count = part_count,
						.is_number = style->is_number,
						.number = style->is_number
								  ? (int64_t)table_number(&e->value)
								  : 0,
						.value = &e->value,
					});
	}
	buf_free(&key);
	buf_free(&text);
	buf_free(&parts);
	arena_free(&t.arena);
	return err;
}
