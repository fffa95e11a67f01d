/* Rows: JSON objects, folded stacks, CSV. */
#include "report/row.h"

#include <stdio.h>

#include "base/json.h"
#include "report/table.h"

bool row_is_wanted(const struct renderer *r)
{
	return r->is_structured || r->is_folded || r->is_csv;
}

/* Call `fn` with each part of a key: the elements of a tuple, or all of another. */
static void each_part(const struct renderer *r, const struct value *key,
		      void (*fn)(const struct renderer *r, const struct value *part, bool first,
				 struct buf *out),
		      struct buf *out)
{
	struct elements e;
	struct value part;

	if (key->type->kind != TYPE_TUPLE || type_is_mixed(key->type)) {
		fn(r, key, true, out);
		return;
	}
	elements_open(key, &e);
	for (bool first = true; elements_next(&e, &part); first = false)
		fn(r, &part, first, out);
}

static void add_json_part(const struct renderer *r, const struct value *part, bool first,
			  struct buf *out)
{
	buf_text(out, first ? "" : ", ");
	render_json(r, part, INDENT_KEY, out);
}

/* Nothing in a folded line but the last blank separates. */
static void add_folded_part(const struct renderer *r, const struct value *part, bool first,
			    struct buf *out)
{
	struct buf text = BUF_INIT;

	buf_text(out, first ? "" : ";");
	render_text(r, part, INDENT_KEY, &text);
	for (size_t i = 0; i < text.len; i++)
		buf_char(out, text.ptr[i] == '\n' ? ' ' : text.ptr[i]);
	out->failed |= text.failed;
	buf_free(&text);
}

/* RFC 4180: quotes where there is a comma, a quote or a new line. */
static void add_csv_text(struct str text, struct buf *out)
{
	bool plain = !memchr(text.ptr, ',', text.len) && !memchr(text.ptr, '"', text.len) &&
		     !memchr(text.ptr, '\n', text.len) && !memchr(text.ptr, '\r', text.len);

	if (plain) {
		buf_str(out, text);
		return;
	}
	buf_char(out, '"');
	for (size_t i = 0; i < text.len; i++) {
		buf_text(out, text.ptr[i] == '"' ? "\"" : "");
		buf_char(out, text.ptr[i]);
	}
	buf_char(out, '"');
}

void row_add_cell(const struct renderer *r, const struct value *part, bool first, struct buf *out)
{
	struct renderer folded = *r;
	struct buf text = BUF_INIT;

	folded.is_folded = true; /* a stack is one cell */
	buf_text(out, first ? "" : ",");
	render_text(&folded, part, INDENT_KEY, &text);
	add_csv_text(buf_as_str(&text), out);
	out->failed |= text.failed;
	buf_free(&text);
}

/* Was the header of this table not written yet? Then it is now. */
static bool is_header_due(const struct renderer *r, struct str table)
{
	struct str rest = r->headers ? buf_as_str(r->headers) : STR("");

	while (rest.len)
		if (str_eq(str_cut(&rest, '\n'), table))
			return false;
	if (r->headers) {
		buf_str(r->headers, table);
		buf_char(r->headers, '\n');
	}
	return r->headers != NULL;
}

/* Untrusted as the names of arguments are. */
static void add_title(const struct renderer *r, struct str title, bool first, struct buf *out)
{
	struct buf safe = BUF_INIT;

	buf_text(out, first ? "" : ",");
	render_bytes(r, title, &safe);
	add_csv_text(buf_as_str(&safe), out);
	out->failed |= safe.failed;
	buf_free(&safe);
}

void row_add_names(const struct renderer *r, struct str names, struct buf *out)
{
	if (!is_header_due(r, names))
		return;
	for (bool first = true; names.len; first = false) {
		struct str name = str_cut(&names, ' ');

		if (str_starts(name, STR("args.")))
			name = str_of(name.ptr + 5, name.len - 5);
		add_title(r, name, first, out);
	}
	buf_char(out, '\n');
}

/* Of a part of a key: what the user called it, or what it is. */
static void add_key_title(const struct renderer *r, const struct type *part, struct str title,
			  unsigned i, struct buf *out)
{
	char number[16];

	snprintf(number, sizeof(number), "key%u", i + 1);
	if (part->kind == TYPE_LSTACK)
		title = STR("langstack");
	else if (type_is_mixed(part))
		title = STR("ustack");
	else if (part->kind == TYPE_USTACK || part->kind == TYPE_KSTACK)
		title = part->kind == TYPE_USTACK ? STR("ustack") : STR("kstack");
	else if (!title.len)
		title = str_from(number);
	add_title(r, title, !i, out);
}

void row_add_header(const struct renderer *r, const struct map_def *map, struct buf *out)
{
	struct str rest = str_from(r->titles ? r->titles : "");
	bool is_tuple = map->key.kind == TYPE_TUPLE && !type_is_mixed(&map->key);
	unsigned count = is_tuple ? map->key.element_count : map->key.kind != TYPE_NONE;
	static const char *const columns[] = {"count", "average", "total"};
	struct buf value = BUF_INIT;

	if (!is_header_due(r, map->name))
		return;
	for (unsigned i = 0; i < count; i++)
		add_key_title(r, is_tuple ? &map->key.elements[i] : &map->key,
			      table_next_title(&rest), i, out);
	buf_text(out, count ? "," : "");
	if (map->value.kind == TYPE_STATS) {
		for (unsigned i = 0; i < 3; i++) {
			buf_text(out, i ? "," : "");
			add_title(r, r->titles ? STR("") : map->name, true, out);
			buf_printf(out, "%s%s", r->titles ? "" : ".", columns[i]);
		}
	} else if (r->titles && type_is_aggregate(&map->value)) {
		type_print(&map->value, &value);
		buf_add(out, value.ptr, value.ptr ? strcspn(value.ptr, "(") : 0);
	} else {
		add_title(r, map->name, true, out);
	}
	buf_char(out, '\n');
	out->failed |= value.failed;
	buf_free(&value);
}

static void add_object(const struct renderer *r, const struct map_def *map, const struct value *key,
		       struct str value, struct buf *out)
{
	struct json j = {out, false};

	json_open(&j, '{');
	json_pair(&j, "type", STR("row"));
	json_pair(&j, "map", map->name);
	json_key(&j, "key");
	buf_char(out, '[');
	if (map->key.kind != TYPE_NONE)
		each_part(r, key, add_json_part, out);
	buf_char(out, ']');
	j.comma = true;
	json_key(&j, "value");
	buf_str(out, value);
	json_close(&j, '}');
}

void row_add(const struct renderer *r, const struct map_def *map, const struct value *key,
	     const struct str *values, unsigned count, struct buf *out)
{
	bool has_key = map->key.kind != TYPE_NONE;

	if (r->is_structured) {
		add_object(r, map, key, values[0], out);
	} else if (r->is_folded) {
		if (has_key)
			each_part(r, key, add_folded_part, out);
		buf_char(out, ' ');
		buf_str(out, values[0]);
	} else {
		if (has_key)
			each_part(r, key, row_add_cell, out);
		for (unsigned i = 0; i < count; i++) {
			buf_text(out, has_key || i ? "," : "");
			add_csv_text(values[i], out);
		}
	}
	buf_char(out, '\n');
}
