/* Every kind of value that is not an aggregate. */
#include "report/render.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "ctype/ctype.h"
#include "program/numbers.h"
#include "report/mixed_stack.h"
#include "report/script_stack.h"
#include "report/stack.h"

void elements_open(const struct value *tuple, struct elements *e)
{
	*e = (struct elements){
		.type = tuple->type,
		.rest.rest = cursor_of(tuple->bytes.ptr, tuple->bytes.len,
				       __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
		/* A packed tuple as long as the full one has every text at its full length, and
		 * then the two layouts are the same. */
		.packed = tuple->bytes.len != type_memory(tuple->type),
	};
}

bool elements_next(struct elements *e, struct value *out)
{
	const struct type *type;

	if (e->next == e->type->element_count)
		return false;
	type = &e->type->elements[e->next++];
	if (e->packed)
		return record_field(&e->rest, type, out) == 0;
	return value_decode(type, &e->rest.rest, out) == 0;
}

void render_bytes(const struct renderer *r, struct str bytes, struct buf *out)
{
	switch (r->escape) {
	case ESCAPE_NOTHING: buf_str(out, bytes); break;
	case ESCAPE_LINES: buf_escaped_lines(out, bytes); break;
	case ESCAPE_ALL: buf_escaped(out, bytes); break;
	}
}

void render_lines(const struct renderer *r, struct str text, struct buf *out)
{
	if (r->escape == ESCAPE_NOTHING)
		buf_str(out, text);
	else
		buf_escaped_lines(out, text);
}

void render_quoted(struct str text, struct buf *out)
{
	struct json j = {out, false};

	json_str(&j, text);
}

void render_escaped(struct str bytes, bool all, struct buf *out)
{
	for (size_t i = 0; i < bytes.len; i++) {
		char c = bytes.ptr[i];

		if (!all && c >= ' ' && c <= '~') {
			buf_char(out, c);
			continue;
		}
		buf_add(out, "\\x", 2);
		buf_hex_byte(out, c);
	}
}

/* Shortest decimal text that reads back as the same float of `size` bytes; "inf", "-inf", "nan". */
static void render_float(double value, unsigned size, struct buf *out)
{
	int most = size == 4 ? 9 : 17;
	char text[40];

	if (isnan(value)) {
		buf_text(out, "nan"); /* its sign says nothing */
		return;
	}
	for (int digits = size == 4 ? 6 : 15; digits <= most; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (size == 4 ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
			break;
	}
	buf_text(out, text);
}

/* A number of `size` bytes at `at`, in the machine's order. */
static uint64_t number_at(const char *at, size_t size, bool is_signed)
{
	uint64_t bits = 0;

	memcpy((char *)&bits + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 8 - size : 0), at, size);
	return extend_bits(bits, (unsigned)size, is_signed);
}

/* [1,2,3] from the bytes of the numbers */
static void render_numbers(const struct value *v, bool is_signed, struct buf *out)
{
	size_t size = v->type->bits ? v->type->bits : 1;

	buf_char(out, '[');
	for (size_t i = 0; i + size <= v->bytes.len; i += size) {
		uint64_t n = number_at(v->bytes.ptr + i, size, is_signed);

		buf_text(out, i ? "," : "");
		if (is_signed)
			buf_s64(out, (int64_t)n);
		else
			buf_u64(out, n);
	}
	buf_char(out, ']');
}

/* A tuple, struct or array without elements: report/display.c. */
static bool is_nothing(const struct type *t)
{
	return t->kind == TYPE_DISPLAY && strchr("({[", t->display[0]);
}

static bool is_bytes(const struct value *v)
{
	return v->type->kind == TYPE_BUF && !(v->flags & (TEXT_NULL | TEXT_UNREADABLE));
}

static bool is_numbers(const struct value *v)
{
	return is_bytes(v) && v->type->show == SHOW_ARRAY;
}

static void render_string(const struct renderer *r, const struct value *v, struct buf *out)
{
	if (v->flags & TEXT_NULL)
		buf_text(out, "(null)");
	else if (v->flags & TEXT_UNREADABLE)
		buf_text(out, "(unreadable)");
	else if (is_numbers(v))
		render_numbers(v, v->type->is_signed, out);
	else if (v->type->kind == TYPE_BUF)
		render_escaped(v->bytes, false, out);
	else
		render_bytes(r, v->bytes, out);
	if (v->flags & TEXT_CUT)
		buf_str(out, r->trunc_trailer);
}

typedef void render_fn(const struct renderer *r, const struct value *v, unsigned indent,
		       struct buf *out);

static void render_elements(const struct renderer *r, const struct value *tuple, unsigned indent,
			    render_fn *render, const char *separator, struct buf *out)
{
	struct elements e;
	struct value element;

	elements_open(tuple, &e);
	for (bool is_first = true; elements_next(&e, &element); is_first = false) {
		buf_text(out, is_first ? "" : separator);
		render(r, &element, indent, out);
	}
}

static struct str enum_name(const struct value *v)
{
	return v->type->ctype ? ctype_constant_name(v->type->ctype, (int64_t)v->bits) : STR("");
}

/* { .a = 1, .b = x } */
static void render_record(const struct renderer *r, const struct value *record, unsigned indent,
			  struct buf *out)
{
	struct elements e;
	struct value element;

	elements_open(record, &e);
	for (const char *before = "{ ."; elements_next(&e, &element); before = ", .") {
		buf_text(out, before);
		render_bytes(r, element.type->name, out);
		buf_text(out, " = ");
		render_text(r, &element, indent, out);
	}
	buf_text(out, " }");
}

static void render_tuple(const struct renderer *r, const struct value *v, unsigned indent,
			 struct buf *out)
{
	bool is_array = v->type->show == SHOW_ARRAY;

	if (v->type->show == SHOW_RECORD) {
		render_record(r, v, indent, out);
		return;
	}
	buf_char(out, is_array ? '[' : '(');
	render_elements(r, v, indent, render_text, is_array ? "," : ", ", out);
	buf_char(out, is_array ? ']' : ')');
}

static void add_plain(const struct value *v, struct buf *out)
{
	if (v->type->is_signed)
		buf_s64(out, (int64_t)v->bits);
	else
		buf_u64(out, v->bits);
}

/* A char that is not printable, or an enum without such a constant, is shown as a number. */
static void render_int(const struct value *v, struct buf *out)
{
	uint8_t show = v->type->show;

	if (show == SHOW_BOOL) {
		buf_text(out, v->bits ? "true" : "false");
	} else if (show == SHOW_HEX) {
		buf_text(out, "0x");
		buf_hex(out, v->bits);
	} else if (show == SHOW_ENUM && enum_name(v).len) {
		buf_str(out, enum_name(v));
	} else if (show == SHOW_CHAR && v->bits >= ' ' && v->bits <= '~') {
		buf_printf(out, "'%c'", (char)v->bits);
	} else {
		add_plain(v, out);
	}
}

void render_text(const struct renderer *r, const struct value *v, unsigned indent, struct buf *out)
{
	switch (v->type->kind) {
	case TYPE_INT: render_int(v, out); break;
	case TYPE_FLOAT:
		render_float(float_of_bits(v->bits, v->type->size), v->type->size, out);
		break;
	case TYPE_STR:
	case TYPE_BUF: render_string(r, v, out); break;
	case TYPE_NAME:
		if (v->bits < r->name_count)
			render_bytes(r, r->names[v->bits], out);
		else
			buf_text(out, "(unknown)");
		break;
	case TYPE_TUPLE:
		if (type_is_mixed(v->type))
			mixed_stack_text(r, v, indent, out);
		else
			render_tuple(r, v, indent, out);
		break;
	case TYPE_USTACK:
	case TYPE_KSTACK: stack_text(r, v, indent, out); break;
	case TYPE_LSTACK: script_stack_text(r, v, indent, out); break;
	case TYPE_DISPLAY: render_display(r, v, out); break;
	default: break; /* aggregates are only in maps: see table.c */
	}
}

/* Text in quotes, so that it cannot be taken for the text around it. */
void render_part(const struct renderer *r, const struct value *v, struct buf *out)
{
	bool is_text = v->type->kind == TYPE_STR && !(v->flags & (TEXT_NULL | TEXT_UNREADABLE));

	if (!is_text) {
		render_text(r, v, INDENT_VALUE, out);
		return;
	}
	render_quoted(v->bytes, out);
	if (v->flags & TEXT_CUT)
		buf_str(out, r->trunc_trailer);
}

/* Addresses, constants of enums and letters are numbers in JSON, as bpftrace has them. */
static bool is_plain_in_json(const struct type *t)
{
	return t->kind == TYPE_INT &&
	       (t->show == SHOW_HEX || t->show == SHOW_ENUM || t->show == SHOW_CHAR);
}

/* Is there a JSON word for the value? There is no number for infinity. */
static bool is_json_word(const struct type *t, uint64_t bits)
{
	if (t->kind == TYPE_INT)
		return t->show == SHOW_NUMBER || t->show == SHOW_BOOL || is_plain_in_json(t);
	return t->kind == TYPE_FLOAT && isfinite(float_of_bits(bits, t->size));
}

static void render_json_record(const struct renderer *r, const struct value *record,
			       unsigned indent, struct buf *out)
{
	struct elements e;
	struct value element;

	elements_open(record, &e);
	for (const char *before = "{"; elements_next(&e, &element); before = ", ") {
		buf_text(out, before);
		render_quoted(element.type->name, out);
		buf_text(out, ": ");
		render_json(r, &element, indent, out);
	}
	buf_char(out, '}');
}

void render_json(const struct renderer *r, const struct value *v, unsigned indent, struct buf *out)
{
	struct renderer raw = *r;
	struct buf text = BUF_INIT;

	if (v->type->kind == TYPE_TUPLE && v->type->show == SHOW_RECORD) {
		render_json_record(r, v, indent, out);
		return;
	}
	if (type_is_mixed(v->type) && r->is_structured) {
		mixed_stack_json(r, v, out);
		return;
	}
	if (v->type->kind == TYPE_TUPLE && !type_is_mixed(v->type)) {
		buf_char(out, '[');
		render_elements(r, v, indent, render_json, ",", out);
		buf_char(out, ']');
		return;
	}
	if (r->is_structured && (v->type->kind == TYPE_USTACK || v->type->kind == TYPE_KSTACK)) {
		stack_json(r, v, out);
		return;
	}
	if (r->is_structured && v->type->kind == TYPE_LSTACK) {
		script_stack_json(r, v, out);
		return;
	}
	if (r->is_structured && (v->flags & TEXT_NULL) &&
	    (v->type->kind == TYPE_STR || v->type->kind == TYPE_BUF)) {
		buf_text(out, "null");
		return;
	}
	if (is_bytes(v)) { /* of a buffer they are signed, as bpftrace has them */
		render_numbers(v, v->type->is_signed || v->type->show != SHOW_ARRAY, out);
		return;
	}
	if (is_nothing(v->type)) {
		buf_text(out, v->type->display[0] == '{' ? "{}" : "[]");
		return;
	}
	raw.escape = ESCAPE_NOTHING; /* JSON has its own escapes */
	if (is_plain_in_json(v->type))
		add_plain(v, &text);
	else
		render_text(&raw, v, indent, &text);
	if (is_json_word(v->type, v->bits))
		buf_str(out, buf_as_str(&text));
	else
		render_quoted(buf_as_str(&text), out);
	out->failed |= text.failed;
	buf_free(&text);
}
