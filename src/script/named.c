/* Arguments by name: args.word of usdt probes, and `args` as a whole, which can be printed.
 *
 * What an argument is read as is its form: text where it is known to be the address of text, a
 * number with its sign, a float. Forms differ from probe to probe and from site to site, so the
 * forms in use are part of a variant's signature, and all places of a variant have the same. */
#include "script/named.h"

#include <errno.h>

#include "script/builtins.h"
#include "script/values.h"

#define MAX_PARTS 64 /* of `args` as a whole */

enum form_kind {
	FORM_NUMBER,
	FORM_FLOAT,
	FORM_TEXT,
	FORM_LARGE,	 /* a struct, or another value that is in memory as a whole */
	FORM_UNREADABLE, /* the operand cannot be read */
};

struct form {
	enum form_kind kind;
	uint8_t size; /* FLOAT; LARGE: of the value; NUMBER: to be extended from, 0: it is right */
	bool is_signed;
	uint8_t show;
	int length; /* TEXT: the argument that counts it, or -1 */
};

static const struct known_arg *known_arg(const struct place *p, unsigned n)
{
	return p->known && n < p->known->arg_count ? &p->known->args[n] : NULL;
}

/* An integer as it is declared; as the operand has it when that is narrower, as constants are, or
 * when nothing is declared. */
static struct form number_form(const struct operand *o, const struct known_arg *k)
{
	struct form f = {.kind = FORM_NUMBER, .is_signed = o->is_signed || o->size < 8};

	if (!k || k->type_class == ARG_UNKNOWN)
		return f;
	if (k->type_class == ARG_POINTER)
		return (struct form){.kind = FORM_NUMBER, .show = SHOW_POINTER};
	if (k->type_class == ARG_BOOL)
		f.show = SHOW_BOOL;
	if (k->type_class == ARG_CHAR && k->size == 1)
		f.show = SHOW_CHAR;
	if (k->type_class == ARG_BOOL || !k->size || k->size > o->size)
		return f;
	if (k->size < 8 && (k->size < o->size || k->is_signed != o->is_signed))
		f.size = k->size;
	f.is_signed = k->is_signed;
	return f;
}

static bool is_text_operand(const struct arch *arch, const struct operand *o)
{
	return o->kind == OPERAND_CONST || (arch && o->size == arch->word);
}

static struct form form_of(const struct place *p, unsigned n)
{
	const struct operand *o = &p->attach.operands[n];
	const struct known_arg *k = known_arg(p, n);

	if (place_unreadable(p, n))
		return (struct form){.kind = FORM_UNREADABLE};
	if (o->kind == OPERAND_ADDRESS)
		return (struct form){.kind = FORM_NUMBER, .show = SHOW_POINTER};
	if (o->is_float)
		return (struct form){.kind = FORM_FLOAT, .size = o->size};
	if (!k)
		return number_form(o, NULL);
	if (k->type_class == ARG_FLOAT && k->size == o->size && k->size >= 4)
		return (struct form){.kind = FORM_FLOAT, .size = k->size};
	if (k->type_class == ARG_STRING && is_text_operand(p->attach.arch, o))
		return (struct form){.kind = FORM_TEXT, .length = k->length};
	if (k->type_class == ARG_FLOAT || k->type_class == ARG_BYTES || k->size > 8)
		return (struct form){.kind = FORM_LARGE, .size = k->size};
	return number_form(o, k);
}

/* The argument called `name`: as declared, or arg0. */
static bool find_named(const struct place *p, struct str name, unsigned *out)
{
	for (unsigned n = 0; n < p->attach.operand_count; n++) {
		const struct known_arg *k = known_arg(p, n);

		if (k && k->name.len && str_eq(k->name, name)) {
			*out = n;
			return true;
		}
	}
	return arg_number(name, out) && *out < p->attach.operand_count;
}

static struct str name_of(const struct place *p, unsigned n, struct arena *a)
{
	const struct known_arg *k = known_arg(p, n);

	return k && k->name.len ? k->name : arena_printf(a, "arg%u", n);
}

static void sign_form(const struct place *p, unsigned n, struct buf *out)
{
	struct form f = form_of(p, n);

	buf_printf(out, " %u:%d/%u/%u/%u", n, (int)f.kind, f.size, f.is_signed, f.show);
	if (f.kind == FORM_TEXT)
		buf_printf(out, "/%d", f.length);
}

/* 0: it is none. */
static unsigned float_size(const struct place *p, unsigned n)
{
	struct form f = form_of(p, n);

	return f.kind == FORM_FLOAT ? f.size : 0;
}

void sign_named(const struct uses *u, const struct place *p, struct buf *out)
{
	unsigned n;

	for (size_t i = 0; i < u->field_count; i++)
		if (find_named(p, u->fields[i], &n))
			sign_form(p, n, out);
		else
			buf_text(out, " -");
	for (n = 0; n < 128 && n < p->attach.operand_count; n++)
		if (u->floats[n / 64] >> (n % 64) & 1)
			buf_printf(out, " %%%u", float_size(p, n));
	for (n = 0; (u->needs & NEED_ALL_ARGS) && n < p->attach.operand_count; n++) {
		const struct known_arg *k = known_arg(p, n);

		sign_form(p, n, out);
		buf_printf(out, "=%.*s", k ? (int)k->name.len : 0, k ? k->name.ptr : "");
	}
}

/* ---- Types ---- */

static struct str nearest_name(const struct place *p, struct str name)
{
	struct guess guess = {.nearest = 4};

	for (unsigned n = 0; n < p->attach.operand_count; n++) {
		const struct known_arg *k = known_arg(p, n);

		if (k && k->name.len)
			guess_offer(&guess, name, k->name);
	}
	return guess.best;
}

static int unknown_name(struct check *c, const struct expr *e, const struct place *p)
{
	struct str near = nearest_name(p, e->text);
	struct str site = c->s->names.items[p->attach.name];
	unsigned count = p->attach.operand_count;
	struct buf names = BUF_INIT;

	for (unsigned n = 0; n < count; n++) {
		buf_text(&names, n ? ", " : "");
		buf_escaped(&names, name_of(p, n, &c->s->arena));
	}
	check_error(c, e, "unknown-arg", "'%.*s' has no argument '%.*s'", STR_FMT(site),
		    STR_FMT(e->text));
	if (near.len)
		diag_hint(c->d, "did you mean '%.*s'? its arguments: %.*s", STR_FMT(near),
			  STR_FMT(buf_as_str(&names)));
	else if (count && p->known && p->known->is_known)
		diag_hint(c->d, "its arguments: %.*s", STR_FMT(buf_as_str(&names)));
	else if (count)
		diag_hint(c->d, "nobody tells their names: a provider file can, or use %.*s",
			  STR_FMT(buf_as_str(&names)));
	else
		diag_hint(c->d, "it has no arguments");
	buf_free(&names);
	return -EINVAL;
}

static struct shape form_shape(const struct check *c, const struct form *f)
{
	struct shape shape = shape_int(f->is_signed);

	if (f->kind == FORM_FLOAT)
		return shape_of((struct type){.kind = TYPE_FLOAT, .size = f->size});
	if (f->kind == FORM_TEXT)
		return shape_of(type_text(TYPE_STR, c->s->facts.max_strlen));
	shape.type.show = f->show;
	return shape;
}

static int refuse(struct check *c, const struct expr *e, const struct place *p, unsigned n,
		  const struct form *f)
{
	if (f->kind == FORM_UNREADABLE)
		return check_readable(c, e, p, n);
	check_error(c, e, "large-arg", "'%.*s' is a value of %u bytes, too large for a script",
		    STR_FMT(e->text), f->size);
	diag_hint(c->d, "arg%u is what the probe's operand holds of it", n);
	return -EINVAL;
}

int check_named(struct check *c, struct expr *e)
{
	const struct place *p = c->v->places[0];
	struct form f;
	unsigned n;

	if (!find_named(p, e->text, &n))
		return unknown_name(c, e, p);
	f = form_of(p, n);
	if (f.kind != FORM_LARGE && f.kind != FORM_UNREADABLE) {
		e->shape = form_shape(c, &f);
		return 0;
	}
	if (!e->is_part)
		return refuse(c, e, p, n, &f);
	e->shape = shape_of((struct type){.kind = TYPE_NAME});
	return 0;
}

void check_as_float(struct check *c, struct expr *e)
{
	const struct place *p = c->v->count ? c->v->places[0] : NULL;
	struct form f;
	unsigned n;

	if (e->kind != EXPR_NAME || !p || !arg_number(e->text, &n) || n >= p->attach.operand_count)
		return;
	f = form_of(p, n);
	if (f.kind == FORM_FLOAT)
		e->shape = form_shape(c, &f);
}

void hint_no_float(struct check *c, const struct expr *e)
{
	const struct place *p = c->v->count ? c->v->places[0] : NULL;
	unsigned n;

	if (e->kind == EXPR_NAME && p && arg_number(e->text, &n) && n < p->attach.operand_count)
		diag_hint(c->d, "nothing says that arg%u of '%.*s' at 0x%llx is one: it is '%.*s'",
			  n, STR_FMT(c->s->names.items[p->attach.name]),
			  (unsigned long long)p->attach.offset, STR_FMT(p->attach.operands[n].raw));
}

/* The parts of `args`: one field for each argument, or of a tracepoint each field of its own. */
static unsigned part_count(const struct place *p)
{
	unsigned count = 0;

	if (p->spec->type == PROBE_USDT)
		return p->attach.operand_count;
	for (unsigned i = 0; p->event && i < p->event->field_count; i++)
		count += !str_starts(p->event->fields[i].name, STR("common_"));
	return count;
}

static struct str part_name(const struct place *p, unsigned n, struct arena *a)
{
	if (p->spec->type == PROBE_USDT)
		return name_of(p, n, a);
	for (unsigned i = 0; i < p->event->field_count; i++)
		if (!str_starts(p->event->fields[i].name, STR("common_")) && !n--)
			return p->event->fields[i].name;
	return STR("");
}

static int make_part(struct check *c, const struct expr *whole, const struct place *p, unsigned n,
		     struct expr **out)
{
	struct expr *part = arena_new(&c->s->arena, struct expr);

	if (!part)
		return -ENOMEM;
	part->kind = EXPR_FIELD;
	part->is_part = true;
	part->mark = whole->mark;
	part->place = whole->place;
	part->text = part_name(p, n, &c->s->arena);
	*out = part;
	return part->text.ptr ? check_expr(c, part) : -ENOMEM;
}

/* args: its parts are made anew for each variant. Only print and printf take it. */
int check_whole(struct check *c, struct expr *e)
{
	unsigned count = c->v->count ? part_count(c->v->places[0]) : 0;
	int err = 0;

	e->number = 0;
	e->is_whole = true;
	if (count > MAX_PARTS)
		return check_error(c, e, "too-big", "there are more than %d arguments", MAX_PARTS);
	e->args = arena_array(&c->s->arena, struct expr *, count + 1u);
	if (!e->args)
		return -ENOMEM;
	for (unsigned n = 0; n < count && !err; n++)
		err = make_part(c, e, c->v->places[0], n, &e->args[n]);
	e->number = count;
	return err;
}

/* ---- Code ---- */

static void lower_number(struct lower *l, unsigned n, const struct form *f, uint16_t out)
{
	uint16_t raw = f->size ? lower_reg(l) : out;

	emit_di(l, OP_ARG, raw, n);
	if (f->size)
		emit_dai(l, f->is_signed ? OP_SEXT : OP_ZEXT, out, raw, f->size);
}

static void lower_named_text(struct lower *l, unsigned n, const struct form *f, uint16_t out)
{
	uint16_t address = lower_reg(l), length = REG_NO;

	emit_di(l, OP_ARG, address, n);
	if (f->length >= 0) {
		length = lower_reg(l);
		emit_di(l, OP_ARG, length, (unsigned)f->length);
	}
	emit_read(l, OP_STR, out, address, length, l->s->facts.max_strlen);
}

void lower_part_note(struct lower *l, struct str text, uint16_t out)
{
	emit_di(l, OP_CONST, out, lower_text_number(l, &l->s->names, text));
}

void lower_named(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct place *p = l->v->places[0];
	struct form f;
	unsigned n = 0;

	find_named(p, e->text, &n);
	f = form_of(p, n);
	switch (f.kind) {
	case FORM_NUMBER: lower_number(l, n, &f, out); break;
	case FORM_FLOAT: emit_di(l, OP_ARG, out, n); break;
	case FORM_TEXT: lower_named_text(l, n, &f, out); break;
	case FORM_LARGE:
		lower_part_note(l, arena_printf(&l->s->arena, "(%u bytes)", f.size), out);
		break;
	default: lower_part_note(l, STR("(unreadable)"), out); break;
	}
}
