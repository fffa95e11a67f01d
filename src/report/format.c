/* printf formats: one walk over the pieces of a format for each record. */
#include "report/inside.h"

#include <errno.h>

#include "program/numbers.h"

/* How a field is shown, by its conversion and its type. */
enum form {
	FORM_DECIMAL,  /* "%d" of a whole 64-bit value, without width or flags: the fast way */
	FORM_UNSIGNED, /* "%u" of such a value, as fast */
	FORM_HEX,      /* "%x" */
	FORM_TEXT,     /* "%s" */
	FORM_QUOTED,   /* a part of `args` */
	FORM_NUMBER,   /* an integer in any other form */
	FORM_FLOAT,    /* "%f", "%g", "%e", "%a" */
	FORM_CHAR,     /* "%c" */
	FORM_GFP,      /* "%gr" */
	FORM_BYTES,    /* "%r" printable or \xNN; "%rx" all \xNN; "%rh" all NN, blanks between */
};

/* Bytes that the conversion shows. Without a length, "%d" means the whole value, and "%x" of an
 * int32 its 32 bits, as in C. What a register holds in its upper half is often left over from
 * something else, so all of it is shown only when asked for, by "%lx". */
static unsigned shown_bytes(const struct piece *p, const struct type *t)
{
	unsigned size = t->shown ? t->shown : t->size;

	if (p->length)
		return p->length;
	if (t->is_raw)
		return 4;
	return p->letter == 'd' || p->letter == 'i' || size > 4 ? 8 : 4;
}

static enum form form_of(const struct piece *p, const struct type *t)
{
	bool number = t->kind == TYPE_INT || t->kind == TYPE_FLOAT;

	if (p->flags & PIECE_QUOTED)
		return FORM_QUOTED;
	if (p->letter == 'r')
		return FORM_BYTES;
	if (p->letter == PIECE_GFP && number)
		return FORM_GFP;
	if (!number || p->letter == 's')
		return FORM_TEXT; /* whatever was asked for: text cannot be shown as a number */
	if (p->letter == 'c')
		return FORM_CHAR;
	if (strchr("fFeEgGaA", p->letter))
		return FORM_FLOAT;
	if (t->kind == TYPE_FLOAT || p->width || p->precision >= 0 || p->flags ||
	    shown_bytes(p, t) != 8)
		return FORM_NUMBER;
	switch (p->letter) {
	case 'd':
	case 'i': return FORM_DECIMAL;
	case 'u': return FORM_UNSIGNED;
	case 'x': return FORM_HEX;
	default: return FORM_NUMBER;
	}
}

/* The conversion for C's printf, with '*' for width and precision. */
static void make_spec(const struct piece *p, bool is_integer, char spec[16])
{
	size_t at = 0;

	spec[at++] = '%';
	for (unsigned i = 0; i < 6; i++)
		if (p->flags >> i & 1)
			spec[at++] = "-+ #0'"[i]; /* ORDER: enum piece_flag */
	memcpy(spec + at, is_integer ? "*.*ll" : "*.*", is_integer ? 5 : 3);
	at += is_integer ? 5 : 3;
	spec[at++] = p->letter == 'p' ? 'x' : p->letter;
	spec[at] = '\0';
}

static void add_number(const struct piece *p, const struct value *v, struct buf *out)
{
	int64_t whole = INT64_MIN;
	bool is_signed = p->letter == 'd' || p->letter == 'i';
	char spec[16];

	if (v->type->kind == TYPE_FLOAT) {
		/* C leaves values out of range open; the instruction the compiler uses gives
		 * INT64_MIN. */
		double value = float_of_bits(v->bits, v->type->size);

		if (value >= -9223372036854775808.0 && value < 9223372036854775808.0)
			whole = (int64_t)value;
	} else {
		/* Cut to what hh, h or the field's own size say. */
		whole = (int64_t)extend_bits(v->bits, shown_bytes(p, v->type), is_signed);
	}
	make_spec(p, true, spec);
	buf_printf(out, spec, p->width, p->precision, (unsigned long long)whole);
}

static void add_float(const struct piece *p, const struct value *v, struct buf *out)
{
	double value = v->type->is_signed ? (double)(int64_t)v->bits : (double)v->bits;
	char spec[16];

	if (v->type->kind == TYPE_FLOAT)
		value = float_of_bits(v->bits, v->type->size);
	make_spec(p, false, spec);
	buf_printf(out, spec, p->width, p->precision, value);
}

static void add_bytes(const struct piece *p, const struct renderer *r, const struct value *v,
		      struct buf *out)
{
	bool bytes = v->type->kind == TYPE_STR || v->type->kind == TYPE_BUF;

	if (!bytes || v->flags & (TEXT_NULL | TEXT_UNREADABLE)) {
		render_text(r, v, INDENT_VALUE, out);
		return;
	}
	if (p->variant != 'h')
		render_escaped(v->bytes, p->variant == 'x', out);
	for (size_t i = 0; p->variant == 'h' && i < v->bytes.len; i++) {
		buf_text(out, i ? " " : "");
		buf_hex_byte(out, v->bytes.ptr[i]);
	}
	if (v->flags & TEXT_CUT)
		buf_str(out, r->trunc_trailer);
}

/* Blanks around the text from `start` on. */
static void pad_text(const struct piece *p, size_t start, struct buf *out)
{
	size_t len = out->len - start, width = (size_t)p->width, blanks;

	if (out->failed || len >= width)
		return;
	blanks = width - len;
	buf_fill(out, ' ', blanks);
	if ((p->flags & PIECE_LEFT) || out->failed)
		return;
	memmove(out->ptr + start + blanks, out->ptr + start, len);
	memset(out->ptr + start, ' ', blanks);
}

static void add_text(const struct piece *p, enum form form, const struct renderer *r,
		     struct value *v, struct buf *out)
{
	size_t start = out->len;
	bool is_made = v->type->kind == TYPE_NAME || v->type->kind == TYPE_DISPLAY; /* when shown */

	if (p->precision >= 0 && v->type->kind == TYPE_STR && v->bytes.len > (size_t)p->precision) {
		v->bytes.len = (size_t)p->precision;
		v->flags &= ~TEXT_CUT; /* the script asked for no more */
	}
	if (form == FORM_TEXT)
		render_text(r, v, INDENT_VALUE, out);
	else if (form == FORM_GFP)
		gfp_print(r->gfp, v->bits, out);
	else if (form == FORM_BYTES)
		add_bytes(p, r, v, out);
	else
		render_bytes(r, str_of(&(char){(char)v->bits}, 1), out);
	if (p->precision >= 0 && is_made && out->len - start > (size_t)p->precision)
		out->ptr[out->len = start + (size_t)p->precision] = '\0';
	pad_text(p, start, out);
}

static void add_field(const struct piece *p, enum form form, const struct renderer *r,
		      struct value *v, struct buf *out)
{
	size_t start = out->len;

	switch (form) {
	case FORM_DECIMAL: buf_s64(out, (int64_t)v->bits); break;
	case FORM_UNSIGNED: buf_u64(out, v->bits); break;
	case FORM_HEX: buf_hex(out, v->bits); break;
	case FORM_NUMBER:
		if (p->letter != 'p' || v->type->kind != TYPE_INT) {
			add_number(p, v, out);
			break;
		}
		buf_text(out, v->bits ? "0x" : ""); /* as C++ has it */
		buf_hex(out, v->bits);
		pad_text(p, start, out);
		break;
	case FORM_FLOAT: add_float(p, v, out); break;
	case FORM_QUOTED: render_part(r, v, out); break;
	default: add_text(p, form, r, v, out); break;
	}
}

int format_render(const struct format *f, const struct renderer *r, struct record *record,
		  struct buf *out)
{
	struct value v;

	for (uint32_t i = 0; i < f->piece_count; i++) {
		const struct piece *p = &f->pieces[i];

		if (!p->letter)
			buf_str(out, p->text);
		else if (record_field(record, &f->fields[p->field], &v))
			return -EPROTO;
		else
			add_field(p, form_of(p, v.type), r, &v, out);
	}
	return 0;
}

/* Is what the form shows a number in digits, whatever the record says? */
static bool is_digits(enum form form)
{
	return form == FORM_DECIMAL || form == FORM_UNSIGNED || form == FORM_HEX ||
	       form == FORM_NUMBER || form == FORM_FLOAT;
}

int format_render_shell(const struct format *f, const struct renderer *r, struct record *record,
			struct shell_line *out)
{
	struct value v;

	for (uint32_t i = 0; i < f->piece_count; i++) {
		const struct piece *p = &f->pieces[i];
		size_t start = out->values.len;
		enum form form;

		if (!p->letter) {
			shell_text(out, p->text);
			continue;
		}
		if (record_field(record, &f->fields[p->field], &v))
			return -EPROTO;
		form = form_of(p, v.type);
		add_field(p, form, r, &v, is_digits(form) ? &out->text : &out->values);
		if (!is_digits(form))
			shell_value(out, start);
	}
	return 0;
}
