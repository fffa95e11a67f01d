/* Maps as tables for people: the largest entry first, columns that fit the terminal. */
#include <stdlib.h>

#include "report/draw.h"
#include "report/stack.h"
#include "report/table.h"

static int compare_down(const void *a, const void *b)
{
	int order = value_compare(&((const struct table_entry *)b)->value,
				  &((const struct table_entry *)a)->value);

	return order ? order : table_compare_keys(a, b);
}

static bool is_stack(const struct type *t)
{
	return type_is_stack(t) || type_is_mixed(t);
}

/* The parts of a key, or their types: several of a tuple, one of anything else. */
static bool has_parts(const struct type *key)
{
	return key->kind == TYPE_TUPLE && !type_is_mixed(key);
}

static unsigned part_count(const struct type *key)
{
	return key->kind == TYPE_NONE ? 0 : has_parts(key) ? key->element_count : 1;
}

static const struct type *part_type(const struct type *key, unsigned i)
{
	return has_parts(key) ? &key->elements[i] : key;
}

static bool has_stack(const struct type *key)
{
	for (unsigned i = 0; i < part_count(key); i++)
		if (is_stack(part_type(key, i)))
			return true;
	return false;
}

struct str table_next_title(struct str *rest)
{
	struct str title = *rest;
	int depth = 0;
	size_t at = 0;

	for (; at < rest->len && (rest->ptr[at] != ',' || depth); at++)
		depth += rest->ptr[at] == '(' || rest->ptr[at] == '['	? 1
			 : rest->ptr[at] == ')' || rest->ptr[at] == ']' ? -1
									: 0;
	title.len = at;
	at += at < rest->len;
	*rest = str_of(rest->ptr + at, rest->len - at);
	while (title.len && title.ptr[0] == ' ')
		title = str_of(title.ptr + 1, title.len - 1);
	if (str_starts(title, STR("args.")))
		title = str_of(title.ptr + 5, title.len - 5);
	return title;
}

#define KEYS_MOST 12

/* A table while it is put together. */
struct drawing {
	const struct map_table *t;
	struct nopal_column columns[KEYS_MOST + 4];
	unsigned count;
	struct buf titles; /* of the columns, each with a NUL after it */
	bool has_stacks;   /* a row has the stacks of its key below it, so the value comes first */
	bool has_shares;
	uint64_t total;
};

static void add_column(struct drawing *d, struct str title, bool is_number)
{
	for (size_t i = 0; i < title.len; i++) {
		char c = title.ptr[i];

		buf_char(&d->titles, c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c);
	}
	buf_char(&d->titles, '\0');
	d->columns[d->count++] = (struct nopal_column){.is_number = is_number};
}

static void add_value_columns(struct drawing *d)
{
	const struct type *value = &d->t->map->value;
	struct buf name = BUF_INIT;

	if (value->kind == TYPE_STATS) {
		add_column(d, STR("count"), true);
		add_column(d, STR("average"), true);
		add_column(d, STR("total"), true);
		return;
	}
	type_print(value, &name);
	name.len = name.ptr ? strcspn(name.ptr, "(") : 0;
	add_column(d, type_is_aggregate(value) ? buf_as_str(&name) : STR("value"), true);
	buf_free(&name);
	if (d->has_shares)
		add_column(d, STR("share"), true);
}

static void add_key_columns(struct drawing *d)
{
	struct str rest = str_from(d->t->renderer->titles ? d->t->renderer->titles : "");

	for (unsigned i = 0; i < part_count(&d->t->map->key); i++) {
		struct str title = table_next_title(&rest);

		if (!is_stack(part_type(&d->t->map->key, i)))
			add_column(d, title, false);
	}
}

static void make_columns(struct drawing *d)
{
	const char *at;

	if (d->has_stacks)
		add_value_columns(d);
	add_key_columns(d);
	if (!d->has_stacks)
		add_value_columns(d);
	at = d->titles.ptr;
	for (unsigned i = 0; i < d->count && at; i++) {
		d->columns[i].title = at;
		at += strlen(at) + 1;
	}
}

/* ---- Cells ---- */

static void add_number_cell(uint64_t n, bool is_signed, struct columns *out)
{
	struct buf cell = BUF_INIT;

	if (is_signed && (int64_t)n < 0)
		buf_s64(&cell, (int64_t)n);
	else
		draw_count(n, &cell);
	columns_add(out, buf_as_str(&cell));
	out->text.failed |= cell.failed;
	buf_free(&cell);
}

static void add_share_cell(const struct drawing *d, const struct value *v, struct columns *out)
{
	double part = d->total ? (double)table_number(v) / (double)d->total : 0;
	struct buf cell = BUF_INIT;

	buf_printf(&cell, "%.1f %%", 100 * part);
	columns_add(out, buf_as_str(&cell));
	out->text.failed |= cell.failed;
	buf_free(&cell);
}

static void add_value_cells(const struct drawing *d, const struct value *v, struct columns *out)
{
	const struct map_table *t = d->t;
	struct buf cell = BUF_INIT;

	if (v->type->kind == TYPE_STATS) {
		add_number_cell(value_word(v, 0), false, out);
		add_number_cell(table_number(v), v->type->is_signed, out);
		add_number_cell(value_word(v, 1), v->type->is_signed, out);
	} else if (table_has_number(v->type) && t->map->value.show != SHOW_HEX &&
		   (!v->type->is_signed || (int64_t)table_number(v) >= 0)) {
		add_number_cell(table_number(v) / (uint64_t)t->div, false, out);
	} else {
		table_add_value(t, v, &cell);
		columns_add(out, buf_as_str(&cell));
		out->text.failed |= cell.failed;
		buf_free(&cell);
	}
	if (d->has_shares)
		add_share_cell(d, v, out);
}

/* Do something with each part of a key that is a stack, or with each that is none. */
typedef void part_fn(const struct map_table *t, const struct value *part, void *arg);

static void each_part(const struct map_table *t, const struct value *key, bool stacks, part_fn *fn,
		      void *arg)
{
	struct elements e;
	struct value part;

	if (has_parts(key->type)) {
		elements_open(key, &e);
		while (elements_next(&e, &part))
			if (is_stack(part.type) == stacks)
				fn(t, &part, arg);
	} else if (key->type->kind != TYPE_NONE && is_stack(key->type) == stacks) {
		fn(t, key, arg);
	}
}

/* The renderer may have escaped the text of a key; columns_add() escapes it anyway. */
static void add_key_cell(const struct map_table *t, const struct value *part, void *arg)
{
	struct renderer raw = *t->renderer;
	struct columns *out = arg;
	struct buf cell = BUF_INIT;

	raw.escape = ESCAPE_NOTHING;
	render_text(&raw, part, INDENT_KEY, &cell);
	columns_add(out, buf_as_str(&cell));
	out->text.failed |= cell.failed;
	buf_free(&cell);
}

static void add_stack(const struct map_table *t, const struct value *part, void *arg)
{
	stack_lines(t->renderer, part, arg);
}

/* ---- Drawing ---- */

/* The lines of the table, each row with its stacks below it. */
static void add_with_stacks(const struct drawing *d, struct str lines, struct buf *out)
{
	const struct table_entry *e = d->t->entries;

	for (size_t i = 0; lines.len; i++) {
		buf_str(out, str_cut(&lines, '\n'));
		buf_char(out, '\n');
		if (i)
			each_part(d->t, &e[i - 1].key, true, add_stack, out);
	}
}

static void draw_rows(struct drawing *d, size_t end, struct buf *out)
{
	const struct map_table *t = d->t;
	struct columns table = {.columns = d->columns, .count = d->count};
	struct buf lines = BUF_INIT;

	for (size_t i = 0; i < end; i++) {
		const struct table_entry *e = &t->entries[i];

		if (d->has_stacks)
			add_value_cells(d, &e->value, &table);
		each_part(t, &e->key, false, add_key_cell, &table);
		if (!d->has_stacks)
			add_value_cells(d, &e->value, &table);
	}
	columns_print(&table, t->renderer->look, d->has_stacks ? &lines : out);
	if (d->has_stacks)
		add_with_stacks(d, buf_as_str(&lines), out);
	out->failed |= lines.failed;
	columns_free(&table);
	buf_free(&lines);
}

static void draw_numbers(const struct map_table *t, size_t end, struct buf *out)
{
	enum type_kind kind = t->map->value.kind;
	struct drawing d = {.t = t, .has_stacks = has_stack(&t->map->key)};

	/* Of what adds up, the share of all is worth more than the number. */
	d.has_shares = d.has_stacks &&
		       (kind == TYPE_COUNT || (kind == TYPE_SUM && !t->map->value.is_signed));
	for (size_t i = 0; i < t->count && d.has_shares; i++)
		d.total += table_number(&t->entries[i].value);
	make_columns(&d);
	if (!d.titles.failed)
		draw_rows(&d, end, out);
	out->failed |= d.titles.failed;
	buf_free(&d.titles);
}

/* The parts of a key but its stacks, with commas. */
struct key_line {
	struct buf *out;
	bool any;
};

static void add_to_line(const struct map_table *t, const struct value *part, void *arg)
{
	struct key_line *l = arg;

	buf_text(l->out, l->any ? ", " : "");
	render_text(t->renderer, part, INDENT_KEY, l->out);
	l->any = true;
}

/* The key in a line, its stacks, then the rows. */
static void draw_histograms(const struct map_table *t, size_t end, struct buf *out)
{
	for (size_t i = 0; i < end; i++) {
		const struct table_entry *e = &t->entries[i];
		struct key_line line = {out, false};

		each_part(t, &e->key, false, add_to_line, &line);
		buf_text(out, line.any ? "\n" : "");
		each_part(t, &e->key, true, add_stack, out);
		draw_histogram(e->value.type, e->value.bytes, t->renderer->look, out);
	}
}

bool table_draw(struct map_table *t, int64_t top, struct buf *out)
{
	enum type_kind kind = t->map->value.kind;
	size_t end = top > 0 && (uint64_t)top < t->count ? (size_t)top : t->count;

	if (!t->count)
		return true;
	if (part_count(&t->map->key) > KEYS_MOST)
		return false;
	qsort(t->entries, t->count, sizeof(*t->entries), compare_down);
	if (kind == TYPE_HIST || kind == TYPE_LHIST)
		draw_histograms(t, end, out);
	else
		draw_numbers(t, end, out);
	return true;
}
