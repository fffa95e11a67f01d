/* What is inside the braces of structs, unions and enums: members with their places in memory, as
 * gcc's ABI on Linux puts them, and constants with their values. */
#include <errno.h>

#include "base/array.h"
#include "cparse/cparse.h"

#define MAX_SIZE (UINT64_C(1) << 32) /* bytes of a struct; larger ones are typing errors */

/* A struct or union in the making. */
struct member_layout {
	const struct ctype_machine *machine;
	bool is_union, is_packed;
	uint64_t bits;	/* taken so far */
	uint64_t size;	/* bytes of the largest member of a union */
	unsigned align; /* bytes, of the strictest member */
	struct ctype_member *members;
	size_t count, cap;
};

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* A flexible array is the one thing that may be without a size. */
static bool has_size(const struct ctype *t, uint64_t size)
{
	t = ctype_resolve(t);
	return size || t->kind == CTYPE_ARRAY ||
	       ((t->kind == CTYPE_STRUCT || t->kind == CTYPE_UNION) && !t->is_declaration &&
		t->align);
}

/* Where the bits of a bit-field begin: it does not cross a boundary of its type unless packed. */
static void place_bit_field(struct c_parser *p, struct member_layout *l, struct ctype_member *m,
			    uint64_t width, const struct ctype_layout *is)
{
	uint64_t unit = is->size * 8, at = l->is_union ? 0 : l->bits;

	if (!unit || unit > 64 || width > unit) {
		parser_fail(p, p->last, "bad-bit-field",
			    "a bit-field of %llu bits does not fit its type",
			    (unsigned long long)width);
		return;
	}
	if (!width && m->name.len) {
		parser_fail(p, p->last, "bad-bit-field", "a bit-field of 0 bits has no name");
		return;
	}
	if (!width || (!l->is_packed && at % unit + width > unit))
		at = round_up(at, is->align * 8ull);
	if (width && m->name.len) {
		ctype_place_bits(m, at, width, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, l->machine);
		if (!m->bit_width)
			parser_fail(p, p->last, "bad-bit-field",
				    "a bit-field that crosses its type's bytes is not supported");
		if (!l->is_packed && is->align > l->align)
			l->align = is->align;
	}
	l->bits = at + width;
}

static void place_member(struct member_layout *l, struct ctype_member *m, unsigned wants,
			 const struct ctype_layout *is)
{
	uint64_t align = l->is_packed ? 1 : is->align;

	if (wants > align)
		align = wants;
	if (!align)
		align = 1;
	m->offset = l->is_union ? 0 : round_up(l->bits, align * 8) / 8;
	l->bits = (m->offset + is->size) * 8;
	if (align > l->align)
		l->align = (unsigned)align;
}

/* One declared member. `width`: of a bit-field; -1: it is none. */
static void add_member(struct c_parser *p, struct member_layout *l, const struct declarator *d,
		       int64_t width, unsigned aligned)
{
	struct ctype_member m = {.name = d->name, .type = d->type};
	struct ctype_layout is = ctype_layout(d->type, l->machine);
	const struct ctype *t = ctype_resolve(d->type);

	if (p->err)
		return;
	if (t->kind == CTYPE_FUNCTION || t->kind == CTYPE_VOID || !has_size(d->type, is.size)) {
		parser_fail(p, d->at, "incomplete-type", "the size of '%.*s' is not known",
			    STR_FMT(d->name.len ? d->name : d->at));
		return;
	}
	if (width >= 0)
		place_bit_field(p, l, &m, (uint64_t)width, &is);
	else
		place_member(l, &m, aligned, &is);
	if (l->bits / 8 > MAX_SIZE || is.size > MAX_SIZE) {
		parser_fail(p, d->at, "too-big", "a struct of more than 4 GiB");
		return;
	}
	if ((l->bits + 7) / 8 > l->size)
		l->size = (l->bits + 7) / 8;
	if (width >= 0 && !m.name.len)
		return;
	if (arena_grow(p->arena, (void **)&l->members, l->count, &l->cap, sizeof(m)))
		parser_stop(p, -ENOMEM);
	else
		l->members[l->count++] = m;
}

/* member = specifiers [declarator [":" width] {"," declarator [":" width]}] ";"
 * Without a declarator a struct or union without a tag is one whose members count as ours. */
static void parse_member(struct c_parser *p, struct member_layout *l)
{
	struct specifiers s;
	struct declarator d;

	if (parser_at(p, "_Static_assert")) {
		parser_skip_to(p, ";");
		parser_advance(p);
		return;
	}
	s = parser_specifiers(p);
	d = (struct declarator){.type = s.type, .at = s.at};
	if (parser_at(p, ";") && l && s.is_shared && !s.type->name.len &&
	    s.type->kind != CTYPE_ENUM)
		add_member(p, l, &d, -1, s.attributes.aligned);
	while (!p->err && !parser_at(p, ";")) {
		int64_t width = -1;

		d = parser_declarator(p, &s);
		if (parser_at(p, ":") && l) {
			parser_advance(p);
			width = parser_constant(p);
			if (width < 0 || width > 64)
				parser_fail(p, p->last, "bad-bit-field",
					    "a bit-field has 0 to 64 bits");
		} else if (parser_at(p, ":")) {
			parser_skip_to(p, ",;");
		}
		parser_attributes(p, &d.attributes);
		if (l)
			add_member(p, l, &d, width,
				   d.attributes.aligned ? d.attributes.aligned
							: s.attributes.aligned);
		if (!parser_take(p, ","))
			break;
	}
	parser_expect(p, ";", "after a member");
}

/* Do the attributes after the brace of the struct that begins here say that it is packed? They are
 * needed before its first member is placed. */
static struct c_attributes look_behind(const struct c_parser *p)
{
	struct c_parser look = *p;
	struct c_attributes a = {.aligned = 0};

	look.lexer.diag = NULL;
	parser_skip_brackets(&look);
	parser_attributes(&look, &a);
	return a;
}

void parser_members(struct c_parser *p, struct ctype *out, struct c_attributes a)
{
	bool is_kept = p->names.tag;
	struct member_layout l = {
		.machine = p->machine, .is_union = out->kind == CTYPE_UNION, .align = 1};

	if (is_kept) {
		struct c_attributes after = look_behind(p);

		l.is_packed = a.is_packed || after.is_packed;
		l.align = a.aligned > l.align ? a.aligned : l.align;
		l.align = after.aligned > l.align ? after.aligned : l.align;
	}
	parser_advance(p); /* "{" */
	while (p->tok.kind != C_END && !parser_at(p, "}"))
		parse_member(p, is_kept ? &l : NULL);
	parser_expect(p, "}", "after the members");
	if (p->err || !is_kept)
		return;
	out->size = round_up(l.size, l.align);
	if (ctype_finish(out, l.members, (unsigned)l.count, p->machine))
		parser_fail(p, p->last, "too-deep", "a struct inside itself, or too deep");
	out->align = (uint16_t)(l.align > UINT16_MAX ? UINT16_MAX : l.align);
	out->is_declaration = false;
}

/* An enum is an int, or wider when its values need it; packed, narrower when they do not. */
static void size_enum(struct ctype *e, int64_t least, int64_t most, bool is_packed)
{
	unsigned size = is_packed ? 1 : 4;

	e->is_signed = least < 0;
	while (size < 8 && (e->is_signed ? least < -(INT64_C(1) << (8 * size - 1)) ||
						   most >= INT64_C(1) << (8 * size - 1)
					 : (uint64_t)most >> (8 * size)))
		size *= 2;
	e->size = size;
	e->align = (uint16_t)size;
	e->is_declaration = false;
}

/* constants = "{" name ["=" constant] {"," name ["=" constant]} [","] "}" */
void parser_constants(struct c_parser *p, struct ctype *out, struct c_attributes a)
{
	bool is_kept = p->names.tag;
	struct ctype_constant *constants = NULL;
	size_t count = 0, cap = 0;
	int64_t value = 0, least = 0, most = 0;

	do {
		struct str name;

		parser_advance(p); /* "{" or "," */
		if (parser_at(p, "}"))
			break;
		if (p->tok.kind != C_WORD)
			parser_expected(p, "the name of an enumerator");
		name = p->tok.text;
		parser_advance(p);
		if (parser_at(p, "=") && is_kept) {
			parser_advance(p);
			value = parser_constant(p);
		} else if (parser_at(p, "=")) {
			parser_skip_to(p, ",}");
		}
		if (p->err || !is_kept)
			continue;
		if (arena_grow(p->arena, (void **)&constants, count, &cap, sizeof(*constants)) ||
		    p->names.add_constant(p->names.self, name, out, value)) {
			parser_stop(p, -ENOMEM);
			return;
		}
		constants[count++] = (struct ctype_constant){name, value};
		least = value < least ? value : least;
		most = value > most ? value : most;
		value = (int64_t)((uint64_t)value + 1);
	} while (parser_at(p, ","));
	parser_expect(p, "}", "after an enumerator");
	parser_attributes(p, &a);
	if (p->err || !is_kept)
		return;
	out->constants = constants;
	out->constant_count = (unsigned)count;
	size_enum(out, least, most, a.is_packed);
}
