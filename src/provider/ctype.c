/* Spelling of C types: as they were declared, and as a compiler can check them anywhere. */
#include "provider/ctype.h"

/* Type names that C and D programs use without declaring them, and the compiler's own word for
 * each. Both gcc and clang define these macros for every CPU. */
static const struct {
	const char *name, *builtin;
} standard_types[] = {
	{"int8_t", "__INT8_TYPE__"},	   {"uint8_t", "__UINT8_TYPE__"},
	{"int16_t", "__INT16_TYPE__"},	   {"uint16_t", "__UINT16_TYPE__"},
	{"int32_t", "__INT32_TYPE__"},	   {"uint32_t", "__UINT32_TYPE__"},
	{"int64_t", "__INT64_TYPE__"},	   {"uint64_t", "__UINT64_TYPE__"},
	{"intptr_t", "__INTPTR_TYPE__"},   {"uintptr_t", "__UINTPTR_TYPE__"},
	{"intmax_t", "__INTMAX_TYPE__"},   {"uintmax_t", "__UINTMAX_TYPE__"},
	{"ptrdiff_t", "__PTRDIFF_TYPE__"}, {"size_t", "__SIZE_TYPE__"},
};

static const char *standard_type(struct str name)
{
	for (size_t i = 0; i < sizeof(standard_types) / sizeof(*standard_types); i++)
		if (str_eq_text(name, standard_types[i].name))
			return standard_types[i].builtin;
	return NULL;
}

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

static bool same_args(const struct carg *a, const struct carg *b)
{
	for (; a && b; a = a->next, b = b->next)
		if (!ctype_same(a->type, b->type))
			return false;
	return !a && !b;
}

bool ctype_same(const struct ctype *a, const struct ctype *b)
{
	for (; a && b; a = a->to, b = b->to) {
		if (a->kind != b->kind || a->qualifiers != b->qualifiers ||
		    a->variadic != b->variadic)
			return false;
		if (!str_eq(a->name, b->name) || !str_eq(a->bound, b->bound) ||
		    !same_args(a->args, b->args))
			return false;
		if (a->kind == CTYPE_NAMED)
			return true;
	}
	return !a && !b;
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

/* The innermost type, as its specifiers spell it. */
static void add_specifiers(struct buf *out, const struct ctype *t)
{
	static const char *const words[] = {
		[CTYPE_VOID] = "void",	   [CTYPE_BOOL] = "_Bool",  [CTYPE_STRUCT] = "struct ",
		[CTYPE_UNION] = "union ",  [CTYPE_ENUM] = "enum ",  [CTYPE_STRING] = "string",
		[CTYPE_INTEGER] = "",	   [CTYPE_FLOAT] = "",	    [CTYPE_NAMED] = "",
		[CTYPE_POINTER] = "void ", [CTYPE_ARRAY] = "void ", [CTYPE_FUNCTION] = "void ",
	};
	bool tagged = t->kind == CTYPE_STRUCT || t->kind == CTYPE_UNION || t->kind == CTYPE_ENUM;

	add_qualifiers(out, t->qualifiers, true);
	buf_text(out, words[t->kind]);
	if (tagged && !t->name.len)
		buf_text(out, "{...}");
	else
		buf_str(out, t->name);
}

static void add_function_args(struct buf *out, const struct ctype *t)
{
	buf_char(out, '(');
	for (const struct carg *arg = t->args; arg; arg = arg->next) {
		ctype_print(out, arg->type, arg->name);
		if (arg->next)
			buf_text(out, ", ");
	}
	if (t->variadic)
		buf_text(out, t->args ? ", ..." : "...");
	else if (!t->args)
		buf_text(out, "void");
	buf_char(out, ')');
}

/* One level of a declarator written around what is inside it: *x, x[3], x(int). Returns true when
 * the next level out needs brackets around it first. */
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
			add_function_args(&wrapped, t);
	}
	wrapped.failed |= inner->failed;
	buf_free(inner);
	*inner = wrapped;
}

static bool is_derived(const struct ctype *t)
{
	return t->kind == CTYPE_POINTER || t->kind == CTYPE_ARRAY || t->kind == CTYPE_FUNCTION;
}

void ctype_print(struct buf *out, const struct ctype *t, struct str name)
{
	struct buf inner = BUF_INIT;

	buf_str(&inner, name);
	for (; is_derived(t) && t->to; t = t->to)
		wrap_level(&inner, t);
	add_specifiers(out, t);
	if (inner.len && inner.ptr[0] != '[')
		buf_char(out, ' ');
	buf_str(out, buf_as_str(&inner));
	out->failed |= inner.failed;
	buf_free(&inner);
}

static struct ctype *copy_type(struct arena *a, const struct ctype *t)
{
	struct ctype *out = arena_new(a, struct ctype);

	if (out)
		*out = *t;
	return out;
}

static const struct ctype *portable_type(struct arena *a, const struct ctype *t, bool in_function);

/* A function's arguments without their names, which may be macros elsewhere. */
static bool portable_args(struct arena *a, const struct carg *args, const struct carg **out)
{
	*out = NULL;
	for (; args; args = args->next, out = (const struct carg **)&(*out)->next) {
		struct carg *arg = arena_new(a, struct carg);

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
	const char *builtin = t->kind == CTYPE_NAMED && !t->to ? standard_type(t->name) : NULL;
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
		if (!portable_args(a, t->args, &out->args))
			return NULL;
		in_function = true;
		break;
	default: break;
	}
	if (t->to && !(out->to = portable_type(a, t->to, in_function)))
		return NULL;
	return out;
}

/* "const volatile char*": builds of memcached and Perl rewrite "char *" in what dtrace wrote to
 * "const char *", which is one const too many where there is one. */
static void add_without_blanks(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] != ' ' || i + 1 == text.len || text.ptr[i + 1] != '*')
			buf_char(out, text.ptr[i]);
}

/* A parameter that takes a pointer to `pointee`. What nobody can name outside the file becomes a
 * pointer to anything. */
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
	add_without_blanks(out, buf_as_str(&text));
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
		builtin = standard_type(t->name);
		buf_text(out, builtin ? builtin : "");
		return builtin;
	case CTYPE_BOOL:
	case CTYPE_ENUM: buf_text(out, "int"); return true;
	case CTYPE_INTEGER: buf_str(out, t->name); return true;
	case CTYPE_STRING: buf_text(out, "const volatile char*"); return true;
	case CTYPE_POINTER:
	case CTYPE_ARRAY: return add_checked_pointer(out, a, t->to);
	case CTYPE_FUNCTION: return add_checked_pointer(out, a, t);
	default: return false;
	}
}
