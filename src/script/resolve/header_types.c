/* Types and constants of the headers that a script includes. They are read when a name is looked
 * for that neither the script nor the traced file nor the kernel defines: most scripts include
 * headers of which the kernel describes the types. */
#include <errno.h>

#include "base/array.h"
#include "headers/headers.h"
#include "script/parse/builtin.h"
#include "script/resolve/header_types.h"
#include "script/resolve/script_source.h"

/* A constant that was looked for. */
struct header_value {
	struct str name;
	bool is_found;
	int64_t value;
	struct header_value *next;
};

/* What the parser of declarations does not understand is left out. */
static int take_declaration(void *arg, struct str text)
{
	struct script *s = arg;
	struct str copy = arena_str(&s->arena, text);
	size_t at = 0;

	if (!copy.ptr)
		return -ENOMEM;
	return c_scope_read(s->header_types, STR("header"), copy, &at, NULL) == -ENOMEM ? -ENOMEM
											: 0;
}

static void set_problem(struct script *s, int err, const struct buf *problem)
{
	if (err == -ENOENT)
		s->header_problem = STR("headers are not read, because libclang is not installed: "
					"install libclang1, or define it in the script");
	else if (err)
		s->header_problem = arena_printf(
			&s->arena, "the headers cannot be read: %.*s",
			STR_FMT(problem->len ? buf_as_str(problem) : str_from(strerror(-err))));
}

/* Once. -ENOMEM: there is not even an empty scope. */
static int read_headers(struct script *s)
{
	struct buf problem = BUF_INIT;
	int err;

	if (s->header_types)
		return 0;
	s->header_types = arena_new(&s->arena, struct c_scope);
	if (!s->header_types)
		return -ENOMEM;
	s->header_types->arena = &s->arena;
	s->header_types->machine = s->tree.types.machine;
	if (!s->tree.includes.len)
		return 0;
	if (!s->source->headers) {
		s->header_problem = STR("headers are not read: define it in the script");
		return 0;
	}
	err = s->source->headers(s->tree.includes, s->options.header_dirs, &s->headers, &problem);
	set_problem(s, err, &problem);
	buf_free(&problem);
	return s->headers ? headers_each(s->headers, take_declaration, s) : 0;
}

bool header_is_own(const struct script *s)
{
	return str_index(s->tree.includes, '"') >= 0;
}

const struct ctype *header_type(struct script *s, enum ctype_kind kind, struct str name)
{
	if (!s->tree.includes.len || !name.len || read_headers(s))
		return NULL;
	return c_scope_type(s->header_types, kind, name);
}

static const struct header_value *find_value(struct script *s, struct str name)
{
	struct header_value *v;

	for (v = s->header_values; v; v = v->next)
		if (str_eq(v->name, name))
			return v;
	v = arena_new(&s->arena, struct header_value);
	if (!v)
		return NULL;
	v->name = name;
	v->is_found = headers_constant(s->headers, name, &v->value);
	v->next = s->header_values;
	s->header_values = v;
	return v;
}

/* Macros of the headers that scripts include most, known also where headers are not read. */
/* clang-format off */
static const struct {
	const char *name;
	int64_t value;
} common[] = {
	{ "AF_UNIX", 1 }, { "AF_INET", 2 }, { "AF_INET6", 10 }, { "TASK_RUNNING", 0 },
	{ "TASK_INTERRUPTIBLE", 1 }, { "TASK_UNINTERRUPTIBLE", 2 },
};
/* clang-format on */

bool header_constant(struct script *s, struct str name, const struct ctype **type, int64_t *value)
{
	const struct header_value *v;

	*type = NULL;
	if (!s->tree.includes.len)
		return false;
	for (size_t i = 0; i < COUNT(common); i++) {
		if (!str_eq_text(name, common[i].name))
			continue;
		*value = common[i].value;
		return true;
	}
	/* A builtin is a name of the language, whatever a header has. */
	if (function_find(s->builtins, name) || read_headers(s))
		return false;
	if (c_scope_constant(s->header_types, name, type, value))
		return true;
	v = s->headers ? find_value(s, name) : NULL;
	if (v)
		*value = v->value;
	return v && v->is_found;
}

struct str header_hint(struct script *s)
{
	if (!s->tree.includes.len || read_headers(s))
		return STR("");
	return s->header_problem;
}
