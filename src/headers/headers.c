/* See headers.h. Of libclang's interface (clang-c/Index.h) only what is used is declared here: its
 * header belongs to a version, its functions have not changed since version 7. */
#include "headers/headers.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NEWEST 30 /* versions that are looked for */
#define OLDEST 7

struct clang_string {
	const void *data;
	unsigned flags;
};

struct clang_cursor {
	int kind, xdata;
	const void *data[3];
};

struct clang_unsaved {
	const char *name, *text;
	unsigned long len;
};

enum { KIND_STRUCT = 2, KIND_UNION = 3, KIND_ENUM = 5, KIND_CONSTANT = 7, KIND_TYPEDEF = 20 };
enum { VISIT_BREAK, VISIT_NEXT, VISIT_CHILDREN };
enum { SEVERITY_ERROR = 3 };

typedef int clang_visitor(struct clang_cursor c, struct clang_cursor parent, void *arg);

/* clang-format off */
#define FUNCTIONS(FN)                                                                                        \
	FN(void *,              createIndex,                (int, int))                                       \
	FN(void,                disposeIndex,               (void *))                                         \
	FN(int,                 parseTranslationUnit2,      (void *, const char *, const char *const *, int,  \
							     struct clang_unsaved *, unsigned, unsigned, void **)) \
	FN(void,                disposeTranslationUnit,     (void *))                                         \
	FN(struct clang_cursor, getTranslationUnitCursor,   (void *))                                         \
	FN(unsigned,            visitChildren,              (struct clang_cursor, clang_visitor *, void *))   \
	FN(unsigned,            isCursorDefinition,         (struct clang_cursor))                            \
	FN(struct clang_string, getCursorSpelling,          (struct clang_cursor))                            \
	FN(struct clang_string, getCursorPrettyPrinted,     (struct clang_cursor, void *))                    \
	FN(long long,           getEnumConstantDeclValue,   (struct clang_cursor))                            \
	FN(unsigned,            getNumDiagnostics,          (void *))                                         \
	FN(void *,              getDiagnostic,              (void *, unsigned))                               \
	FN(int,                 getDiagnosticSeverity,      (void *))                                         \
	FN(struct clang_string, getDiagnosticSpelling,      (void *))                                         \
	FN(void,                disposeDiagnostic,          (void *))                                         \
	FN(const char *,        getCString,                 (struct clang_string))                            \
	FN(void,                disposeString,              (struct clang_string))
/* clang-format on */

#define MEMBER(result, name, args) result(*name) args;
struct clang {
	FUNCTIONS(MEMBER)
};

struct headers {
	void *library, *index;
	struct clang clang;
	struct buf lines; /* ends in a NUL */
	struct buf words; /* -I and its folders, each with a NUL */
	const char **args;
	int arg_count;
	void *unit;
};

/* ---- Loading ---- */

static void *load_library(void)
{
	const char *chosen = getenv("NOPAL_LIBCLANG");
	void *library = dlopen(chosen ? chosen : "libclang.so.1", RTLD_NOW | RTLD_LOCAL);
	char name[32];

	for (int version = NEWEST; !library && !chosen && version >= OLDEST; version--) {
		snprintf(name, sizeof(name), "libclang-%d.so.1", version);
		library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (library)
			break;
		snprintf(name, sizeof(name), "libclang.so.%d", version);
		library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	}
	return library;
}

static bool load_functions(struct headers *h)
{
	bool all = true;

#define LOAD(result, name, args)                                      \
	*(void **)&h->clang.name = dlsym(h->library, "clang_" #name); \
	all &= h->clang.name != NULL;
	FUNCTIONS(LOAD)
	return all;
}

/* ---- Parsing ---- */

static void add_string(struct headers *h, struct clang_string s, struct buf *out)
{
	const char *text = h->clang.getCString(s);

	buf_text(out, text ? text : "");
	h->clang.disposeString(s);
}

/* The first error, if there is one. */
static bool find_error(struct headers *h, void *unit, struct buf *problem)
{
	unsigned count = h->clang.getNumDiagnostics(unit);
	bool found = false;

	for (unsigned i = 0; i < count && !found; i++) {
		void *one = h->clang.getDiagnostic(unit, i);

		found = h->clang.getDiagnosticSeverity(one) >= SEVERITY_ERROR;
		if (found && problem)
			add_string(h, h->clang.getDiagnosticSpelling(one), problem);
		h->clang.disposeDiagnostic(one);
	}
	return found;
}

static void *parse_text(struct headers *h, const char *text, size_t len)
{
	struct clang_unsaved file = {"nopal-script.c", text, len};
	void *unit = NULL;

	if (h->clang.parseTranslationUnit2(h->index, file.name, h->args, h->arg_count, &file, 1, 0,
					   &unit))
		return NULL;
	return unit;
}

/* The words of a compiler's command line. */
static int make_args(struct headers *h, struct str dirs)
{
	static const char *const always[] = {"-x", "c", "-std=gnu11", "-I."};
	size_t at = 0;

	h->arg_count = COUNT(always);
	while (dirs.len) {
		struct str dir = str_cut(&dirs, '\n');

		if (!dir.len)
			continue;
		buf_printf(&h->words, "-I%.*s%c", STR_FMT(dir), 0);
		h->arg_count++;
	}
	h->args = calloc((size_t)h->arg_count, sizeof(*h->args));
	if (!h->args || h->words.failed)
		return -ENOMEM;
	memcpy(h->args, always, sizeof(always));
	for (int i = COUNT(always); i < h->arg_count; i++) {
		h->args[i] = h->words.ptr + at;
		at += strlen(h->args[i]) + 1;
	}
	return 0;
}

int headers_open(struct str lines, struct str dirs, struct headers **out, struct buf *problem)
{
	struct headers *h = calloc(1, sizeof(*h));
	int err = 0;

	if (!h)
		return -ENOMEM;
	h->library = load_library();
	buf_str(&h->lines, lines);
	buf_char(&h->lines, '\n');
	if (!h->library || !load_functions(h))
		err = -ENOENT;
	else if (h->lines.failed || make_args(h, dirs))
		err = -ENOMEM;
	if (!err) {
		h->index = h->clang.createIndex(0, 0);
		h->unit = h->index ? parse_text(h, h->lines.ptr, h->lines.len) : NULL;
		err = !h->unit ? -ENOMEM : find_error(h, h->unit, problem) ? -EINVAL : 0;
	}
	if (err)
		headers_close(h);
	else
		*out = h;
	return err;
}

/* The library stays loaded: it has threads and tables of its own. */
void headers_close(struct headers *h)
{
	if (!h)
		return;
	if (h->unit)
		h->clang.disposeTranslationUnit(h->unit);
	if (h->index)
		h->clang.disposeIndex(h->index);
	buf_free(&h->lines);
	buf_free(&h->words);
	free(h->args);
	free(h);
}

/* ---- Declarations ---- */

struct header_walk {
	struct headers *h;
	header_declaration_fn *fn;
	void *arg;
	struct buf unnamed; /* the definition before, which a typedef may give its only name */
	struct buf text;
	int result;
};

static bool is_unnamed(struct str name)
{
	return !name.len || memchr(name.ptr, '(', name.len);
}

/* "typedef struct { ... } pair;" is two declarations, of which the second has lost the first. */
static void take_typedef(struct header_walk *w, struct clang_cursor c)
{
	struct buf name = BUF_INIT, as_declared = BUF_INIT;

	add_string(w->h, w->h->clang.getCursorSpelling(c), &name);
	add_string(w->h, w->h->clang.getCursorPrettyPrinted(c, NULL), &as_declared);
	if (w->unnamed.len && !name.failed) {
		buf_printf(&w->text, "typedef %.*s %.*s", STR_FMT(buf_as_str(&w->unnamed)),
			   STR_FMT(buf_as_str(&name)));
	} else {
		buf_str(&w->text, buf_as_str(&as_declared));
	}
	buf_free(&name);
	buf_free(&as_declared);
}

static int take_cursor(struct clang_cursor c, struct clang_cursor parent, void *arg)
{
	struct header_walk *w = arg;
	struct buf name = BUF_INIT;
	bool is_tag = c.kind == KIND_STRUCT || c.kind == KIND_UNION || c.kind == KIND_ENUM;

	(void)parent;
	buf_clear(&w->text);
	if (is_tag && w->h->clang.isCursorDefinition(c)) {
		add_string(w->h, w->h->clang.getCursorSpelling(c), &name);
		buf_clear(&w->unnamed);
		if (is_unnamed(buf_as_str(&name)) && c.kind != KIND_ENUM)
			add_string(w->h, w->h->clang.getCursorPrettyPrinted(c, NULL), &w->unnamed);
		else
			add_string(w->h, w->h->clang.getCursorPrettyPrinted(c, NULL), &w->text);
	} else if (c.kind == KIND_TYPEDEF) {
		take_typedef(w, c);
		buf_clear(&w->unnamed);
	} else {
		buf_clear(&w->unnamed);
	}
	buf_free(&name);
	if (w->text.len) {
		buf_text(&w->text, ";\n");
		w->result = w->text.failed ? -ENOMEM : w->fn(w->arg, buf_as_str(&w->text));
	}
	return w->result ? VISIT_BREAK : VISIT_NEXT;
}

int headers_each(struct headers *h, header_declaration_fn *fn, void *arg)
{
	struct header_walk w = {.h = h, .fn = fn, .arg = arg};

	h->clang.visitChildren(h->clang.getTranslationUnitCursor(h->unit), take_cursor, &w);
	buf_free(&w.unnamed);
	buf_free(&w.text);
	return w.result;
}

/* ---- Constants ---- */

#define CONSTANT "nopal_the_value"

struct found {
	struct headers *h;
	int64_t *value;
	bool is_found;
};

static int take_constant(struct clang_cursor c, struct clang_cursor parent, void *arg)
{
	struct found *f = arg;
	struct buf name = BUF_INIT;

	(void)parent;
	if (c.kind == KIND_ENUM)
		return VISIT_CHILDREN;
	if (c.kind != KIND_CONSTANT)
		return VISIT_NEXT;
	add_string(f->h, f->h->clang.getCursorSpelling(c), &name);
	f->is_found = str_eq_text(buf_as_str(&name), CONSTANT);
	if (f->is_found)
		*f->value = f->h->clang.getEnumConstantDeclValue(c);
	buf_free(&name);
	return f->is_found ? VISIT_BREAK : VISIT_NEXT;
}

/* The compiler computes it: what a macro means only its own rules say. */
bool headers_constant(struct headers *h, struct str name, int64_t *value)
{
	struct found f = {.h = h, .value = value};
	struct buf text = BUF_INIT;
	void *unit;

	buf_str(&text, buf_as_str(&h->lines));
	buf_printf(&text, "enum { " CONSTANT " = (%.*s) };\n", STR_FMT(name));
	unit = text.failed ? NULL : parse_text(h, text.ptr, text.len);
	if (unit && !find_error(h, unit, NULL))
		h->clang.visitChildren(h->clang.getTranslationUnitCursor(unit), take_constant, &f);
	if (unit)
		h->clang.disposeTranslationUnit(unit);
	buf_free(&text);
	return f.is_found;
}
