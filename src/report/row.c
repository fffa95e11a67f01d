/* Rows: JSON objects, folded stacks, CSV. */
#include "report/row.h"

#include "base/json.h"

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

	if (key->type->kind != TYPE_TUPLE) {
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

static void add_object(const struct renderer *r, const struct map_def *map, const struct value *key,
		       struct str value, struct buf *out)
{
	struct json j = {out, false};

	json_open(&j, '{');
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
	     struct str value, struct buf *out)
{
	bool has_key = map->key.kind != TYPE_NONE;

	if (r->is_structured) {
		add_object(r, map, key, value, out);
	} else if (r->is_folded) {
		if (has_key)
			each_part(r, key, add_folded_part, out);
		buf_char(out, ' ');
		buf_str(out, value);
	} else {
		if (has_key)
			each_part(r, key, row_add_cell, out);
		buf_text(out, has_key ? "," : "");
		add_csv_text(value, out);
	}
	buf_char(out, '\n');
}
