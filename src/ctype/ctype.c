/* C types compared, and spelt: as they were declared, and as a compiler can check them anywhere. */
#include "ctype/ctype.h"

const struct ctype *ctype_resolve(const struct ctype *t)
{
	while (t->kind == CTYPE_NAMED && t->to)
		t = t->to;
	return t;
}

unsigned ctype_depth(const struct ctype *t, unsigned limit)
{
	unsigned depth = 0;

	for (; t && depth < limit; t = t->to)
		depth++;
	return depth;
}

static bool same_type(const struct ctype *a, const struct ctype *b, unsigned pointers);

static bool same_params(const struct ctype_param *a, const struct ctype_param *b, unsigned pointers)
{
	for (; a && b; a = a->next, b = b->next)
		if (!same_type(a->type, b->type, pointers))
			return false;
	return !a && !b;
}

static bool same_members(const struct ctype *a, const struct ctype *b, unsigned pointers)
{
	if (a->member_count != b->member_count)
		return false;
	for (unsigned i = 0; i < a->member_count; i++) {
		const struct ctype_member *x = &a->members[i], *y = &b->members[i];

		if (x->offset != y->offset || x->bit_offset != y->bit_offset ||
		    x->bit_width != y->bit_width || !str_eq(x->name, y->name) ||
		    !same_type(x->type, y->type, pointers))
			return false;
	}
	return true;
}

/* `pointers`: how many were followed to get here. */
static bool same_type(const struct ctype *a, const struct ctype *b, unsigned pointers)
{
	for (; a && b; a = a->to, b = b->to) {
		if (a->kind != b->kind || a->qualifiers != b->qualifiers || a->size != b->size ||
		    a->is_signed != b->is_signed || a->variadic != b->variadic)
			return false;
		pointers += a->kind == CTYPE_POINTER;
		if (!str_eq(a->name, b->name) || !str_eq(a->bound, b->bound) ||
		    !same_params(a->params, b->params, pointers) ||
		    (pointers < 2 && !same_members(a, b, pointers)))
			return false;
		if (a->kind == CTYPE_NAMED)
			return true;
	}
	return !a && !b;
}

bool ctype_same(const struct ctype *a, const struct ctype *b)
{
	return same_type(a, b, 0);
}

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

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (!(qualifiers & words[i].bit))
			continue;
		buf_text(out, space_after || first ? "" : " ");
		buf_text(out, words[i].word);
		buf_text(out, space_after ? " " : "");
		first = false;
	}
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

/* The innermost type, as its specifiers spell it. */
static void add_specifiers(struct buf *out, const struct ctype *t)
{
	struct str name = t->name.len ? t->name : str_from(name_of_size(t));

	add_qualifiers(out, t->qualifiers, true);
	if (t->kind == CTYPE_STRUCT)
		buf_text(out, "struct ");
	else if (t->kind == CTYPE_UNION)
		buf_text(out, "union ");
	else if (t->kind == CTYPE_ENUM)
		buf_text(out, name.len ? "enum " : "enum");
	buf_str(out, name);
}

static void add_function_params(struct buf *out, const struct ctype *t)
{
	buf_char(out, '(');
	for (const struct ctype_param *arg = t->params; arg; arg = arg->next) {
		ctype_print(out, arg->type, arg->name);
		if (arg->next)
			buf_text(out, ", ");
	}
	if (t->variadic)
		buf_text(out, t->params ? ", ..." : "...");
	else if (!t->params)
		buf_text(out, "void");
	buf_char(out, ')');
}

/* One level of a declarator written around what is inside it: *x, x[3], x(int). */
static void wrap_level(struct buf *inner, const struct ctype *t)
{
	struct buf wrapped = BUF_INIT;

	if (t->kind == CTYPE_POINTER) {
		bool brackets =
			t->to && (t->to->kind == CTYPE_ARRAY || t->to->kind == CTYPE_FUNCTION);

		buf_text(&wrapped, brackets ? "(*" : "*");
		add_qualifiers(&wrapped, t->qualifiers, false);
		if (t->qualifiers && inner->len && inner->ptr[0] != '[')
			buf_char(&wrapped, ' ');
		buf_str(&wrapped, buf_as_str(inner));
		buf_text(&wrapped, brackets ? ")" : "");
	} else {
		buf_str(&wrapped, buf_as_str(inner));
		if (t->kind == CTYPE_ARRAY)
			buf_printf(&wrapped, "[%.*s]", STR_FMT(t->bound));
		else
			add_function_params(&wrapped, t);
	}
	wrapped.failed |= inner->failed;
	buf_free(inner);
	*inner = wrapped;
}

void ctype_print(struct buf *out, const struct ctype *t, struct str name)
{
	struct buf inner = BUF_INIT;

	buf_str(&inner, name);
	for (; t->to && t->kind != CTYPE_NAMED; t = t->to)
		wrap_level(&inner, t);
	add_specifiers(out, t);
	/* The name of a type may be any text that the program has for it: "char *". */
	if (inner.len && inner.ptr[0] != '[' && !str_ends(t->name, STR("*")))
		buf_char(out, ' ');
	buf_str(out, buf_as_str(&inner));
	out->failed |= inner.failed;
	buf_free(&inner);
}

static const char *builtin_name(struct str name)
{
	const struct ctype_standard *s = ctype_standard(name);

	return s ? s->builtin : NULL;
}

static struct ctype *copy_type(struct arena *a, const struct ctype *t)
{
	struct ctype *out = arena_new(a, struct ctype);

	if (out)
		*out = *t;
	return out;
}

static const struct ctype *portable_type(struct arena *a, const struct ctype *t, bool in_function);

/* A function's parameters without their names, which may be macros elsewhere. */
static bool portable_params(struct arena *a, const struct ctype_param *args,
			    const struct ctype_param **out)
{
	*out = NULL;
	for (; args; args = args->next, out = (const struct ctype_param **)&(*out)->next) {
		struct ctype_param *arg = arena_new(a, struct ctype_param);

		if (!arg || !(arg->type = portable_type(a, args->type, true)))
			return false;
		*out = arg;
	}
	return true;
}

/* A type below a pointer or inside a function, in words that need no declaration; NULL when there
 * are none. Typedefs inside a function's list are not followed: their expansion could grow without
 * bound. */
static const struct ctype *portable_type(struct arena *a, const struct ctype *t, bool in_function)
{
	const char *builtin = t->kind == CTYPE_NAMED && !t->to ? builtin_name(t->name) : NULL;
	struct ctype *out = copy_type(a, t);

	if (!out)
		return NULL;
	out->qualifiers &= ~(unsigned)(CTYPE_RESTRICT | CTYPE_ATOMIC);
	switch (t->kind) {
	case CTYPE_NAMED:
		if (builtin) {
			out->name = str_from(builtin);
			return out;
		}
		if (in_function || !t->to || !(t = portable_type(a, t->to, false)))
			return NULL;
		*out = *t;
		return out;
	case CTYPE_STRUCT:
	case CTYPE_UNION: return t->name.len ? out : NULL;
	case CTYPE_BOOL:
	case CTYPE_ENUM:
	case CTYPE_STRING: return NULL;
	case CTYPE_FUNCTION:
		if (!portable_params(a, t->params, &out->params))
			return NULL;
		in_function = true;
		break;
	default: break;
	}
	if (t->to && !(out->to = portable_type(a, t->to, in_function)))
		return NULL;
	return out;
}

/* A parameter that takes a pointer to `pointee`. A type that has no name outside the file becomes a
 * pointer to void. */
static bool add_checked_pointer(struct buf *out, struct arena *a, const struct ctype *pointee)
{
	const struct ctype *meaning = ctype_resolve(pointee),
			   *known = portable_type(a, pointee, false);
	struct ctype pointer = {.kind = CTYPE_POINTER}, *open;
	struct buf text = BUF_INIT;

	if (!known) {
		/* A name without a meaning may stand for a function: no data pointer takes one. */
		if (meaning->kind == CTYPE_FUNCTION || meaning->kind == CTYPE_NAMED)
			return false;
		buf_text(out, "const volatile void*");
		return true;
	}
	open = copy_type(a, known);
	if (!open)
		return false;
	if (meaning->kind != CTYPE_FUNCTION && meaning->kind != CTYPE_ARRAY)
		open->qualifiers |= CTYPE_CONST | CTYPE_VOLATILE;
	pointer.to = open;
	ctype_print(&text, &pointer, STR(""));
	/* "const volatile char*": builds of memcached and Perl rewrite "char *" in what dtrace
	 * wrote to "const char *", which is one const too many where there is one. */
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] != ' ' || i + 1 == text.len || text.ptr[i + 1] != '*')
			buf_char(out, text.ptr[i]);
	out->failed |= text.failed;
	buf_free(&text);
	return true;
}

bool ctype_print_checked(struct buf *out, struct arena *a, const struct ctype *t)
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
	case CTYPE_ARRAY: return add_checked_pointer(out, a, t->to);
	case CTYPE_FUNCTION: return add_checked_pointer(out, a, t);
	default: return false;
	}
}
