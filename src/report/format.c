/* Compiling printf formats, and the walk over their pieces. */
#include "report/format.h"

#include <errno.h>

/* Wider fields than this are a typing error, and only cost memory. */
#define WIDTH_MOST 4096

enum piece_kind {
	PIECE_LITERAL,
	PIECE_DECIMAL,	/* "%d" of a whole 64-bit value, without width or flags: the fast way */
	PIECE_UNSIGNED, /* "%u", likewise */
	PIECE_HEX,	/* "%x" */
	PIECE_TEXT,	/* "%s" */
	PIECE_PART,	/* "%q": as in a record; scripts have it only through `args` */
	PIECE_NUMBER,	/* an integer in any other form */
	PIECE_FLOAT,	/* "%f", "%g", "%e", "%a" */
	PIECE_CHAR,	/* "%c" */
	PIECE_BYTES,	/* "%r" printable or \xNN; "%rx" all \xNN; "%rh" all NN, blanks between */
};

struct piece {
	enum piece_kind kind;
	struct str literal;
	const struct type *type; /* of the field */
	char letter;		 /* conversion: d u x X o p c s r f g e a */
	char variant;		 /* of %r: 'x', 'h' or 0 */
	uint8_t length;		 /* bytes that hh, h, l, ll ask for; 0: not given */
	bool left;		 /* flag '-' */
	int width, precision;	 /* precision < 0: none */
	char spec[16];		 /* NUMBER, FLOAT: for printf, with '*' for width and precision */
};

static bool is_number_letter(char c)
{
	return c && strchr("diuxXop", c);
}

static bool is_float_letter(char c)
{
	return c && strchr("fFeEgGaA", c);
}

static int read_width(struct str *s)
{
	int width = 0;

	while (s->len && *s->ptr >= '0' && *s->ptr <= '9') {
		width = width * 10 + (*s->ptr - '0');
		if (width > WIDTH_MOST)
			width = WIDTH_MOST;
		*s = str_of(s->ptr + 1, s->len - 1);
	}
	return width;
}

static bool skip_char(struct str *s, char c)
{
	if (!s->len || *s->ptr != c)
		return false;
	*s = str_of(s->ptr + 1, s->len - 1);
	return true;
}

/* length = "hh" | "h" | "l" | "ll" | "j" | "z" | "t" */
static uint8_t read_length(struct str *s)
{
	if (skip_char(s, 'h'))
		return skip_char(s, 'h') ? 1 : 2;
	if (skip_char(s, 'l')) {
		skip_char(s, 'l');
		return 8;
	}
	return skip_char(s, 'j') || skip_char(s, 'z') || skip_char(s, 't') ? 8 : 0;
}

/* conversion = "%" [-+ #0']* width? ("." precision)? length? letter; `s` starts behind the '%'.
 * False when it is none. */
static bool read_conversion(struct str *s, struct piece *p)
{
	size_t at = 0;

	p->spec[at++] = '%';
	while (s->len && strchr("-+ #0'", *s->ptr) && *s->ptr) {
		if (!memchr(p->spec, *s->ptr, at))
			p->spec[at++] = *s->ptr; /* each flag once: six at most */
		p->left |= *s->ptr == '-';
		*s = str_of(s->ptr + 1, s->len - 1);
	}
	p->width = read_width(s);
	p->precision = skip_char(s, '.') ? read_width(s) : -1;
	p->length = read_length(s);
	if (!s->len)
		return false;
	p->letter = *s->ptr;
	*s = str_of(s->ptr + 1, s->len - 1);
	if (p->letter == 'r' && s->len && (*s->ptr == 'x' || *s->ptr == 'h')) {
		p->variant = *s->ptr;
		*s = str_of(s->ptr + 1, s->len - 1);
	}
	memcpy(p->spec + at, "*.*", 3);
	at += 3;
	if (is_number_letter(p->letter)) {
		p->spec[at++] = 'l';
		p->spec[at++] = 'l';
	}
	p->spec[at] = p->letter == 'p' ? 'x' : p->letter;
	return is_number_letter(p->letter) || is_float_letter(p->letter) || p->letter == 'c' ||
	       p->letter == 's' || p->letter == 'q' || p->letter == 'r';
}

static bool is_plain(const struct piece *p)
{
	return !p->width && p->precision < 0 && p->spec[1] == '*';
}

/* Bytes that the conversion shows. Without a length, "%d" means the whole value, and "%x" of an
 * int32 its 32 bits, as in C. What a register holds in its upper half is often left over from
 * something else, so all of it is shown only when asked for, by "%lx". */
static unsigned shown_bytes(const struct piece *p)
{
	unsigned size = p->type->shown ? p->type->shown : p->type->size;

	if (p->length)
		return p->length;
	if (p->type->is_raw)
		return 4;
	return p->letter == 'd' || p->letter == 'i' || size > 4 ? 8 : 4;
}

static enum piece_kind kind_of(const struct piece *p)
{
	bool number = p->type->kind == TYPE_INT || p->type->kind == TYPE_FLOAT;

	if (p->letter == 'r')
		return PIECE_BYTES;
	if (p->letter == 'q')
		return PIECE_PART;
	if (!number || p->letter == 's')
		return PIECE_TEXT; /* whatever was asked for: text cannot be shown as a number */
	if (p->letter == 'c')
		return PIECE_CHAR;
	if (is_float_letter(p->letter))
		return PIECE_FLOAT;
	if (p->type->kind == TYPE_FLOAT || !is_plain(p) || shown_bytes(p) != 8)
		return PIECE_NUMBER;
	switch (p->letter) {
	case 'd':
	case 'i': return PIECE_DECIMAL;
	case 'u': return PIECE_UNSIGNED;
	case 'x': return PIECE_HEX;
	default: return PIECE_NUMBER;
	}
}

static int add_piece(struct arena *a, struct piece **pieces, size_t *count, size_t *cap,
		     const struct piece *p)
{
	int err = arena_grow(a, (void **)pieces, *count, cap, sizeof(*p));

	if (!err)
		(*pieces)[(*count)++] = *p;
	return err;
}

/* One piece from the front of *s: a conversion with a field to show, or literal text. */
static struct piece next_piece(const struct format *f, unsigned *field, struct str *s)
{
	struct piece p = {.kind = PIECE_LITERAL, .precision = -1};
	struct str start = *s;
	const char *percent;

	if (skip_char(s, '%')) {
		if (skip_char(s, '%')) {
			p.literal = STR("%");
			return p;
		}
		if (read_conversion(s, &p) && *field < f->field_count) {
			p.type = &f->fields[(*field)++];
			p.kind = kind_of(&p);
			return p;
		}
		*s = str_of(start.ptr + 1, start.len - 1); /* no conversion: '%' is a '%' */
		return (struct piece){.literal = str_of(start.ptr, 1)};
	}
	percent = memchr(s->ptr, '%', s->len);
	p.literal = str_of(s->ptr, percent ? (size_t)(percent - s->ptr) : s->len);
	*s = str_of(s->ptr + p.literal.len, s->len - p.literal.len);
	return p;
}

int pieces_compile(const struct format *f, struct arena *a, struct pieces *out)
{
	struct piece *pieces = NULL;
	struct str rest = f->text;
	size_t count = 0, cap = 0;
	unsigned field = 0;
	int err = 0;

	while (rest.len && !err) {
		struct piece p = next_piece(f, &field, &rest);

		err = add_piece(a, &pieces, &count, &cap, &p);
	}
	if (!err)
		*out = (struct pieces){pieces, count};
	return err;
}

/* The integer that the conversion shows: cut to what hh, h or the field's own size say. */
static uint64_t narrow(const struct piece *p, uint64_t bits)
{
	unsigned size = shown_bytes(p);
	bool is_signed = p->letter == 'd' || p->letter == 'i';

	if (size == 8)
		return bits;
	bits <<= 64 - 8 * size;
	return is_signed ? (uint64_t)((int64_t)bits >> (64 - 8 * size)) : bits >> (64 - 8 * size);
}

/* C leaves values out of range open; the instruction the compiler uses gives INT64_MIN. */
static int64_t whole_part(double value)
{
	if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0))
		return INT64_MIN;
	return (int64_t)value;
}

static void add_number(const struct piece *p, const struct value *v, struct buf *out)
{
	uint64_t bits = v->bits;

	if (v->type->kind == TYPE_FLOAT)
		bits = (uint64_t)whole_part(float_of_bits(bits, v->type->size));
	else
		bits = narrow(p, bits);
	buf_printf(out, p->spec, p->width, p->precision, (unsigned long long)bits);
}

static void add_float(const struct piece *p, const struct value *v, struct buf *out)
{
	double value = v->type->is_signed ? (double)(int64_t)v->bits : (double)v->bits;

	if (v->type->kind == TYPE_FLOAT)
		value = float_of_bits(v->bits, v->type->size);
	buf_printf(out, p->spec, p->width, p->precision, value);
}

static void add_blanks_between(struct str bytes, struct buf *out)
{
	for (size_t i = 0; i < bytes.len; i++) {
		unsigned char c = (unsigned char)bytes.ptr[i];

		if (i)
			buf_char(out, ' ');
		buf_char(out, "0123456789abcdef"[c >> 4]);
		buf_char(out, "0123456789abcdef"[c & 15]);
	}
}

static void add_bytes(const struct piece *p, const struct renderer *r, const struct value *v,
		      struct buf *out)
{
	bool bytes = v->type->kind == TYPE_STR || v->type->kind == TYPE_BUF;

	if (!bytes || v->flags & (TEXT_NULL | TEXT_UNREADABLE)) {
		render_text(r, v, INDENT_VALUE, out);
		return;
	}
	if (p->variant == 'h')
		add_blanks_between(v->bytes, out);
	else
		render_escaped(v->bytes, p->variant == 'x', out);
	if (v->flags & TEXT_CUT)
		buf_str(out, r->trunc_trailer);
}

/* Blanks around the text from `start` on. */
static void pad(const struct piece *p, size_t start, struct buf *out)
{
	size_t len = out->len - start, width = (size_t)p->width, blanks;

	if (out->failed || len >= width)
		return;
	blanks = width - len;
	buf_fill(out, ' ', blanks);
	if (p->left || out->failed)
		return;
	memmove(out->ptr + start + blanks, out->ptr + start, len);
	memset(out->ptr + start, ' ', blanks);
}

/* Text that is made when it is shown. */
static bool is_word_text(const struct type *t)
{
	return t->kind == TYPE_NAME || t->kind == TYPE_DISPLAY;
}

static void add_text(const struct piece *p, const struct renderer *r, struct value *v,
		     struct buf *out)
{
	size_t start = out->len;

	if (p->precision >= 0 && v->type->kind == TYPE_STR && v->bytes.len > (size_t)p->precision) {
		v->bytes.len = (size_t)p->precision;
		v->flags &= ~TEXT_CUT; /* the script asked for no more */
	}
	if (p->kind == PIECE_TEXT)
		render_text(r, v, INDENT_VALUE, out);
	else if (p->kind == PIECE_BYTES)
		add_bytes(p, r, v, out);
	else
		render_bytes(r, str_of(&(char){(char)v->bits}, 1), out);
	if (p->precision >= 0 && is_word_text(v->type) && out->len - start > (size_t)p->precision)
		out->ptr[out->len = start + (size_t)p->precision] = '\0';
	pad(p, start, out);
}

static void add_pointer(const struct piece *p, const struct value *v, struct buf *out)
{
	size_t start = out->len;

	buf_text(out, "0x");
	buf_hex(out, v->bits);
	pad(p, start, out);
}

static void add_field(const struct piece *p, const struct renderer *r, struct value *v,
		      struct buf *out)
{
	switch (p->kind) {
	case PIECE_DECIMAL: buf_s64(out, (int64_t)v->bits); break;
	case PIECE_UNSIGNED: buf_u64(out, v->bits); break;
	case PIECE_HEX: buf_hex(out, v->bits); break;
	case PIECE_NUMBER:
		if (p->letter == 'p' && v->type->kind == TYPE_INT)
			add_pointer(p, v, out);
		else
			add_number(p, v, out);
		break;
	case PIECE_FLOAT: add_float(p, v, out); break;
	case PIECE_PART: render_part(r, v, out); break;
	default: add_text(p, r, v, out); break;
	}
}

int pieces_render(const struct pieces *pieces, const struct renderer *r, struct record *record,
		  struct buf *out)
{
	struct value v;

	for (size_t i = 0; i < pieces->count; i++) {
		const struct piece *p = &pieces->first[i];

		if (p->kind == PIECE_LITERAL)
			buf_str(out, p->literal);
		else if (record_field(record, p->type, &v))
			return -EPROTO;
		else
			add_field(p, r, &v, out);
	}
	return 0;
}

/* Is what the piece shows a number in digits, whatever the record says? */
static bool is_digits(const struct piece *p)
{
	return p->kind == PIECE_DECIMAL || p->kind == PIECE_UNSIGNED || p->kind == PIECE_HEX ||
	       p->kind == PIECE_NUMBER || p->kind == PIECE_FLOAT;
}

int pieces_render_shell(const struct pieces *pieces, const struct renderer *r,
			struct record *record, struct shell_line *out)
{
	struct value v;

	for (size_t i = 0; i < pieces->count; i++) {
		const struct piece *p = &pieces->first[i];
		size_t start = out->values.len;

		if (p->kind == PIECE_LITERAL) {
			shell_text(out, p->literal);
			continue;
		}
		if (record_field(record, p->type, &v))
			return -EPROTO;
		add_field(p, r, &v, is_digits(p) ? &out->text : &out->values);
		if (!is_digits(p))
			shell_value(out, start);
	}
	return 0;
}
