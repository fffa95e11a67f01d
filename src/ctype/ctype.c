/* C types compared, and spelt: as they were declared, and as a compiler can check them anywhere. */
#include "ctype/ctype.h"

#include <errno.h>

#include "base/array.h"

const struct ctype *ctype_resolve(const struct ctype *t)
{
	while (t->kind == CTYPE_NAMED && t->to)
		t = t->to;
	return t;
}

int ctype_complete(const struct ctype *t)
{
	struct ctype *open = (struct ctype *)t; /* its reader made it, writable */
	struct ctype_reader *reader = t->reader;
	int err;

	if (!reader)
		return 0;
	if (reader->depth >= CTYPE_MAX_DEPTH)
		return -EBADMSG;
	open->reader = NULL;
	reader->depth++;
	err = reader->complete(reader, open);
	reader->depth--;
	return err;
}

struct ctype *ctype_qualified(struct arena *a, const struct ctype *t, unsigned qualifier)
{
	struct ctype *made = arena_new(a, struct ctype);

	if (!made)
		return NULL;
	*made = *t;
	made->qualifiers |= qualifier;
	return made;
}

unsigned ctype_depth(const struct ctype *t, unsigned limit)
{
	unsigned depth = 0;

	for (; t && depth < limit; t = t->to)
		depth++;
	return depth;
}

/* `pointers`: how many were followed to get here. `*steps`: how many members may still be compared;
 * structs that repeat themselves could have them without end, and count as the same beyond. */
#define MAX_STEPS 100000

static bool same_type(const struct ctype *a, const struct ctype *b, unsigned pointers,
		      unsigned *steps)
{
	for (; a && b; a = a->to, b = b->to) {
		const struct ctype_param *p = a->params, *q = b->params;

		if (a == b)
			return true;
		if (pointers < 2 && (ctype_complete(a) || ctype_complete(b)))
			return false;
		if (a->kind != b->kind || a->qualifiers != b->qualifiers || a->size != b->size ||
		    a->is_signed != b->is_signed || a->variadic != b->variadic ||
		    !str_eq(a->name, b->name) || !str_eq(a->bound, b->bound))
			return false;
		pointers += a->kind == CTYPE_POINTER;
		for (; p && q; p = p->next, q = q->next)
			if (!same_type(p->type, q->type, pointers, steps))
				return false;
		if (p || q || (pointers < 2 && a->member_count != b->member_count))
			return false;
		for (unsigned i = 0; pointers < 2 && i < a->member_count && *steps; i++, --*steps) {
			const struct ctype_member *x = &a->members[i], *y = &b->members[i];

			if (x->offset != y->offset || x->bit_offset != y->bit_offset ||
			    x->bit_width != y->bit_width || !str_eq(x->name, y->name) ||
			    !same_type(x->type, y->type, pointers, steps))
				return false;
		}
		if (a->kind == CTYPE_NAMED)
			return true;
	}
	return !a && !b;
}

bool ctype_same(const struct ctype *a, const struct ctype *b)
{
	unsigned steps = MAX_STEPS;

	return same_type(a, b, 0, &steps);
}

/* How a type is written. `portable`: in words that need no declaration, so typedefs are resolved,
 * parameters have no names, which may be macros elsewhere, and C++ knows the qualifiers. */
static void print_type(struct buf *out, const struct ctype *t, struct str name, bool portable);

static void add_qualifiers(struct buf *out, unsigned qualifiers, bool space_after)
{
	static const struct {
		unsigned bit;
		const char *word;
	} words[] = {
		{CTYPE_CONST, "const"},
		{CTYPE_VOLATILE, "volatile"},
		{CTYPE_RESTRICT, "restrict"},
		{CTYPE_ATOMIC, "_Atomic"},
	};
	bool first = true;

	for (size_t i = 0; i < COUNT(words); i++) {
		if (!(qualifiers & words[i].bit))
			continue;
		buf_text(out, space_after || first ? "" : " ");
		buf_text(out, words[i].word);
		buf_text(out, space_after ? " " : "");
		first = false;
	}
}

/* Those of one level of a type. */
static unsigned qualifiers_of(const struct ctype *t, bool portable)
{
	return portable ? t->qualifiers & (CTYPE_CONST | CTYPE_VOLATILE) : t->qualifiers;
}

/* What C calls a type without a name of its own, of which only kind, size and sign are known. */
static const char *name_of_size(const struct ctype *t)
{
	enum ctype_kind kind = t->kind == CTYPE_CHAR && t->size != 1 ? CTYPE_INTEGER : t->kind;
	const char *name = ctype_standard_name(kind, t->size, t->is_signed);

	switch (kind) {
	case CTYPE_VOID:
	case CTYPE_POINTER:
	case CTYPE_ARRAY:
	case CTYPE_FUNCTION: return "void";
	case CTYPE_BOOL: return "bool";
	case CTYPE_STRING: return "string";
	case CTYPE_STRUCT:
	case CTYPE_UNION: return "{...}";
	case CTYPE_ENUM: return t->size ? "" : "{...}";
	case CTYPE_FLOAT: return name ? name : "long double";
	default: return name ? name : "bytes";
	}
}

static const char *builtin_name(struct str name)
{
	const struct ctype_standard *s = ctype_standard(name);

	return s ? s->builtin : NULL;
}

/* One level of a declarator written around what is inside it: *x, x[3], x(int). */
static void wrap_level(struct buf *inner, const struct ctype *t, bool portable)
{
	unsigned qualifiers = qualifiers_of(t, portable);
	struct buf wrapped = BUF_INIT;

	if (t->kind == CTYPE_POINTER) {
		const struct ctype *to = portable ? ctype_resolve(t->to) : t->to;
		bool brackets = to->kind == CTYPE_ARRAY || to->kind == CTYPE_FUNCTION;

		buf_text(&wrapped, brackets ? "(*" : "*");
		add_qualifiers(&wrapped, qualifiers, false);
		if (qualifiers && inner->len && inner->ptr[0] != '[')
			buf_char(&wrapped, ' ');
		buf_str(&wrapped, buf_as_str(inner));
		buf_text(&wrapped, brackets ? ")" : "");
	} else if (t->kind == CTYPE_ARRAY) {
		buf_str(&wrapped, buf_as_str(inner));
		buf_printf(&wrapped, "[%.*s]", STR_FMT(t->bound));
	} else {
		buf_str(&wrapped, buf_as_str(inner));
		buf_char(&wrapped, '(');
		for (const struct ctype_param *p = t->params; p; p = p->next) {
			print_type(&wrapped, p->type, portable ? STR("") : p->name, portable);
			buf_text(&wrapped, p->next || t->variadic ? ", " : "");
		}
		buf_text(&wrapped, t->variadic ? "..." : t->params ? "" : "void");
		buf_char(&wrapped, ')');
	}
	wrapped.failed |= inner->failed;
	buf_free(inner);
	*inner = wrapped;
}

static void print_type(struct buf *out, const struct ctype *t, struct str name, bool portable)
{
	struct buf inner = BUF_INIT;
	struct str base;

	buf_str(&inner, name);
	while (true) {
		t = portable ? ctype_resolve(t) : t;
		if (!t->to || t->kind == CTYPE_NAMED)
			break;
		wrap_level(&inner, t, portable);
		t = t->to;
	}
	/* The innermost type, as its specifiers spell it. */
	base = t->name.len ? t->name : str_from(name_of_size(t));
	if (portable && t->kind == CTYPE_NAMED)
		base = str_from(builtin_name(base));
	add_qualifiers(out, qualifiers_of(t, portable), true);
	if (t->kind == CTYPE_STRUCT)
		buf_text(out, "struct ");
	else if (t->kind == CTYPE_UNION)
		buf_text(out, "union ");
	else if (t->kind == CTYPE_ENUM)
		buf_text(out, base.len ? "enum " : "enum");
	buf_str(out, base);
	/* The name of a type may be any text that the program has for it: "char *". */
	if (inner.len && inner.ptr[0] != '[' && !str_ends(t->name, STR("*")))
		buf_char(out, ' ');
	buf_str(out, buf_as_str(&inner));
	out->failed |= inner.failed;
	buf_free(&inner);
}

void ctype_print(struct buf *out, const struct ctype *t, struct str name)
{
	print_type(out, t, name, false);
}

static void print_body(struct buf *out, const struct ctype *t, unsigned depth);

/* One member, or a nameless struct that is written where it is used. */
static void print_member(struct buf *out, const struct ctype_member *m, unsigned depth)
{
	const struct ctype *base = m->type;
	struct buf name = BUF_INIT;

	buf_fill(out, '\t', depth);
	while (base->to && base->kind != CTYPE_NAMED && base->kind != CTYPE_FUNCTION)
		base = base->to;
	buf_str(&name, m->name);
	if ((base->kind == CTYPE_STRUCT || base->kind == CTYPE_UNION || base->kind == CTYPE_ENUM) &&
	    !base->name.len && depth < 16) {
		for (const struct ctype *t = m->type; t != base; t = t->to)
			wrap_level(&name, t, false);
		add_qualifiers(out, base->qualifiers, true);
		print_body(out, base, depth);
		buf_text(out, name.len ? " " : "");
		buf_str(out, buf_as_str(&name));
	} else {
		print_type(out, m->type, m->name, false);
	}
	buf_free(&name);
	if (m->bit_width)
		buf_printf(out, " : %u", m->bit_width);
	buf_text(out, ";\n");
}

/* struct tag { ... }, from where the line is indented by `depth` tabs. */
static void print_body(struct buf *out, const struct ctype *t, unsigned depth)
{
	buf_text(out, t->kind == CTYPE_STRUCT  ? "struct "
		      : t->kind == CTYPE_UNION ? "union "
					       : "enum ");
	buf_str(out, t->name);
	buf_text(out, t->name.len ? " {\n" : "{\n");
	ctype_complete(t);
	for (unsigned i = 0; i < t->member_count && out->len < CTYPE_MAX_TEXT; i++)
		print_member(out, &t->members[i], depth + 1);
	for (unsigned i = 0; i < t->constant_count && out->len < CTYPE_MAX_TEXT; i++) {
		buf_fill(out, '\t', depth + 1);
		buf_str(out, t->constants[i].name);
		buf_printf(out, t->is_signed ? " = %lld,\n" : " = %llu,\n",
			   (long long)t->constants[i].value);
	}
	buf_text(out, out->len < CTYPE_MAX_TEXT ? "" : "...\n");
	buf_fill(out, '\t', depth);
	buf_char(out, '}');
}

void ctype_print_definition(struct buf *out, const struct ctype *t)
{
	if ((t->kind == CTYPE_STRUCT || t->kind == CTYPE_UNION || t->kind == CTYPE_ENUM) &&
	    !t->is_declaration)
		print_body(out, t, 0);
	else
		print_type(out, t, STR(""), false);
}

/* Can a type below a pointer or inside a function be written in words that need no declaration?
 * Typedefs inside a function's list are not followed: their expansion could grow without bound. */
static bool is_portable(const struct ctype *t, bool in_function)
{
	switch (t->kind) {
	case CTYPE_NAMED:
		return t->to ? !in_function && is_portable(t->to, false)
			     : builtin_name(t->name) != NULL;
	case CTYPE_STRUCT:
	case CTYPE_UNION: return t->name.len;
	case CTYPE_BOOL:
	case CTYPE_ENUM:
	case CTYPE_STRING: return false;
	case CTYPE_FUNCTION:
		for (const struct ctype_param *p = t->params; p; p = p->next)
			if (!is_portable(p->type, true))
				return false;
		in_function = true;
		break;
	default: break;
	}
	return !t->to || is_portable(t->to, in_function);
}

/* A parameter that takes a pointer to `pointee`. A type that has no name outside the file becomes a
 * pointer to void. */
static bool add_checked_pointer(struct buf *out, const struct ctype *pointee)
{
	struct ctype open = *ctype_resolve(pointee);
	struct ctype pointer = {.kind = CTYPE_POINTER, .to = &open};
	struct buf text = BUF_INIT;

	if (!is_portable(pointee, false)) {
		/* A name without a meaning may be that of a function: no data pointer takes one. */
		if (open.kind == CTYPE_FUNCTION || open.kind == CTYPE_NAMED)
			return false;
		buf_text(out, "const volatile void*");
		return true;
	}
	if (open.kind != CTYPE_FUNCTION && open.kind != CTYPE_ARRAY)
		open.qualifiers |= CTYPE_CONST | CTYPE_VOLATILE;
	print_type(&text, &pointer, STR(""), true);
	/* "const volatile char*": builds of memcached and Perl rewrite "char *" in what dtrace
	 * wrote to "const char *", which is one const too many where there is one. */
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] != ' ' || i + 1 == text.len || text.ptr[i + 1] != '*')
			buf_char(out, text.ptr[i]);
	out->failed |= text.failed;
	buf_free(&text);
	return true;
}

bool ctype_print_checked(struct buf *out, const struct ctype *t)
{
	const char *builtin;

	t = ctype_resolve(t);
	switch (t->kind) {
	case CTYPE_NAMED:
		builtin = builtin_name(t->name);
		buf_text(out, builtin ? builtin : "");
		return builtin;
	case CTYPE_BOOL:
	case CTYPE_ENUM: buf_text(out, "int"); return true;
	case CTYPE_CHAR:
	case CTYPE_INTEGER: buf_str(out, t->name); return true;
	case CTYPE_STRING: buf_text(out, "const volatile char*"); return true;
	case CTYPE_POINTER:
	case CTYPE_ARRAY: return add_checked_pointer(out, t->to);
	case CTYPE_FUNCTION: return add_checked_pointer(out, t);
	default: return false;
	}
}
