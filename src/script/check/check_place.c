/* Places in the traced program's memory: *p, p[i], p->x, and what is asked of their types: casts,
 * sizeof, offsetof. A place of a struct or array has no value until one is asked for, so that
 * p->a.b reads nothing but b. */
#include "script/check/expr_kinds.h"

#include <errno.h>
#include <stdio.h>

#include "base/array.h"
#include "program/numbers.h"
#include "script/check/check.h"
#include "script/check/ctypes.h"
#include "script/check/map.h"
#include "script/check/named.h"
#include "script/check/value_text.h"
#include "script/check/value_type.h"
#include "script/resolve/header_types.h"
#include "script/resolve/script_source.h"

/* `e` is in memory, and of this type; in the kernel's where args[0] is, or leads there. */
static void set_place(struct check *c, struct expr *e, const struct ctype *t)
{
	e->is_place = true;
	e->shape = shape_of(check_value_type(c, t));
	e->shape.type.is_kernel = e->args[0]->shape.type.is_kernel;
	if (!c->err && !check_ctype_known(e->shape.type.ctype ? e->shape.type.ctype : t) &&
	    !ctype_is_composite(ctype_resolve(t)))
		check_unknown_type(c, e, t);
}

static const struct ctype *uint64_type(void)
{
	static const struct ctype type = {
		.kind = CTYPE_INTEGER, .name = STR("unsigned long"), .size = 8};

	return &type;
}

/* What e leads to as a pointer; an integer leads to 8 bytes. NULL after an error. */
static const struct ctype *target_of(struct check *c, const struct expr *e)
{
	const struct type *t = &e->shape.type;
	const struct ctype *to = type_target(t);

	if (e->is_place && t->kind != TYPE_INT && t->ctype && t->ctype->kind == CTYPE_ARRAY)
		return t->ctype->to;
	if (t->kind != TYPE_INT) {
		check_error(c, e, "not-a-pointer", "cannot dereference this: it is not a pointer");
		diag_hint(c->d, "cast it to a pointer: *(int32 *)p");
		return NULL;
	}
	if (!to)
		return uint64_type();
	to = check_ctype(c, to);
	if (to->kind == CTYPE_VOID || to->kind == CTYPE_FUNCTION) {
		check_error(c, e, "not-a-pointer", "cannot dereference this: it points to %s",
			    to->kind == CTYPE_VOID ? "void" : "a function");
		diag_hint(c->d, "cast it to a pointer: *(int32 *)p");
		return NULL;
	}
	return to;
}

void check_load(struct check *c, struct expr *e)
{
	const struct ctype *to;

	if (check_is_open(c, e->args[0])) {
		e->shape = shape_open();
		return;
	}
	to = target_of(c, e->args[0]);
	if (to)
		set_place(c, e, to);
}

/* Is it a part of a struct that is passed in registers? */
static bool place_in_words(const struct expr *e)
{
	for (; e->is_place; e = e->args[0]) {
		if (e->kind == EXPR_FIELD)
			return e->passed == PASSED_IN_WORDS;
		if (e->args[0]->shape.type.kind == TYPE_INT)
			return false;
	}
	return false;
}

/* They are not in memory, so the function gets the value: (uint8[8])$v of a number. */
void check_refer(struct check *c, struct expr *e)
{
	static const struct ctype byte = {
		.kind = CTYPE_INTEGER, .name = STR("unsigned char"), .size = 1};
	static const struct ctype bytes = {.kind = CTYPE_ARRAY, .to = &byte, .bound = STR("8")};
	struct expr *of = e->args[0];

	if (!expr_refers(e))
		return;
	check_expr(c, of);
	if (c->err)
		return;
	if (expr_is_int(of)) {
		e->kind = EXPR_CAST;
		e->named = &bytes;
	} else if (of->shape.type.kind == TYPE_STR || of->shape.type.kind == TYPE_BUF) {
		e->kind = EXPR_BLOCK; /* { $v } */
	}
}

/* &p->x: where it is */
void check_address(struct check *c, struct expr *e)
{
	struct expr *a = e->args[0];

	if (check_is_open(c, a)) {
		e->shape = shape_open();
		return;
	}
	if (!a->is_place || (a->member && a->member->bit_width) || place_in_words(a)) {
		check_error(c, e, "no-address", "this has no address: it is not in memory");
		if (a->kind == EXPR_VARIABLE || a->kind == EXPR_MAP)
			diag_hint(c->d, "its value can be used as it is, buf() and memcmp() take "
					"its bytes, and a macro changes what is passed to it");
		return;
	}
	e->shape = shape_of(type_int(8, false));
	e->shape.type.show = SHOW_HEX;
	e->shape.type.is_kernel = a->shape.type.is_kernel;
	e->shape.type.ctype =
		check_pointer_to(c, a->shape.type.ctype ? a->shape.type.ctype : uint64_type());
}

/* Element `number` of a tuple, or of an array that is a value. */
static void check_element_number(struct check *c, struct expr *e, const struct expr *index)
{
	const struct type *t = &e->args[0]->shape.type;

	if (!index->is_const && t->show == SHOW_ARRAY && t->element_count &&
	    t->elements[0].kind == TYPE_INT) {
		e->number = t->element_count; /* not known yet */
		e->shape = shape_of(t->elements[0]);
		return;
	}
	if (!index->is_const) {
		check_error(c, index, "wrong-type", "the index of a value must be a constant");
		return;
	}
	if (index->value >= t->element_count) {
		check_error(c, index, "bad-element", "it has %u elements: [0] to [%u]",
			    t->element_count, t->element_count - 1);
		return;
	}
	e->number = index->value;
	e->shape = shape_of(t->elements[e->number]);
}

/* p[i], array[i], tuple[i] */
void check_index(struct check *c, struct expr *e)
{
	struct expr *a = e->args[0], *index = e->args[1];
	const struct ctype *to;
	uint64_t count;

	check_expr(c, a);
	check_expr(c, index);
	check_int(c, index, "an index");
	if (c->err)
		return;
	if (check_is_open(c, a)) {
		e->shape = shape_open();
		return;
	}
	if (a->shape.type.kind == TYPE_TUPLE) {
		check_element_number(c, e, index);
		return;
	}
	if (a->shape.type.kind == TYPE_STR && !a->is_place) {
		if (index->is_const && index->shape.type.is_signed && (int64_t)index->value < 0)
			check_error(c, index, "bad-element", "a text begins at [0]");
		e->shape = shape_of(type_int(1, true)); /* a byte of the text; 0 after its end */
		return;
	}
	to = target_of(c, a);
	if (to && a->is_place && index->is_const && a->shape.type.kind != TYPE_INT &&
	    ctype_count(a->shape.type.ctype, &count) && count && index->value >= count)
		check_error(c, index, "bad-element", "the array has %llu elements: [0] to [%llu]",
			    (unsigned long long)count, (unsigned long long)count - 1);
	else if (place_in_words(a) && !index->is_const)
		check_error(c, index, "wrong-type",
			    "the index must be a constant: the array is in registers");
	else if (to)
		set_place(c, e, to);
	e->number = to ? check_ctype_size(c, to) : 0;
	if (to && !e->number && !check_ctype_known(to))
		check_unknown_type(c, e, to);
}

/* ---- Members ---- */

static void guess_members(struct guess *guess, struct str name, const struct ctype *t,
			  unsigned depth)
{
	for (unsigned i = 0; i < t->member_count && i < 1000; i++) {
		const struct ctype_member *m = &t->members[i];

		if (m->name.len)
			guess_offer(guess, name, m->name);
		else if (depth < 8)
			guess_members(guess, name, ctype_resolve(m->type), depth + 1);
	}
}

static void unknown_member(struct check *c, const struct expr *e, const struct ctype *t,
			   struct str name)
{
	struct guess guess = {.nearest = 4};
	struct buf text = BUF_INIT;

	ctype_print(&text, t, STR(""));
	check_error(c, e, "unknown-member", "'%.*s' has no member '%.*s'",
		    STR_FMT(buf_as_str(&text)), STR_FMT(name));
	guess_members(&guess, name, t, 0);
	if (guess.best.len)
		diag_hint(c->d, "did you mean '%.*s'?", STR_FMT(guess.best));
	buf_free(&text);
}

/* config.max_strlen: one of the record of constants that config is */
static void check_setting(struct check *c, struct expr *e, struct expr *value)
{
	e->is_const = value->is_const;
	e->value = value->value;
	if (value->kind != EXPR_STRING)
		return;
	e->kind = EXPR_STRING;
	e->text = value->text;
	e->arg_count = 0;
	check_expr(c, e);
}

/* The member of a struct that is a value: an element of a tuple. */
static void value_member(struct check *c, struct expr *e)
{
	const struct type *t = &e->args[0]->shape.type;
	struct guess guess = {.nearest = 4};

	for (unsigned i = 0; i < t->element_count; i++) {
		if (str_eq(t->elements[i].name, e->text)) {
			e->number = i;
			e->shape = shape_of(t->elements[i]);
			if (e->args[0]->kind == EXPR_TUPLE && e->args[0]->function)
				check_setting(c, e, e->args[0]->args[i]);
			return;
		}
		guess_offer(&guess, e->text, t->elements[i].name);
	}
	check_error(c, e, "unknown-member", "this has no member '%.*s'", STR_FMT(e->text));
	if (guess.best.len)
		diag_hint(c->d, "did you mean '%.*s'?", STR_FMT(guess.best));
}

/* The script's own structs are laid out for this machine: in a program of another word their
 * members would be elsewhere. */
static bool has_other_layout(const struct check *c, const struct ctype *t)
{
	const struct arch *arch = c->v->count ? c->v->attachments[0]->attach.arch : NULL;

	return arch && arch->word != c->s->tree.types.machine.word &&
	       c_scope_type(&c->s->tree.types, t->kind, t->name) == t;
}

/* The struct that `e` is, or points to over *levels pointers; NULL after an error. */
static const struct ctype *struct_of(struct check *c, const struct expr *e, uint64_t *levels)
{
	const struct ctype *t = e->shape.type.ctype ? check_ctype(c, e->shape.type.ctype) : NULL;

	*levels = 0;
	while (t && t->kind == CTYPE_POINTER && *levels < 8) {
		t = check_ctype(c, t->to);
		++*levels;
	}
	if (!t || !ctype_is_composite(t)) {
		check_error(c, e, "not-a-struct", "this is not a struct, nor a pointer to one");
		diag_hint(c->d, "cast it: ((struct name *)%.*s)->member", (int)e->mark.len,
			  c->s->text.ptr + e->mark.at);
		return NULL;
	}
	if (has_other_layout(c, t)) {
		check_error(c, e, "unsupported",
			    "structs of the script are not laid out for a %u-bit program",
			    c->v->attachments[0]->attach.arch->word * 8u);
		return NULL;
	}
	if (!check_ctype_known(t)) {
		check_unknown_type(c, e, t);
		return NULL;
	}
	return t;
}

static bool find_member(struct check *c, const struct expr *e, const struct ctype *t,
			struct str name, struct ctype_member *out)
{
	if (ctype_member(t, name, out))
		return true;
	unknown_member(c, e, t, name);
	return false;
}

void check_member(struct check *c, struct expr *e)
{
	struct expr *a = e->args[0];
	struct ctype_member *m = arena_new(&c->s->arena, struct ctype_member);
	const struct ctype *t;

	check_expr(c, a);
	if (!m)
		c->err = -ENOMEM;
	if (c->err)
		return;
	if (check_is_open(c, a)) {
		e->shape = shape_open();
		return;
	}
	if (a->shape.type.kind == TYPE_TUPLE && a->shape.type.show == SHOW_RECORD) {
		value_member(c, e);
		return;
	}
	t = struct_of(c, a, &e->number);
	if (!t || !find_member(c, e, t, e->text, m))
		return;
	e->member = m;
	set_place(c, e, m->type);
}

/* ---- What is asked of types ---- */

/* (int8[])"abc": its bytes, and the NUL */
static struct type bytes_of_text(struct check *c, struct expr *e, const struct type *of)
{
	struct expr *text = e->args[0];
	size_t count = text->text.len + 1;
	struct type *elements = arena_array(&c->s->arena, struct type, count);
	struct expr **parts = arena_array(&c->s->arena, struct expr *, count);

	if (!elements || !parts)
		c->err = -ENOMEM;
	for (size_t i = 0; i < count && !c->err; i++) {
		parts[i] = arena_new(&c->s->arena, struct expr);
		if (!parts[i]) {
			c->err = -ENOMEM;
			break;
		}
		*parts[i] = (struct expr){.kind = EXPR_INT, .mark = text->mark, .depth = 1};
		if (i + 1 < count)
			parts[i]->number = (uint64_t)(int64_t)(signed char)text->text.ptr[i];
		check_expr(c, parts[i]);
		elements[i] = *of;
	}
	e->kind = EXPR_TUPLE;
	e->args = parts;
	e->arg_count = (uint16_t)count;
	return (struct type){.kind = TYPE_TUPLE,
			     .show = SHOW_ARRAY,
			     .elements = elements,
			     .element_count = (unsigned)count};
}

/* (string[16])text: with room for 16 bytes */
static void check_text_cast(struct check *c, struct expr *e, struct type to)
{
	struct expr *a = e->args[0];
	bool changed = c->changed;

	if (check_enum_text_cast(c, e))
		return;
	if (a->shape.type.kind != TYPE_STR) {
		check_error(c, e, "bad-cast", "cannot cast %s to a string",
			    check_type_text(c, &a->shape.type));
		return;
	}
	if (to.capacity && type_capacity(&a->shape.type) > to.capacity) {
		check_error(c, e, "bad-cast", "the text does not fit string[%u]", to.capacity);
		return;
	}
	check_merge(c, &to, &a->shape.type);
	c->changed = changed; /* only of what lasts */
	check_widen(c, a, &to);
	e->shape = shape_of(to);
}

/* Does an array of up to 8 bytes have all of a number? A literal has no size of its own. */
static bool holds_number(const struct expr *e, uint64_t bytes)
{
	const struct type *t = &e->shape.type;

	if (!e->is_const || e->kind == EXPR_CAST)
		return bytes >= (t->shown ? t->shown : t->size);
	return bytes == 8 || extend_bits(e->value, (unsigned)bytes, false) == e->value ||
	       extend_bits(e->value, (unsigned)bytes, true) == e->value;
}

static struct type byte_array_type(struct check *c, struct expr *e, const struct ctype *t)
{
	const struct type *from = &e->args[0]->shape.type;
	struct type of = check_value_type(c, t->to);
	uint64_t count = 0;

	if (e->args[0]->kind == EXPR_STRING && of.kind == TYPE_INT && of.size == 1 &&
	    (!ctype_count(t, &count) || count == e->args[0]->text.len + 1))
		return bytes_of_text(c, e, &of);
	if (from->kind != TYPE_INT || of.kind != TYPE_INT) {
		check_error(c, e, "bad-cast", "only an integer can be cast to an array");
		return of;
	}
	if (!ctype_count(t, &count))
		count = (from->shown ? from->shown : from->size) / of.size;
	if (!count || count * of.size > 8 || !holds_number(e->args[0], count * of.size)) {
		check_error(c, e, "bad-cast", "cannot cast %u bytes to %llu", from->size,
			    (unsigned long long)count * of.size);
		return of;
	}
	return check_array_of(c, &of, (unsigned)count);
}

/* Where a number that becomes a pointer leads: the probes of the clause say. */
static bool casts_to_kernel(const struct check *c)
{
	return check_is_kernel_probe(c->v->clause->probes);
}

/* An array of numbers of `bytes` bytes together: it can become a number again. */
static bool is_array_of(const struct type *t, uint32_t bytes)
{
	return t->kind == TYPE_TUPLE && t->show == SHOW_ARRAY && t->element_count &&
	       t->elements[0].kind == TYPE_INT && t->elements[0].size * t->element_count == bytes;
}

/* What a pointer of the script leads to must be known, once a file or the kernel is there to know
 * it. */
static void check_target(struct check *c, const struct expr *e, const struct type *to)
{
	const struct ctype *t = type_target(to);

	for (unsigned i = 0; t && i < 8; i++) {
		t = check_ctype(c, t);
		if (t->kind != CTYPE_POINTER)
			break;
		t = t->to;
	}
	if (t && c->v->count && !check_ctype_known(t))
		check_unknown_type(c, e, t);
}

/* To a number, an enum or a pointer. */
static void check_word_cast(struct check *c, struct expr *e, struct type to)
{
	struct expr *a = e->args[0];
	const struct type *from = &a->shape.type;
	bool is_pointer = type_target(&to);

	if (from->kind == TYPE_FLOAT && (is_pointer || to.show))
		check_error(c, e, "float-use", "a float cannot be a %s",
			    is_pointer ? "pointer" : "bool");
	else if (to.show == SHOW_BOOL ? !expr_is_text(a) && !expr_is_int(a) && !is_array_of(from, 1)
				      : !expr_is_int(a) && from->kind != TYPE_FLOAT &&
						!is_array_of(from, to.size))
		check_error(c, e, "bad-cast", "cannot cast %s to an integer",
			    from->kind == TYPE_NONE ? "something without a value"
						    : check_type_text(c, from));
	e->shape = shape_of(to);
	e->shape.type.is_kernel = from->is_kernel || (is_pointer && casts_to_kernel(c));
	e->is_const = a->is_const;
	if (to.show == SHOW_ENUM && a->kind == EXPR_INT && to.ctype &&
	    !ctype_constant_name(to.ctype, (int64_t)a->value).len)
		check_error(c, e, "bad-cast", "the enum has no constant with the value %lld",
			    (long long)a->value);
	if (to.show == SHOW_BOOL && a->kind == EXPR_STRING) {
		e->is_const = true;
		e->value = a->text.len > 0;
	} else if (e->is_const)
		e->value = to.show == SHOW_BOOL ? a->value != 0
						: extend_bits(a->value, to.size, to.is_signed);
}

static struct type typeof_type(struct type t)
{
	if (t.kind == TYPE_INT && t.shown)
		t.size = t.shown; /* a variable has room for more */
	t.shown = 0;
	t.is_open = t.is_raw = false;
	return t;
}

struct type check_typeof(struct check *c, struct expr *like)
{
	struct type t;

	if (like->kind == EXPR_MAP && !like->arg_count) {
		like->map = check_map(c, like->text);
		if (!c->err && like->map->has_key && like->map->key.kind != TYPE_NONE)
			return typeof_type(like->map->key); /* of a map with keys it is theirs */
	}
	check_asked(c, like);
	t = like->shape.type;
	return typeof_type(t);
}

/* What C, or the script, calls a value of this type. */
static const struct ctype *c_name(struct check *c, const struct expr *e, const struct type *t)
{
	const struct ctype *plain = NULL;
	char name[8];

	if (t->ctype)
		return t->ctype;
	snprintf(name, sizeof(name), "%sint%u", t->is_signed ? "" : "u", 8u * (t->size & 15));
	if (t->kind == TYPE_INT)
		plain = c_scope_type(&c->s->tree.types, CTYPE_NAMED, str_from(name));
	if (!plain)
		check_error(c, e, "bad-cast", "there is no pointer to %s", check_type_text(c, t));
	return plain;
}

/* (typeof(a))b; with `number` of "*" after the type */
static void check_cast_like(struct check *c, struct expr *e)
{
	struct type to = check_typeof(c, e->args[1]);
	const struct ctype *t = e->number && !c->err ? c_name(c, e, &to) : NULL;

	for (uint64_t i = 0; i < e->number && !c->err; i++)
		t = check_pointer_to(c, t);
	if (t && !c->err)
		to = check_value_type(c, t);
	check_expr(c, e->args[0]);
	if (c->err)
		return;
	if (to.kind == TYPE_INT)
		check_word_cast(c, e, to);
	else
		check_error(c, e, "bad-cast", "cannot cast to %s", check_type_text(c, &to));
}

void check_cast(struct check *c, struct expr *e)
{
	const struct ctype *t;
	struct type to;

	if (!e->named) {
		check_cast_like(c, e);
		return;
	}
	t = check_ctype(c, e->named);
	check_expr(c, e->args[0]);
	if (c->err)
		return;
	if (!check_ctype_known(t) && !check_named_text(t, &to)) {
		check_unknown_type(c, e, t);
		return;
	}
	if (check_named_text(t, &to)) {
		check_text_cast(c, e, to);
		return;
	}
	to = check_value_type(c, t);
	check_settle(c, e->args[0]);
	if (t->kind == CTYPE_ARRAY && !check_is_open(c, e->args[0])) {
		e->shape = shape_of(byte_array_type(c, e, t));
	} else if (to.kind == TYPE_INT) {
		check_word_cast(c, e, to);
		check_target(c, e, &to);
	} else {
		check_error(c, e, "bad-cast", "cannot cast to a struct, float or void");
		if (ctype_is_composite(t))
			diag_hint(c->d, "cast to a pointer and dereference that: *(%s %.*s *)p",
				  t->kind == CTYPE_STRUCT ? "struct" : "union", STR_FMT(t->name));
	}
}

/* The type that sizeof or offsetof is asked for; NULL: the expression has none of C. */
static const struct ctype *asked_type(struct check *c, struct expr *e)
{
	if (e->named)
		return check_ctype(c, e->named);
	check_asked(c, e->args[0]);
	if (!c->err && e->args[0]->is_whole)
		check_whole_value(c, e->args[0]);
	return e->args[0]->shape.type.ctype;
}

static void set_size(struct expr *e, uint64_t value)
{
	e->shape = shape_int(false);
	e->is_const = true;
	e->value = value;
}

/* Of what C does not name; parts of a tuple lie as those of a struct. */
static uint64_t value_size(const struct type *t, uint64_t *align)
{
	uint64_t size = t->size, part, part_align;

	*align = 1;
	if (t->kind == TYPE_INT && t->show == SHOW_BOOL)
		return 1;
	if (t->kind == TYPE_INT)
		return *align = t->shown ? t->shown : t->size;
	if (t->kind != TYPE_TUPLE)
		return type_capacity(t);
	size = 0;
	for (unsigned i = 0; i < t->element_count; i++) {
		part = value_size(&t->elements[i], &part_align);
		size = (size + part_align - 1) / part_align * part_align + part;
		*align = part_align > *align ? part_align : *align;
	}
	return (size + *align - 1) / *align * *align;
}

void check_sizeof(struct check *c, struct expr *e)
{
	bool is_map_alone = !e->named && e->args[0]->kind == EXPR_MAP && !e->args[0]->arg_count;
	struct type like = is_map_alone ? check_typeof(c, e->args[0]) : (struct type){.size = 0};
	bool is_text = e->named && check_named_text(e->named, &like);
	const struct ctype *t = is_map_alone || is_text ? NULL : asked_type(c, e);
	uint64_t size, align;

	if (c->err)
		return;
	if (is_map_alone || is_text) { /* typeof(@m), string[16] */
		set_size(e, value_size(&like, &align));
		return;
	}
	if (!e->named && !e->args[0]->is_place && !t) {
		set_size(e, value_size(&e->args[0]->shape.type, &align));
		return;
	}
	size = t ? check_ctype_size(c, t) : 0;
	if (t &&
	    (!check_ctype_known(t) || (!size && t->kind != CTYPE_ARRAY && !ctype_is_composite(t))))
		check_unknown_type(c, e, t);
	set_size(e, size);
}

void check_offsetof(struct check *c, struct expr *e)
{
	const struct ctype *t = asked_type(c, e);
	struct str path = e->text;
	struct ctype_member m;
	uint64_t offset = 0;

	while (path.len && !c->err) {
		struct str name = str_cut(&path, '.');

		t = t ? check_ctype(c, t) : NULL;
		if (!t || !ctype_is_composite(t)) {
			check_error(c, e, "not-a-struct", "this is not a struct");
			return;
		}
		if (!check_ctype_known(t)) {
			check_unknown_type(c, e, t);
			return;
		}
		if (!find_member(c, e, t, name, &m))
			return;
		offset += m.offset;
		t = m.type;
	}
	set_size(e, offset);
}

/* curtask: a struct task_struct *, where the kernel's types are known */
void check_task(struct check *c, struct expr *e)
{
	static const struct ctype task = {
		.kind = CTYPE_STRUCT, .name = STR("task_struct"), .is_declaration = true};
	const struct ctype *is = check_ctype(c, &task);

	e->shape.type.is_kernel = true;
	e->shape.type.show = SHOW_HEX;
	if (check_ctype_known(is))
		e->shape.type.ctype = check_pointer_to(c, is);
}

/* A constant of an enum, or true or false; false: the name is none. */
bool check_constant(struct check *c, struct expr *e)
{
	const struct script_source *source = c->s->source;
	struct file *file = c->v->count ? c->v->attachments[0]->attach.file : NULL;
	const struct ctype *t = NULL;
	int64_t value = 0;
	bool is_bool = str_eq_text(e->text, "true") || str_eq_text(e->text, "false");
	bool is_known = true;

	if (!is_bool && !c_scope_constant(&c->s->tree.types, e->text, &t, &value) &&
	    (!source->constant ||
	     ((!file || source->constant(source->self, file, e->text, &t, &value, c->d)) &&
	      source->constant(source->self, NULL, e->text, &t, &value, c->d))))
		is_known = header_constant(c->s, e->text, &t, &value);
	if (!is_known)
		return false;
	set_size(e, is_bool ? str_eq_text(e->text, "true") : (uint64_t)value);
	if (is_bool) {
		e->shape.type = type_int(1, false);
		e->shape.type.show = SHOW_BOOL;
	} else if (t) {
		e->shape.type.is_signed = t->is_signed || value >= 0;
		e->shape.type.show = SHOW_ENUM;
		e->shape.type.ctype = t;
	}
	return true;
}
