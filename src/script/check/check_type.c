/* Types in the making: shapes of values, and the types of maps and variables, which grow by what is
 * stored in them.
 *
 * Comes in: a type met at one place. Goes out: the type that holds this and all before it;
 * check->changed tells that a lasting one has grown. */
#include "script/check/value_type.h"

#include <errno.h>

#include "base/array.h"
#include "script/check/check.h"
#include "script/check/ctypes.h"
#include "script/check/map.h"

struct shape shape_of(struct type t)
{
	return (struct shape){.type = t};
}

struct shape shape_int(bool is_signed)
{
	return shape_of(type_int(8, is_signed));
}

struct shape shape_bool(void)
{
	struct shape shape = shape_int(true);

	shape.type.show = SHOW_BOOL;
	return shape;
}

struct type type_text(enum type_kind kind, uint64_t bytes)
{
	uint64_t size = bytes < 8 ? 8 : (bytes + 7) / 8 * 8;

	if (size > PROGRAM_MAX_TEXT)
		size = PROGRAM_MAX_TEXT;
	return (struct type){.kind = kind,
			     .size = (uint32_t)size,
			     .capacity = (uint32_t)(bytes < size ? bytes : size)};
}

/* Texts that are looked up when they are printed. */
static const struct {
	const char *display;
	uint32_t capacity; /* in bpftrace */
} later_texts[] = {{"errno", 64}, {"signal", 64}, {"syscall", 64}, {"comm", 16}};

uint32_t type_capacity(const struct type *t)
{
	for (size_t i = 0; t->kind == TYPE_DISPLAY && i < COUNT(later_texts); i++)
		if (!strcmp(t->display, later_texts[i].display))
			return later_texts[i].capacity;
	return t->capacity ? t->capacity : t->size;
}

/* What an argument is shows when an image with the probe is there. */
struct shape shape_open(void)
{
	struct shape shape = shape_int(true);

	shape.type.is_open = true;
	return shape;
}

bool check_is_open(const struct check *c, const struct expr *e)
{
	return !c->v->count && e->shape.type.is_open;
}

bool type_is_word(const struct type *t)
{
	return t->kind == TYPE_INT || t->kind == TYPE_FLOAT || t->kind == TYPE_NAME;
}

const char *check_type_text(const struct check *c, const struct type *t)
{
	struct type as_written = *t;
	struct buf text = BUF_INIT;
	const char *copy;

	if (t->capacity)
		as_written.size = t->capacity;
	type_print(&as_written, &text);
	copy = arena_text(&c->s->arena, buf_as_str(&text));
	buf_free(&text);
	return copy ? copy : "?";
}

/* string, string[16]: names of the language, not of C */
bool check_named_text(const struct ctype *t, struct type *out)
{
	uint64_t count = 0;

	if (t->kind == CTYPE_ARRAY && !ctype_count(t, &count))
		return false;
	if (t->kind == CTYPE_ARRAY)
		t = t->to;
	if (t->kind != CTYPE_NAMED || !str_eq_text(t->name, "string"))
		return false;
	*out = type_text(TYPE_STR, count ? count - 1 : 0);
	out->capacity = (uint32_t)count;
	return true;
}

static int merge_tuple(struct check *c, struct type *known, const struct type *t)
{
	struct type *elements = arena_array(&c->s->arena, struct type, known->element_count);

	if (!elements)
		return -ENOMEM;
	for (unsigned i = 0; i < known->element_count; i++) {
		elements[i] = known->elements[i];
		if ((known->show == SHOW_RECORD &&
		     !str_eq(known->elements[i].name, t->elements[i].name)) ||
		    check_merge(c, &elements[i], &t->elements[i]))
			return -EINVAL;
	}
	known->elements = elements;
	return 0;
}

/* An aggregate that takes in signed and unsigned values is signed. */
static void merge_sign(struct check *c, struct type *known, const struct type *t)
{
	if (t->is_open)
		return;
	if (known->is_open) {
		known->is_open = false;
		known->is_signed = t->is_signed;
		c->changed = true;
	}
	if (t->is_signed && !known->is_signed) {
		known->is_signed = true;
		c->changed = true;
	}
}

bool type_is_flexible(const struct type *t)
{
	return t->kind == TYPE_INT && (t->is_flexible || t->show == SHOW_BOOL);
}

unsigned type_shown_bytes(const struct type *t)
{
	return t->show == SHOW_BOOL ? 1 : t->shown ? t->shown : t->size;
}

/* A number, and no address, char or constant of an enum. */
static bool is_plain_number(const struct type *t)
{
	return !type_target(t) && (t->show == SHOW_NUMBER || t->show == SHOW_BOOL);
}

/* What holds numbers of either sign is signed, and wider than the unsigned ones, up to 8 bytes. */
static void merge_numbers(struct check *c, struct type *known, const struct type *t)
{
	unsigned bytes = type_shown_bytes(known), others = type_shown_bytes(t);
	unsigned size = others > bytes ? others : bytes;
	bool is_signed = type_is_flexible(known) ? t->is_signed : known->is_signed;
	bool is_flexible = type_is_flexible(known) && type_is_flexible(t);

	if (is_flexible)
		is_signed = known->is_signed && t->is_signed;
	if (!type_is_flexible(known) && !type_is_flexible(t) && known->is_signed != t->is_signed) {
		unsigned of_unsigned = known->is_signed ? others : bytes;

		size = size == of_unsigned && size < 8 ? 2 * size : size;
		is_signed = true;
	}
	if (size == type_shown_bytes(known) && is_signed == known->is_signed &&
	    is_flexible == known->is_flexible)
		return;
	if (size > bytes || is_signed != known->is_signed)
		known->ctype = size == others && is_signed == t->is_signed ? t->ctype : NULL;
	known->shown = (uint8_t)size;
	known->is_signed = is_signed;
	known->is_flexible = is_flexible;
	c->changed = true;
}

/* What takes in a bool, a char or an address, and other numbers too, shows numbers; what takes in
 * numbers of several widths shows the widest; and with others, a register is a number as they are.
 */
static void merge_show(struct check *c, struct type *known, const struct type *t)
{
	bool are_numbers = is_plain_number(known) && is_plain_number(t);
	bool is_wider = !are_numbers && type_shown_bytes(t) > type_shown_bytes(known);

	if (are_numbers && !(known->show == SHOW_BOOL && t->show == SHOW_BOOL))
		merge_numbers(c, known, t);
	if (is_wider) {
		known->shown = (uint8_t)type_shown_bytes(t);
		c->changed = true;
	}
	if (known->is_raw && !t->is_raw) {
		known->is_raw = false;
		c->changed = true;
	}
	if (known->show != SHOW_NUMBER &&
	    (known->show != t->show || (t->show == SHOW_ENUM && known->ctype != t->ctype))) {
		known->show = SHOW_NUMBER;
		c->changed = true;
	}
	if (is_wider)
		known->ctype = t->ctype;
}

/* An argument of a probe that no image has yet is open: it fits what is known, and becomes what is
 * known first. Types of different kinds never merge: nothing is converted silently. */
int check_merge(struct check *c, struct type *known, const struct type *t)
{
	if (t->kind == TYPE_INT && t->is_open && !type_is_aggregate(known))
		return 0;
	if (known->kind == TYPE_INT && known->is_open && !type_is_aggregate(t)) {
		*known = *t;
		c->changed = true;
		return 0;
	}
	if (known->kind != t->kind)
		return -EINVAL;
	if (type_is_aggregate(known)) {
		if (known->bits != t->bits || known->hidden_bits != t->hidden_bits ||
		    known->min != t->min || known->max != t->max || known->step != t->step)
			return -EINVAL;
		merge_sign(c, known, t);
		return 0;
	}
	switch (known->kind) {
	case TYPE_INT: merge_show(c, known, t); return 0;
	case TYPE_STR:
	case TYPE_BUF:
		if (known->capacity < t->capacity) {
			known->capacity = t->capacity;
			c->changed = true;
		}
		if (t->size > known->size) {
			known->size = t->size;
			c->changed = true;
		}
		return 0;
	case TYPE_TUPLE:
		return known->element_count == t->element_count && known->show == t->show
			       ? merge_tuple(c, known, t)
			       : -EINVAL;
	default: return type_equal(known, t) ? 0 : -EINVAL;
	}
}

static struct type *widen_target(struct expr *e)
{
	if (e->kind == EXPR_VARIABLE && e->variable)
		return &e->variable->shape.type;
	if (e->kind == EXPR_MAP && e->map)
		return &e->map->value;
	return NULL;
}

/* Slots are copied whole, so both sides of a copy must have the same size. The larger type goes
 * down into the expression, to the variables and maps that it reads; what they are assigned from
 * then has to grow in the next pass. Calls make their text in a slot of any size. */
void check_widen(struct check *c, struct expr *e, const struct type *t)
{
	struct type *target = e ? widen_target(e) : NULL;

	if (!e || (t->kind != TYPE_STR && t->kind != TYPE_BUF && t->kind != TYPE_TUPLE))
		return;
	if (target) {
		struct type room = *t;

		room.capacity = target->capacity; /* more room makes no other type of it */
		check_merge(c, target, &room);
		e->shape.type = *target;
	} else if (e->kind == EXPR_TERNARY) {
		if (!ternary_skips(e, true))
			check_widen(c, e->args[1] ? e->args[1] : e->args[0], t);
		if (!ternary_skips(e, false))
			check_widen(c, e->args[2], t);
		e->shape.type = *t;
	} else if (e->kind == EXPR_CAST && t->kind == TYPE_STR) {
		if (e->args[0]->shape.type.kind == TYPE_STR) /* else it is spelled out */
			check_widen(c, e->args[0], t);
		e->shape.type = *t;
	} else if (e->kind == EXPR_BLOCK) {
		if (e->arg_count)
			check_widen(c, e->args[0], t);
		e->shape.type = *t;
	} else if (e->kind == EXPR_TUPLE && t->kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < e->arg_count && i < t->element_count; i++)
			check_widen(c, e->args[i], &t->elements[i]);
		e->shape.type = *t;
	} else if (e->is_place) {
		e->shape.type = *t;
	} else if (e->kind == EXPR_ELEMENT || e->kind == EXPR_MEMBER || e->kind == EXPR_INDEX) {
		struct expr *of = e->args[0];
		struct type whole = of->shape.type;
		struct type *elements =
			arena_array(&c->s->arena, struct type, whole.element_count + 1);

		if (!elements || e->number >= whole.element_count)
			return;
		memcpy(elements, whole.elements, whole.element_count * sizeof(*elements));
		elements[e->number] = *t;
		elements[e->number].name = whole.elements[e->number].name;
		whole.elements = elements;
		check_widen(c, of, &whole);
		e->shape.type = *t;
	}
}

bool type_refine(struct type *histogram)
{
	if (histogram->kind != TYPE_HIST || histogram->bits == HIST_MAX_BITS)
		return false;
	histogram->hidden_bits = (uint8_t)(HIST_MAX_BITS - histogram->bits);
	histogram->bits = HIST_MAX_BITS;
	return true;
}

const struct ctype *type_target(const struct type *t)
{
	const struct ctype *is = t->kind == TYPE_INT && t->ctype ? ctype_resolve(t->ctype) : NULL;

	return is && (is->kind == CTYPE_POINTER || is->kind == CTYPE_ARRAY) ? is->to : NULL;
}

bool ternary_skips(const struct expr *e, bool when)
{
	const struct expr *cond = e->args[0];

	return cond->is_comptime && cond->is_const && !cond->value == when;
}
