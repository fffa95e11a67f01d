/* printf, cat and system: the format's specifiers, the values they want, and the record that
 * carries the values. */
#include <errno.h>
#include <stdio.h>

#include "script/named.h"
#include "script/values.h"

#define KIND(kind) (1u << (kind))
#define NUMBERS	   (KIND(TYPE_INT) | KIND(TYPE_FLOAT))
#define TEXTS                                                                       \
	(KIND(TYPE_STR) | KIND(TYPE_NAME) | KIND(TYPE_USTACK) | KIND(TYPE_KSTACK) | \
	 KIND(TYPE_DISPLAY))

struct conversion {
	char letter;
	uint32_t kinds;
	const char *wanted;
};

static const struct conversion conversions[] = {
	{'d', NUMBERS, "an integer"},
	{'i', NUMBERS, "an integer"},
	{'u', NUMBERS, "an integer"},
	{'x', KIND(TYPE_INT), "an integer"},
	{'X', KIND(TYPE_INT), "an integer"},
	{'o', KIND(TYPE_INT), "an integer"},
	{'c', KIND(TYPE_INT), "an integer"},
	{'p', KIND(TYPE_INT), "an address"},
	{'s', TEXTS, "a string"},
	{'r', KIND(TYPE_BUF), "a buffer (buf)"},
	{'f', KIND(TYPE_FLOAT), "a float"},
	{'F', KIND(TYPE_FLOAT), "a float"},
	{'e', KIND(TYPE_FLOAT), "a float"},
	{'E', KIND(TYPE_FLOAT), "a float"},
	{'g', KIND(TYPE_FLOAT), "a float"},
	{'G', KIND(TYPE_FLOAT), "a float"},
	{'a', KIND(TYPE_FLOAT), "a float"},
	{'A', KIND(TYPE_FLOAT), "a float"},
};

/* One %-specifier of a format. */
struct specifier {
	struct str text; /* "%-10s" */
	const struct conversion *conversion;
};

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

static size_t digits(struct str format, size_t at)
{
	size_t n = 0;

	while (at + n < format.len && format.ptr[at + n] >= '0' && format.ptr[at + n] <= '9')
		n++;
	return n;
}

/* length = "hh" | "h" | "l" | "ll" | "j" | "z" | "t" */
static size_t length_modifier(struct str format, size_t at)
{
	char first = at < format.len ? format.ptr[at] : '\0';
	bool may_double = first == 'h' || first == 'l';

	if (!is_one_of(first, "hljzt"))
		return 0;
	return may_double && at + 1 < format.len && format.ptr[at + 1] == first ? 2 : 1;
}

/* specifier = "%" flag* width? ( "." width? )? length? letter; a buffer's is %r, %rx or %rh. *at
 * moves behind it; false when it is malformed. */
static bool take_specifier(struct str format, size_t *at, struct specifier *out)
{
	size_t start = *at, i = start + 1, n;
	char letter;

	while (i < format.len && is_one_of(format.ptr[i], "-+ #0'"))
		i++;
	i += n = digits(format, i);
	if (n <= 4 && i < format.len && format.ptr[i] == '.')
		i += 1 + (n = digits(format, i + 1));
	i += length_modifier(format, i);
	letter = i < format.len ? format.ptr[i] : '\0';
	if (i < format.len)
		i++;
	if (letter == 'r' && i < format.len && is_one_of(format.ptr[i], "xh"))
		i++;
	*out = (struct specifier){str_of(format.ptr + start, i - start), NULL};
	*at = i;
	for (size_t k = 0; k < sizeof(conversions) / sizeof(conversions[0]); k++)
		if (conversions[k].letter == letter && n <= 4)
			out->conversion = &conversions[k];
	return out->conversion;
}

/* The next specifier from *at on, or false at the end. `broken` when there is one, but bad. */
static bool next_specifier(struct str format, size_t *at, struct specifier *out, bool *broken)
{
	for (; *at < format.len; (*at)++) {
		if (format.ptr[*at] != '%')
			continue;
		if (*at + 1 < format.len && format.ptr[*at + 1] == '%') {
			(*at)++;
			continue;
		}
		*broken = !take_specifier(format, at, out);
		return true;
	}
	return false;
}

bool printf_wants_float(struct str format, unsigned value)
{
	struct specifier s;
	size_t at = 0;
	bool broken = false;

	for (unsigned n = 0; next_specifier(format, &at, &s, &broken) && !broken; n++)
		if (n == value)
			return s.conversion->kinds == KIND(TYPE_FLOAT);
	return false;
}

static int check_value(struct check *c, const struct specifier *s, struct expr *a)
{
	const struct type *t = &a->shape.type;
	bool wants_float = s->conversion->kinds == KIND(TYPE_FLOAT);

	if ((a->is_whole && s->conversion->letter == 's') || check_is_open(c, a))
		return 0;
	if (wants_float && t->kind == TYPE_INT)
		check_as_float(c, a);
	if (s->conversion->kinds & KIND(t->kind))
		return 0;
	check_error(c, a, "bad-format-arg", "'%.*s' wants %s, not %s", STR_FMT(s->text),
		    s->conversion->wanted, check_type_text(c, t));
	if (t->is_open)
		diag_hint(c->d, "no image with the probe it comes from is there yet");
	else if (s->conversion->letter == 's' && t->kind == TYPE_INT)
		diag_hint(c->d, "if this is the address of a string: str(...)");
	if (wants_float && t->kind == TYPE_INT)
		hint_no_float(c, a);
	if (t->kind == TYPE_FLOAT)
		diag_hint(c->d, "%%f prints it, %%d prints its integer part");
	return -EINVAL;
}

/* printf("format", value...), cat, system */
static int check_printf(struct check *c, struct expr *e)
{
	struct str format = e->args[0]->text;
	struct specifier s;
	unsigned n = 1;
	size_t at = 0;
	bool broken = false;

	while (next_specifier(format, &at, &s, &broken)) {
		if (broken)
			return check_error(c, e->args[0], "bad-format",
					   "'%.*s' is no specifier of '%s'", STR_FMT(s.text),
					   e->function->name);
		if (n < e->arg_count && check_value(c, &s, e->args[n]))
			return -EINVAL;
		n++;
	}
	if (n != e->arg_count)
		return check_error(
			c, e, "format-count", "the format has %u specifier%s, but %u value%s",
			n - 1, n == 2 ? "" : "s", e->arg_count - 1u, e->arg_count == 2 ? "" : "s");
	return 0;
}

/* %d of a float prints its integer part. */
static void cut_float(struct lower *l, struct type *t, struct field *field)
{
	uint16_t whole = lower_reg(l);

	emit_dai(l, OP_F2I, whole, field->reg, t->size);
	field->reg = whole;
	*t = type_int(8, true);
}

/* printf in the making: its values, and its format with `args` written out. */
struct printf_call {
	struct str rest; /* of the script's format */
	struct buf text;
	unsigned count;
	struct type types[EMIT_MAX_FIELDS];
	struct field fields[EMIT_MAX_FIELDS];
};

static void add_value(struct lower *l, const struct expr *e, struct printf_call *p)
{
	if (l->err)
		return;
	if (p->count == EMIT_MAX_FIELDS) {
		l->err = diag_error_at(l->d, -E2BIG, "too-big", script_span(l->s, e->mark),
				       "too many values: the limit is %d", EMIT_MAX_FIELDS);
		return;
	}
	p->types[p->count] = e->shape.type;
	p->fields[p->count++] = lower_field(l, e);
}

/* { .word = "hello", .n = 5 } */
static void add_parts(struct lower *l, const struct expr *whole, struct printf_call *p)
{
	buf_char(&p->text, '{');
	for (unsigned n = 0; n < whole->number; n++) {
		buf_printf(&p->text, "%s .%.*s = %%q", n ? "," : "", STR_FMT(whole->args[n]->text));
		add_value(l, whole->args[n], p);
	}
	buf_text(&p->text, " }");
}

/* Copy the format up to the specifier of the next value, and that too unless it is for `args`. */
static void add_argument(struct lower *l, const struct expr *e, struct printf_call *p)
{
	struct specifier s;
	size_t at = 0;
	bool broken;

	next_specifier(p->rest, &at, &s, &broken);
	buf_str(&p->text, str_of(p->rest.ptr, at - (e->is_whole ? s.text.len : 0)));
	p->rest = str_of(p->rest.ptr + at, p->rest.len - at);
	if (e->is_whole) {
		add_parts(l, e, p);
		return;
	}
	add_value(l, e, p);
	if (e->shape.type.kind == TYPE_FLOAT && is_one_of(s.conversion->letter, "diu") && !l->err)
		cut_float(l, &p->types[p->count - 1], &p->fields[p->count - 1]);
}

static void lower_printf(struct lower *l, const struct expr *e, uint16_t out)
{
	struct printf_call p = {.rest = e->args[0]->text, .text = BUF_INIT};
	struct format f = {.kind = (enum format_kind)e->function->number};

	(void)out;
	for (unsigned n = 1; n < e->arg_count; n++)
		add_argument(l, e->args[n], &p);
	buf_str(&p.text, p.rest);
	f.text = arena_str(&l->s->arena, buf_as_str(&p.text));
	f.fields = p.types;
	f.field_count = p.count;
	if (p.text.failed || !f.text.ptr)
		lower_fail(l, -ENOMEM);
	buf_free(&p.text);
	lower_emit(l, &f, p.fields);
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function printf_rows[] = {
	{ "printf", "f*", GROUP_STATEMENT, NEED_DATA, 0, NO_RESULT, check_printf, lower_printf, FORMAT_PRINTF,
	  "print values by a format", "printf(\"%d %s\\n\", pid, comm);" },
	{ "cat", "f*", GROUP_STATEMENT, NEED_DATA, 0, NO_RESULT, check_printf, lower_printf, FORMAT_CAT,
	  "print a file", "cat(\"/proc/%d/maps\", pid);" },
	{ "system", "f*", GROUP_STATEMENT, NEED_DATA | NEED_UNSAFE, 0, NO_RESULT, check_printf, lower_printf, FORMAT_SYSTEM,
	  "run a command of the shell (--unsafe)", "system(\"ps -p %d\", pid);" },
	{ .name = NULL },
};
/* clang-format on */
