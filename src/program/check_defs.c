/* program_check of what a program defines, each alone: types, maps, formats, attachments. */
#include "program/check.h"

#include <errno.h>

#include "base/array.h"

bool check_is_width(int64_t n)
{
	return n == 1 || n == 2 || n == 4 || n == 8;
}

static bool is_plain_type(const struct type *t)
{
	switch (t->kind) {
	case TYPE_INT: return check_is_width(t->size);
	case TYPE_FLOAT: return t->size == 4 || t->size == 8;
	case TYPE_STR:
	case TYPE_BUF:
	case TYPE_USTACK:
	case TYPE_KSTACK: return t->size > 0 && t->size % 8 == 0 && t->size <= PROGRAM_MAX_TEXT;
	case TYPE_LSTACK: return t->size > 0 && t->size % 16 == 0 && t->size <= PROGRAM_MAX_TEXT;
	case TYPE_DISPLAY: return t->size >= 8 && t->size <= 24 && t->size % 8 == 0 && t->display;
	case TYPE_HIST: return t->bits <= HIST_MAX_BITS && t->hidden_bits <= t->bits;
	case TYPE_LHIST:
		return t->step > 0 && t->min < t->max &&
		       ((uint64_t)t->max - (uint64_t)t->min) / (uint64_t)t->step <=
			       PROGRAM_MAX_LHIST;
	case TYPE_TUPLE: return false;
	default: return t->kind > TYPE_NONE && (unsigned)t->kind < TYPE_KINDS;
	}
}

/* A type of a slot, key, field or tuple element. *parts counts the parts of the whole. */
static bool is_value_type(const struct type *t, unsigned depth, unsigned *parts)
{
	if (t->kind == TYPE_TUPLE) {
		if (!t->element_count || t->element_count > PROGRAM_MAX_PARTS || !t->elements ||
		    depth >= PROGRAM_MAX_TUPLE_DEPTH)
			return false;
		for (unsigned i = 0; i < t->element_count; i++) {
			if (!is_value_type(&t->elements[i], depth + 1, parts))
				return false;
		}
		return true;
	}
	if (!is_plain_type(t) || type_is_aggregate(t))
		return false;
	*parts += type_parts(t);
	return *parts <= PROGRAM_MAX_PARTS;
}

int check_type(struct diag *d, const struct type *t, const char *what, uint32_t number)
{
	struct buf text = BUF_INIT;
	unsigned parts = 0;

	if (is_value_type(t, 0, &parts) && type_memory(t) <= PROGRAM_MAX_VALUE)
		return 0;
	if (t->kind != TYPE_TUPLE)
		type_print(t, &text);
	check_refuse(d, "%s %u: type '%s' is not one of a value, or too large", what, number,
		     text.ptr ? text.ptr : "(...)");
	buf_free(&text);
	return -EINVAL;
}

static bool ends_in_number(const struct type *t)
{
	if (t->kind == TYPE_TUPLE && t->element_count)
		t = &t->elements[t->element_count - 1];
	return t->kind == TYPE_INT;
}

int check_map_def(const struct program *p, uint32_t number, struct diag *d)
{
	const struct map_def *m = &p->maps[number];

	if (!m->max_entries)
		return check_refuse(d, "map %u has a limit of 0 entries", number);
	if (m->key.kind == TYPE_NONE && m->max_entries != 1)
		return check_refuse(d, "map %u has no key but %u entries", number, m->max_entries);
	if (m->key.kind == TYPE_NONE && m->forgets)
		return check_refuse(d, "map %u has no key but forgets", number);
	if (m->key.kind != TYPE_NONE && check_type(d, &m->key, "key of map", number))
		return -EINVAL;
	if (m->series.count && (!m->series.interval || !ends_in_number(&m->key)))
		return check_refuse(d, "map %u has no intervals", number);
	if (type_is_aggregate(&m->value) && is_plain_type(&m->value))
		return 0;
	return check_type(d, &m->value, "value of map", number);
}

/* print(@m[key]): the key, and the value unless it is one that scripts cannot read. */
static int check_map_value(const struct program *p, uint32_t number, struct diag *d)
{
	const struct format *f = &p->formats[number];
	const struct map_def *m = &p->maps[f->map];
	unsigned keys = m->key.kind != TYPE_NONE;

	if (f->field_count != keys && f->field_count != keys + 1)
		return check_refuse(d, "format %u: %u fields are not a key and value of map %u",
				    number, f->field_count, f->map);
	if (keys && !type_same_layout(&f->fields[0], &m->key))
		return check_refuse(d, "format %u: its first field is not a key of map %u", number,
				    f->map);
	return 0;
}

/* Pieces take the fields in their order; fields may be left over. */
static int check_pieces(const struct format *f, uint32_t number, struct diag *d)
{
	unsigned field = 0;

	for (uint32_t i = 0; i < f->piece_count; i++) {
		const struct piece *p = &f->pieces[i];
		bool has_length =
			p->length == 0 || p->length == 1 || p->length == 2 || p->length == 8;

		if (p->letter && ((!piece_is_conversion(p->letter) && p->letter != PIECE_GFP) ||
				  !has_length || p->width > PIECE_MAX_WIDTH || p->precision < -1 ||
				  p->precision > PIECE_MAX_WIDTH))
			return check_refuse(d, "format %u: piece %u is not a conversion", number,
					    i);
		if (p->letter && (p->field != field++ || field > f->field_count))
			return check_refuse(d, "format %u: piece %u does not show field %u", number,
					    i, field - 1);
	}
	return 0;
}

int check_format(const struct program *p, uint32_t number, struct diag *d)
{
	const struct format *f = &p->formats[number];
	bool has_map = f->kind == FORMAT_MAP_VALUE || f->kind == FORMAT_PRINT ||
		       f->kind == FORMAT_CLEAR || f->kind == FORMAT_ZERO;

	if (!format_name(f->kind))
		return check_refuse(d, "format %u is of unknown kind %u", number, f->kind);
	if (f->field_count > UINT8_MAX)
		return check_refuse(d, "format %u has too many fields", number);
	for (unsigned i = 0; i < f->field_count; i++) {
		if (check_type(d, &f->fields[i], "field of format", number))
			return -EINVAL;
		if (f->kind == FORMAT_JOIN && f->fields[i].kind != TYPE_STR)
			return check_refuse(d, "format %u: join takes strings only", number);
	}
	if (has_map && f->map >= p->map_count)
		return check_refuse(d, "format %u: there is no map %u", number, f->map);
	if (f->kind == FORMAT_VALUE && f->field_count != 1)
		return check_refuse(d, "format %u: a value is one field, not %u", number,
				    f->field_count);
	if (f->kind == FORMAT_EXIT && f->field_count &&
	    (f->field_count > 1 || f->fields[0].kind != TYPE_INT))
		return check_refuse(d, "format %u: the status of exit is one number", number);
	if (f->kind == FORMAT_MAP_VALUE)
		return check_map_value(p, number, d);
	return check_pieces(f, number, d);
}

/* What an attachment of its kind must have, and has not; NULL: nothing. */
static const char *what_is_missing(const struct attach *a)
{
	const struct {
		enum attach_part part;
		bool has;
		const char *problem;
	} parts[] = {
		{HAS_FILE, a->path.len, "has no file"},
		{HAS_FILE, a->arch, "has no architecture"},
		{HAS_PERIOD, a->period, "has no period"},
		{HAS_WATCH, a->length && a->mode, "watches nothing"},
		{HAS_BTF, a->btf_id, "has no function"},
		{HAS_EVENT, a->tracepoint.len, "names no tracepoint"},
		{HAS_TRACEPOINT, str_index(a->tracepoint, ':') >= 1, "names no tracepoint"},
	};

	for (size_t i = 0; i < COUNT(parts); i++)
		if (attach_has(a->kind, parts[i].part) && !parts[i].has)
			return parts[i].problem;
	return NULL;
}

/* Of the registers that scripts have, what a function returned is the only one. */
bool check_has_result(const struct attach *a, int64_t reg)
{
	return a->kind == ATTACH_FEXIT && a->arch && reg == a->arch->call_ret;
}

int check_attach(const struct checker *c, uint32_t number)
{
	const struct attach *a = &c->clause->attaches[number];
	const char *problem = NULL;

	if (!attach_name(a->kind))
		problem = "is of unknown kind";
	else if (a->name >= c->p->name_count || a->func >= c->p->name_count)
		problem = "has an unknown name";
	else
		problem = what_is_missing(a);
	if (problem)
		return check_refuse(c->d, "clause %u: attachment %u %s", c->clause_number, number,
				    problem);
	return 0;
}
