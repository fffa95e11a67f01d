/* printf, cat, system, errorf, warnf and assert: their formats are parsed into pieces, which take
 * values, and the record carries the values. */
#include <errno.h>
#include <stdio.h>

#include "script/builtins/function.h"
#include "script/check/named.h"
#include "script/lower/emit.h"

#define NUMBERS (TYPE_BIT(TYPE_INT) | TYPE_BIT(TYPE_FLOAT))
#define SHOWN                                                                                  \
	(TYPE_BIT(TYPE_INT) | TYPE_BIT(TYPE_TUPLE) | TYPE_BIT(TYPE_BUF) | TYPE_BIT(TYPE_STR) | \
	 TYPE_BIT(TYPE_NAME) | TYPE_BIT(TYPE_USTACK) | TYPE_BIT(TYPE_KSTACK) |                 \
	 TYPE_BIT(TYPE_LSTACK) | TYPE_BIT(TYPE_DISPLAY))

struct conversion {
	const char *letters;
	uint32_t kinds;
	const char *wanted;
};

/* clang-format off */
static const struct conversion conversions[] = {
	{ "diu",      NUMBERS,              "an integer" },
	{ "xXoc",     TYPE_BIT(TYPE_INT),   "an integer" },
	{ "p",        TYPE_BIT(TYPE_INT),   "an address" },
	{ "s",        SHOWN,                "another value" },
	{ "r",        TYPE_BIT(TYPE_BUF),   "a buffer"   },
	{ "R",        TYPE_BIT(TYPE_INT),   "an integer" }, /* PIECE_GFP */
	{ FLOAT_LETTERS, TYPE_BIT(TYPE_FLOAT), "a float"    },
};
/* clang-format on */

static const struct conversion *conversion_of(const struct piece *p)
{
	const struct conversion *c = conversions;

	while (!strchr(c->letters, p->letter))
		c++;
	return c;
}

static bool wants_float(const struct piece *p)
{
	return conversion_of(p)->kinds == TYPE_BIT(TYPE_FLOAT);
}

/* An argument of a probe as "%s": its number, but most often str() was forgotten. */
static bool may_be_text(const struct expr *a)
{
	const struct type *t = &a->shape.type;
	bool is_argument = a->kind == EXPR_FIELD ||
			   (a->kind == EXPR_NAME && a->function && str_starts(a->text, STR("arg")));

	return is_argument && t->kind == TYPE_INT && t->size == 8 &&
	       (t->show == SHOW_NUMBER || t->show == SHOW_HEX);
}

static void warn_number(struct check *c, const struct expr *a)
{
	diag_warn_at(c->d, "number-as-text", script_span(c->s, a->mark),
		     "'%%s' shows this number in digits");
	diag_hint(c->d, "if it is the address of a string: str(%.*s)", (int)a->mark.len,
		  c->s->text.ptr + a->mark.at);
}

static void check_value(struct check *c, const struct piece *p, struct expr *a)
{
	const struct conversion *conversion = conversion_of(p);
	const struct type *t = &a->shape.type;

	if ((a->is_whole && p->letter == 's') || check_is_open(c, a))
		return;
	if (wants_float(p) && t->kind == TYPE_INT)
		check_as_float(c, a);
	if (p->letter == 's' && t->kind == TYPE_INT)
		check_as_text(c, a);
	if (p->letter == 's' && may_be_text(a))
		warn_number(c, a);
	if (conversion->kinds & TYPE_BIT(t->kind))
		return;
	check_error(c, a, "bad-format-arg", "'%.*s' expects %s, not %s", STR_FMT(p->text),
		    conversion->wanted, check_type_text(c, t));
	if (t->is_open)
		diag_hint(c->d, "its type is not known: no mapped image has the probe yet");
	if (wants_float(p) && t->kind == TYPE_INT)
		hint_no_float(c, a);
	if (t->kind == TYPE_FLOAT)
		diag_hint(c->d, "%%f prints it, %%d prints its integer part");
}

/* What a byte of a format is to who looks for stars. */
enum format_byte { BYTE_TEXT, BYTE_STAR, BYTE_LAST };

/* Byte `i`. `inside`: a conversion has begun and goes on; false before the first byte. */
static enum format_byte look_at_byte(struct str format, size_t i, bool *inside)
{
	char ch = format.ptr[i];

	if (!*inside) {
		*inside = ch == '%';
		return BYTE_TEXT;
	}
	if (ch == '*')
		return BYTE_STAR;
	if (!piece_is_conversion(ch) && strchr("-+ #0'.123456789hljzt", ch))
		return BYTE_TEXT;
	*inside = false;
	return ch == '%' && format.ptr[i - 1] == '%' ? BYTE_TEXT : BYTE_LAST;
}

/* The conversions of a format, and the stars in them. */
static unsigned count_conversions(struct str format, unsigned *stars)
{
	unsigned count = 0;
	bool inside = false;

	*stars = 0;
	for (size_t i = 0; i < format.len; i++) {
		enum format_byte byte = look_at_byte(format, i, &inside);

		*stars += byte == BYTE_STAR;
		count += byte == BYTE_LAST;
	}
	return count;
}

/* The value of a star becomes a part of the format. */
static void take_width(struct check *c, const struct expr *width, struct buf *format)
{
	if (!width->is_const || !expr_is_int(width))
		check_error(c, width, "bad-format-arg",
			    "the width of '*' must be a constant integer");
	buf_s64(format, (int64_t)width->value);
}

/* A star is a width that comes before the value, as in C: a constant, which is part of the format
 * then. Without such a value it means nothing, as in bpftrace. */
static void settle_stars(struct check *c, struct expr *e)
{
	struct str format = e->args[0]->text;
	unsigned stars, count = count_conversions(format, &stars), next = 1, kept = 1;
	bool have_values = stars && e->arg_count - 1u == count + stars, inside = false;
	struct expr **args = stars ? arena_array(&c->s->arena, struct expr *, e->arg_count) : NULL;
	struct buf text = BUF_INIT;

	if (!args)
		return;
	args[0] = e->args[0];
	for (size_t i = 0; i < format.len; i++) {
		enum format_byte byte = look_at_byte(format, i, &inside);

		if (byte != BYTE_STAR)
			buf_char(&text, format.ptr[i]);
		else if (have_values)
			take_width(c, e->args[next++], &text);
		if (byte == BYTE_LAST && next < e->arg_count)
			args[kept++] = e->args[next++];
	}
	if (!c->err) {
		e->args[0]->text = arena_str(&c->s->arena, buf_as_str(&text));
		e->args = have_values ? args : e->args;
		e->arg_count = have_values ? (uint16_t)kept : e->arg_count;
	}
	buf_free(&text);
}

/* printf("format", value...), cat, system */
static void check_printf(struct check *c, struct expr *e)
{
	struct str rest;
	struct piece p;
	unsigned n = 1;

	settle_stars(c, e);
	rest = e->args[0]->text;
	while (!c->err && piece_next(&rest, &p)) {
		if (p.letter == PIECE_BAD)
			diag_warn_at(c->d, "bad-format", script_span(c->s, e->args[0]->mark),
				     "'%.*s' is not a conversion of '%s': it is printed as it is",
				     STR_FMT(p.text), e->function->name);
		else if (p.letter && n++ < e->arg_count)
			check_value(c, &p, e->args[n - 1]);
	}
	if (n != e->arg_count)
		check_error(c, e, "format-count", "the format has %u conversion%s, but %u value%s",
			    n - 1, n == 2 ? "" : "s", e->arg_count - 1u,
			    e->arg_count == 2 ? "" : "s");
}

/* printf in the making. */
struct printf_call {
	struct piece *pieces;
	size_t piece_count, piece_cap;
	struct str place; /* of errorf() and its like */
	unsigned count;	  /* of values */
	struct type types[EMIT_MAX_FIELDS];
	struct field fields[EMIT_MAX_FIELDS];
};

static void add_piece(struct lower *l, const struct piece *p, struct printf_call *call)
{
	if (arena_grow(&l->s->arena, (void **)&call->pieces, call->piece_count, &call->piece_cap,
		       sizeof(*p)))
		lower_fail(l, -ENOMEM);
	else
		call->pieces[call->piece_count++] = *p;
}

static void add_literal(struct lower *l, struct str text, struct printf_call *call)
{
	if (!text.ptr)
		lower_fail(l, -ENOMEM);
	add_piece(l, &(struct piece){.text = text}, call);
}

/* The piece and the value it shows. %d of a float shows its integer part. */
static void add_value(struct lower *l, struct piece p, const struct expr *e,
		      struct printf_call *call)
{
	struct field *field = &call->fields[call->count];
	const struct type *t = &e->shape.type;
	uint16_t whole;

	if (l->err)
		return;
	if (call->count == EMIT_MAX_FIELDS) {
		l->err = diag_error_at(l->d, -E2BIG, "too-big", script_span(l->s, e->mark),
				       "too many values: the limit is %d", EMIT_MAX_FIELDS);
		return;
	}
	p.field = (uint8_t)call->count;
	add_piece(l, &p, call);
	call->types[call->count++] = *t;
	*field = lower_field(l, e);
	if (t->kind == TYPE_FLOAT && strchr("diu", p.letter)) {
		whole = lower_reg(l);
		emit_dai(l, OP_F2I, whole, field->reg, t->size);
		field->reg = whole;
		call->types[call->count - 1] = type_int(8, true);
	}
}

/* { .word = "hello", .n = 5 } */
static void add_parts(struct lower *l, const struct expr *whole, struct printf_call *call)
{
	static const struct piece part = {
		.text = STR("%q"), .letter = 's', .precision = -1, .flags = PIECE_QUOTED};

	for (unsigned n = 0; n < whole->number; n++) {
		add_literal(l,
			    arena_printf(&l->s->arena, "%s .%.*s = ", n ? "," : "{",
					 STR_FMT(whole->args[n]->text)),
			    call);
		add_value(l, part, whole->args[n], call);
	}
	add_literal(l, whole->number ? STR(" }") : STR("{ }"), call);
}

/* The pieces of the format, and the values that they show. */
static void add_format(struct lower *l, const struct expr *e, struct printf_call *call)
{
	struct str rest = e->args[0]->text;
	unsigned n = 1;
	struct piece p;

	while (piece_next(&rest, &p)) {
		const struct expr *value = NULL;

		if (p.letter == PIECE_BAD)
			p = (struct piece){.text = p.text, .precision = -1};
		value = p.letter ? e->args[n++] : NULL;
		if (!value)
			add_piece(l, &p, call);
		else if (value->is_whole)
			add_parts(l, value, call);
		else
			add_value(l, p, value, call);
	}
}

static void emit_call(struct lower *l, enum format_kind kind, const struct printf_call *call)
{
	lower_emit(l,
		   &(struct format){.kind = kind,
				    .pieces = call->pieces,
				    .piece_count = (uint32_t)call->piece_count,
				    .text = call->place,
				    .fields = call->types,
				    .field_count = call->count},
		   call->fields);
}

/* debugf takes as many values as the kernel's own function for it. */
static void check_debugf(struct check *c, struct expr *e)
{
	if (e->arg_count > 4)
		check_error(c, e, "wrong-arg-count", "'debugf' takes at most 3 values, not %u",
			    e->arg_count - 1u);
	else
		check_printf(c, e);
}

static void lower_printf(struct lower *l, const struct expr *e, uint16_t out)
{
	struct printf_call call = {.count = 0};

	(void)out;
	add_format(l, e, &call);
	emit_call(l, (enum format_kind)e->function->number, &call);
}

/* "stdin:1:9-24", as bpftrace has it: the column after the call is the second number, and a call of
 * several lines has their numbers only. */
static struct str place_of(struct lower *l, const struct expr *e)
{
	struct span span = script_span(l->s, e->mark), end = span;
	unsigned line, column, last_line, last_column;
	bool is_typed = str_eq(span.path, STR("-e")) || str_eq(span.path, STR("-"));
	struct str path = is_typed ? STR("stdin") : span.path;

	end.at += end.len;
	span_position(span, &line, &column);
	span_position(end, &last_line, &last_column);
	return line == last_line
		       ? arena_printf(&l->s->arena, "%.*s:%u:%u-%u", STR_FMT(path), line, column,
				      last_column)
		       : arena_printf(&l->s->arena, "%.*s:%u-%u", STR_FMT(path), line, last_line);
}

/* errorf, warnf: e->function->number is the kind of record */
static void lower_message(struct lower *l, const struct expr *e, uint16_t out)
{
	enum format_kind kind = (enum format_kind)e->function->number;
	struct printf_call call = {.count = 0};

	(void)out;
	call.place = place_of(l, e);
	add_format(l, e, &call);
	emit_call(l, kind, &call);
}

/* assert(condition, "message"): unless it holds, the message and the end of the run, status 1 */
static void check_assert(struct check *c, struct expr *e)
{
	check_int(c, e->args[0], "the condition of 'assert'");
}

static void lower_assert(struct lower *l, const struct expr *e, uint16_t out)
{
	struct printf_call call = {.count = 0};
	struct label holds = {0};

	(void)out;
	lower_jump(l, e->args[0], true, &holds);
	call.place = place_of(l, e);
	add_literal(l, STR("assert failed: "), &call);
	add_literal(l, e->args[1]->text, &call);
	emit_call(l, FORMAT_MESSAGE, &call);
	lower_emit(l, &(struct format){.kind = FORMAT_EXIT, .exit_code = 1}, NULL);
	lower_op(l, OP_RETURN);
	lower_bind(l, &holds);
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function printf_rows[] = {
	{ "printf", "f*", GROUP_STATEMENT, NEED_DATA, 0, NO_RESULT, check_printf, lower_printf, FORMAT_PRINTF,
	  "print values in a format", "printf(\"%d %s\\n\", pid, comm);" },
	{ "cat", "f*", GROUP_STATEMENT, NEED_DATA, 0, NO_RESULT, check_printf, lower_printf, FORMAT_CAT,
	  "print a file", "cat(\"/proc/%d/maps\", pid);" },
	{ "system", "f*", GROUP_STATEMENT, NEED_DATA | NEED_UNSAFE, 0, NO_RESULT, check_printf, lower_printf, FORMAT_SYSTEM,
	  "run a shell command (needs --unsafe)", "system(\"ps -p %d\", pid);" },
	{ "errorf", "f*", GROUP_STATEMENT, NEED_DATA, 0, NO_RESULT, check_printf, lower_message, FORMAT_MESSAGE,
	  "printf an error to standard error", "errorf(\"bad size: %d\", arg0);" },
	{ "warnf", "f*", GROUP_STATEMENT, NEED_DATA, 0, NO_RESULT, check_printf, lower_message, FORMAT_WARNING,
	  "printf a warning to standard error", "warnf(\"large: %d\", arg0);" },
	{ "debugf", "f*", GROUP_STATEMENT, NEED_DATA, 0, NO_RESULT, check_debugf, lower_printf, FORMAT_DEBUG,
	  "printf to the kernel's trace_pipe", "debugf(\"arg0: %d\\n\", arg0);" },
	{ "assert", "es", GROUP_STATEMENT, NEED_DATA, 0, NO_RESULT, check_assert, lower_assert, 0,
	  "end the run unless the condition holds", "assert(arg0 > 0, \"no size\");" },
	{ .name = NULL },
};
/* clang-format on */
