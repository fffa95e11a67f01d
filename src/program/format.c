/* Formats of records: which are control records, and the pieces that a printf format is made of.
 *
 * Comes in: the text of a format in a script. Goes out: its pieces, one after the other. It is
 * parsed here only; the reader of records renders pieces. */
#include "program/op.h"

#include <errno.h>

#include "base/array.h"

#define FLAGS "-+ #0'" /* ORDER: enum piece_flag */

/* clang-format off */
static const struct {
	const char *name;
	bool control;
} formats[] = {
	[FORMAT_PRINTF]    = { "printf",    false }, [FORMAT_VALUE]     = { "value",     false },
	[FORMAT_RECORD]    = { "record",    false }, [FORMAT_MAP_VALUE] = { "map_value", false },
	[FORMAT_JOIN]      = { "join",      false }, [FORMAT_TIME]      = { "time",      true  },
	[FORMAT_PRINT]     = { "print",     true  }, [FORMAT_CLEAR]     = { "clear",     true  },
	[FORMAT_ZERO]      = { "zero",      true  }, [FORMAT_EXIT]      = { "exit",      true  },
	[FORMAT_CAT]       = { "cat",       false }, [FORMAT_SYSTEM]    = { "system",    false },
	[FORMAT_MESSAGE]   = { "message",   false }, [FORMAT_WARNING]   = { "warning",   false },
	[FORMAT_DEBUG]     = { "debug",     false },
};
/* clang-format on */

const char *format_name(enum format_kind kind)
{
	return (unsigned)kind < COUNT(formats) ? formats[kind].name : NULL;
}

bool format_is_control(const struct format *f)
{
	return (unsigned)f->kind < COUNT(formats) && formats[f->kind].control;
}

bool piece_is_conversion(char letter)
{
	return letter && strchr("diuxXopcsrfFeEgGaA", letter);
}

static bool take_letter(struct str *s, const char *set)
{
	if (!s->len || !*s->ptr || !strchr(set, *s->ptr))
		return false;
	*s = str_of(s->ptr + 1, s->len - 1);
	return true;
}

/* At most four digits; the rest is then no conversion. */
static uint16_t take_width(struct str *s)
{
	unsigned width = 0;

	for (unsigned n = 0; n < 4 && s->len && char_is_digit(*s->ptr); n++) {
		width = width * 10 + (unsigned)(*s->ptr - '0');
		*s = str_of(s->ptr + 1, s->len - 1);
	}
	return (uint16_t)(width < PIECE_MAX_WIDTH ? width : PIECE_MAX_WIDTH);
}

/* length = "hh" | "h" | "l" | "ll" | "j" | "z" | "t" | "L" */
static uint8_t take_length(struct str *s)
{
	if (take_letter(s, "h"))
		return take_letter(s, "h") ? 1 : 2;
	if (take_letter(s, "l")) {
		take_letter(s, "l");
		return 8;
	}
	return take_letter(s, "jztL") ? 8 : 0;
}

/* conversion = "%" flag* width? ( "." width? )? length? letter; a buffer's is %r, %rx or %rh, and
 * that of allocation flags %gr. After the '%'. */
static void take_conversion(struct str *s, struct piece *p)
{
	char last;

	for (last = s->len ? *s->ptr : '\0'; take_letter(s, FLAGS); last = s->len ? *s->ptr : '\0')
		p->flags |= (uint8_t)(1u << (strchr(FLAGS, last) - FLAGS));
	p->width = take_width(s);
	p->precision = take_letter(s, ".") ? (int16_t)take_width(s) : -1;
	p->length = take_length(s);
	last = s->len ? *s->ptr : '\0';
	if (s->len)
		*s = str_of(s->ptr + 1, s->len - 1);
	p->letter = piece_is_conversion(last) ? last : PIECE_BAD;
	last = s->len ? *s->ptr : '\0';
	if (p->letter == 'r' && take_letter(s, "xh"))
		p->variant = last;
	if (p->letter == 'g' && take_letter(s, "r"))
		p->letter = PIECE_GFP;
}

bool piece_next(struct str *rest, struct piece *out)
{
	struct piece p = {.text = *rest, .precision = -1};
	const char *percent;

	if (!rest->len)
		return false;
	if (!take_letter(rest, "%")) {
		percent = memchr(rest->ptr, '%', rest->len);
		*rest = percent ? str_of(percent, rest->len - (size_t)(percent - rest->ptr))
				: str_of(rest->ptr + rest->len, 0);
	} else if (take_letter(rest, "%")) {
		p.text = str_of(p.text.ptr + 1, p.text.len - 1); /* one of the two */
	} else {
		take_conversion(rest, &p);
	}
	p.text.len = (size_t)(rest->ptr - p.text.ptr);
	*out = p;
	return true;
}

int format_parse(struct str text, struct arena *a, struct format *f)
{
	struct piece *pieces = NULL, p;
	size_t count = 0, cap = 0;
	unsigned field = 0;

	while (piece_next(&text, &p)) {
		bool fits = p.letter && p.letter != PIECE_BAD && field < f->field_count;

		if (p.letter && !fits) { /* its '%' is a '%' */
			text = str_of(p.text.ptr + 1, text.len + p.text.len - 1);
			p = (struct piece){.text = str_of(p.text.ptr, 1)};
		}
		if (fits)
			p.field = (uint8_t)field++;
		if (arena_grow(a, (void **)&pieces, count, &cap, sizeof(*pieces)))
			return -ENOMEM;
		pieces[count++] = p;
	}
	f->pieces = pieces;
	f->piece_count = (uint32_t)count;
	return 0;
}

void format_source(const struct format *f, struct buf *out)
{
	for (uint32_t i = 0; i < f->piece_count; i++) {
		const struct piece *p = &f->pieces[i];

		for (size_t n = 0; n < p->text.len; n++) {
			if (!p->letter && p->text.ptr[n] == '%')
				buf_char(out, '%');
			buf_char(out, p->text.ptr[n]);
		}
	}
}

bool format_equal(const struct format *a, const struct format *b)
{
	if (a->kind != b->kind || !str_eq(a->text, b->text) || a->field_count != b->field_count ||
	    a->piece_count != b->piece_count || a->map != b->map || a->top != b->top ||
	    a->div != b->div || a->take != b->take || a->exit_code != b->exit_code)
		return false;
	for (unsigned i = 0; i < a->field_count; i++)
		if (!type_equal(&a->fields[i], &b->fields[i]))
			return false;
	for (uint32_t i = 0; i < a->piece_count; i++)
		if (a->pieces[i].letter != b->pieces[i].letter ||
		    a->pieces[i].flags != b->pieces[i].flags ||
		    !str_eq(a->pieces[i].text, b->pieces[i].text))
			return false;
	return true;
}
