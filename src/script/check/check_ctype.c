/* What a C type is to a script: how a value of it is computed, kept and shown.
 *
 * Types come from the script's own definitions, from the traced file, and from the kernel, in this
 * order. A name or tag that only some file knows is looked up when it is used, for the file of the
 * variant that is checked. */
#include "script/check/ctypes.h"

#include <errno.h>

#include "script/check/check.h"
#include "script/check/value_type.h"
#include "script/resolve/attachment.h"
#include "script/resolve/header_types.h"
#include "script/resolve/script_source.h"

/* The type of this kind and name that the machine knows; NULL: none. */
static const struct ctype *look_up(struct check *c, enum ctype_kind kind, struct str name)
{
	const struct script_source *source = c->s->source;
	struct file *file = c->v->count ? c->v->attachments[0]->attach.file : NULL;
	const struct ctype *t = NULL;
	int err = -ENOENT;

	if (!source->type || !name.len)
		return NULL;
	if (file)
		err = source->type(source->self, file, kind, name, &t, c->d);
	if (err == -ENOENT)
		err = source->type(source->self, NULL, kind, name, &t, c->d);
	if (err && err != -ENOENT && !c->err)
		c->err = err;
	return err ? NULL : t;
}

bool ctype_is_composite(const struct ctype *t)
{
	return t->kind == CTYPE_STRUCT || t->kind == CTYPE_UNION;
}

const struct ctype *check_ctype(struct check *c, const struct ctype *t)
{
	const struct ctype *found;

	for (unsigned steps = 0; steps < 64; steps++, t = found) {
		bool is_tag;

		t = ctype_resolve(t);
		is_tag = ctype_is_composite(t) || t->kind == CTYPE_ENUM;
		if (is_tag ? !t->is_declaration : t->kind != CTYPE_NAMED || ctype_standard(t->name))
			break;
		found = is_tag ? c_scope_type(&c->s->tree.types, t->kind, t->name) : NULL;
		if ((!found || found->is_declaration) && header_is_own(c->s))
			found = header_type(c->s, t->kind, t->name) ?: found;
		if (!found || found->is_declaration)
			found = look_up(c, t->kind, t->name);
		if (!found || found->is_declaration)
			found = header_type(c->s, t->kind, t->name) ?: found;
		if (!found)
			break;
	}
	if (ctype_complete(t) == -ENOMEM)
		c->err = -ENOMEM;
	return t;
}

bool check_ctype_known(const struct ctype *t)
{
	if (ctype_is_composite(t) || t->kind == CTYPE_ENUM)
		return !t->is_declaration;
	return t->kind != CTYPE_NAMED || ctype_standard(t->name);
}

void check_unknown_type(struct check *c, const struct expr *e, const struct ctype *t)
{
	struct buf text = BUF_INIT;

	ctype_print(&text, t, STR(""));
	check_error(c, e, "unknown-type", "unknown type '%.*s'", STR_FMT(buf_as_str(&text)));
	if (header_hint(c->s).len)
		diag_hint(c->d, "%.*s", STR_FMT(header_hint(c->s)));
	else
		diag_hint(c->d, "define it in the script, before the first probe");
	buf_free(&text);
}

uint64_t check_ctype_size(struct check *c, const struct ctype *t)
{
	const struct ctype *is = check_ctype(c, t);
	uint64_t count, size;

	if (is->kind == CTYPE_VOID || is->kind == CTYPE_FUNCTION)
		return 1;
	if (is->kind != CTYPE_ARRAY)
		return ctype_layout(is, &c->s->tree.types.machine).size;
	size = check_ctype_size(c, is->to);
	if (!ctype_count(is, &count) || __builtin_mul_overflow(count, size, &size))
		return 0;
	return size;
}

const struct ctype *check_pointer_to(struct check *c, const struct ctype *to)
{
	struct ctype *t = arena_new(&c->s->arena, struct ctype);

	if (!t) {
		c->err = -ENOMEM;
		return to;
	}
	*t = (struct ctype){.kind = CTYPE_POINTER, .to = to};
	return t;
}

/* Is it an array of characters? Then it is a string up to its first NUL. */
static bool is_text(struct check *c, const struct ctype *t)
{
	const struct ctype *of = t->kind == CTYPE_ARRAY ? check_ctype(c, t->to) : NULL;

	return of && ctype_kind(of) == CTYPE_CHAR && check_ctype_size(c, of) == 1;
}

static struct type number_type(struct check *c, const struct ctype *t)
{
	struct ctype_layout is = ctype_layout(t, &c->s->tree.types.machine);
	struct type out = type_int((unsigned)is.size, is.is_signed);
	enum ctype_kind kind = ctype_kind(t);

	/* What is only declared here may be known elsewhere. */
	if (t->kind == CTYPE_POINTER && check_ctype(c, t->to) != ctype_resolve(t->to))
		t = check_pointer_to(c, check_ctype(c, t->to));
	out.ctype = t;
	if (is.size != 1 && is.size != 2 && is.size != 4 && is.size != 8)
		return (struct type){.kind = TYPE_NONE, .ctype = t};
	if (kind == CTYPE_FLOAT)
		out = is.size < 4 ? (struct type){.kind = TYPE_NONE, .ctype = t}
				  : (struct type){.kind = TYPE_FLOAT, .size = (uint32_t)is.size};
	else if (kind == CTYPE_BOOL)
		out.show = SHOW_BOOL;
	else if (kind == CTYPE_ENUM)
		out.show = SHOW_ENUM;
	else if (kind == CTYPE_POINTER || kind == CTYPE_STRING)
		out.show = SHOW_HEX;
	return out;
}

struct type check_value_type(struct check *c, const struct ctype *t)
{
	const struct ctype *is = check_ctype(c, t);
	uint64_t count;

	switch (ctype_kind(is)) {
	case CTYPE_BOOL:
	case CTYPE_CHAR:
	case CTYPE_INTEGER:
	case CTYPE_FLOAT:
	case CTYPE_ENUM:
	case CTYPE_POINTER:
	case CTYPE_STRING: return number_type(c, is);
	case CTYPE_ARRAY:
		/* One byte more than it has: a text that fills it was not cut. */
		if (is_text(c, is) && ctype_count(is, &count) && count &&
		    count < PROGRAM_MAX_TEXT) {
			struct type text = type_text(TYPE_STR, count + 1);

			text.capacity = (uint32_t)count;
			text.ctype = is;
			return text;
		}
		break;
	default: break;
	}
	return (struct type){.kind = TYPE_NONE, .ctype = is};
}

/* ---- Structs and arrays as values ---- */

struct settle {
	struct check *c;
	const struct expr *e;
	unsigned parts;
};

static struct type settle_type(struct settle *s, const struct ctype *t, unsigned depth);

static void too_large(struct settle *s)
{
	check_error(s->c, s->e, "too-big",
		    "this is too large to be a value: the limit is %d numbers and strings",
		    PROGRAM_MAX_PARTS);
	diag_hint(s->c->d, "take the members or elements that you need");
}

static unsigned count_members(struct check *c, const struct ctype *t)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->member_count && n <= PROGRAM_MAX_PARTS; i++) {
		const struct ctype *is = check_ctype(c, t->members[i].type);

		n += !t->members[i].name.len && ctype_is_composite(is) ? count_members(c, is) : 1;
	}
	return n;
}

/* The members, and those of nameless ones as if they were ours. */
static unsigned add_members(struct settle *s, const struct ctype *t, unsigned depth,
			    struct type *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->member_count && !s->c->err; i++) {
		const struct ctype_member *m = &t->members[i];
		const struct ctype *is = check_ctype(s->c, m->type);

		if (!m->name.len && ctype_is_composite(is)) {
			n += add_members(s, is, depth, out + n);
			continue;
		}
		out[n] = settle_type(s, m->type, depth + 1);
		out[n++].name = m->name;
	}
	return n;
}

/* A struct without members, or an array without elements: a word, which says nothing. */
static struct type nothing_type(const char *shown, const struct ctype *t)
{
	struct type type = DISPLAY_TYPE(shown, 1);

	type.ctype = t;
	return type;
}

static struct type record_type(struct settle *s, const struct ctype *t, unsigned depth)
{
	unsigned count = count_members(s->c, t);
	struct type *elements = arena_array(&s->c->s->arena, struct type, count + 1u);

	if (!count)
		return nothing_type("{}", t);
	if (!elements)
		s->c->err = -ENOMEM;
	else if (count > PROGRAM_MAX_PARTS)
		too_large(s);
	else
		add_members(s, t, depth, elements);
	return (struct type){.kind = TYPE_TUPLE,
			     .show = SHOW_RECORD,
			     .ctype = t,
			     .elements = elements,
			     .element_count = count};
}

/* Many numbers are kept as their bytes, which takes one read. */
#define MANY_NUMBERS 16

static bool is_plain_number(const struct type *t)
{
	return t->kind == TYPE_INT && t->show == SHOW_NUMBER;
}

struct type check_array_of(struct check *c, const struct type *element, unsigned count)
{
	struct type *elements = arena_array(&c->s->arena, struct type, count);

	if (!elements)
		c->err = -ENOMEM;
	for (unsigned i = 0; elements && i < count; i++)
		elements[i] = *element;
	return (struct type){.kind = TYPE_TUPLE,
			     .show = SHOW_ARRAY,
			     .elements = elements,
			     .element_count = elements ? count : 0};
}

static struct type array_type(struct settle *s, const struct ctype *t, unsigned depth)
{
	struct type of = check_value_type(s->c, t->to);
	uint64_t count = 0;
	struct type *elements;

	if (!ctype_count(t, &count) || !count)
		return nothing_type("[]", t);
	if (is_plain_number(&of) && count > MANY_NUMBERS && count <= PROGRAM_MAX_TEXT / of.size) {
		struct type bytes = type_text(TYPE_BUF, count * of.size);

		bytes.ctype = t;
		bytes.show = SHOW_ARRAY;
		bytes.bits = (uint8_t)of.size;
		bytes.is_signed = of.is_signed;
		bytes.is_kernel = s->e->shape.type.is_kernel;
		if (++s->parts > PROGRAM_MAX_PARTS)
			too_large(s);
		return bytes;
	}

	if (count > PROGRAM_MAX_PARTS) {
		too_large(s);
		return (struct type){.kind = TYPE_NONE};
	}
	elements = arena_array(&s->c->s->arena, struct type, count);
	if (!elements)
		s->c->err = -ENOMEM;
	for (unsigned i = 0; i < count && !s->c->err; i++)
		elements[i] = settle_type(s, t->to, depth + 1);
	return (struct type){.kind = TYPE_TUPLE,
			     .show = SHOW_ARRAY,
			     .ctype = t,
			     .elements = elements,
			     .element_count = (unsigned)count};
}

static struct type settle_type(struct settle *s, const struct ctype *t, unsigned depth)
{
	const struct ctype *is = check_ctype(s->c, t);
	struct type value = check_value_type(s->c, is);

	value.is_kernel = s->e->shape.type.is_kernel;
	if (value.kind != TYPE_NONE) {
		if (++s->parts > PROGRAM_MAX_PARTS)
			too_large(s);
		return value;
	}
	if (!check_ctype_known(is))
		check_unknown_type(s->c, s->e, is);
	else if (depth >= PROGRAM_MAX_TUPLE_DEPTH)
		check_error(s->c, s->e, "too-deep", "structs are nested too deeply to be a value");
	else if (is->kind == CTYPE_ARRAY)
		return array_type(s, is, depth);
	else if (ctype_is_composite(is))
		return record_type(s, is, depth);
	else
		check_error(s->c, s->e, "wrong-type", "a value of this type cannot be read");
	return value;
}

struct type check_whole_type(struct check *c, const struct expr *e, const struct ctype *t)
{
	struct settle s = {c, e, 0};

	return settle_type(&s, t, 0);
}

void check_settle(struct check *c, struct expr *e)
{
	struct settle s = {c, e, 0};

	if (!c->err && e->is_place && e->shape.type.kind == TYPE_NONE && e->shape.type.ctype)
		e->shape.type = settle_type(&s, e->shape.type.ctype, 0);
}
