/* The names of a text: tags, typedefs and constants, and the declarations that make them. */
#include <errno.h>

#include "base/hash.h"
#include "cparse/scope.h"

static struct c_name **bucket_of(const struct c_scope *s, struct str name)
{
	return (struct c_name **)&s->names[hash_str(0, name) % C_SCOPE_BUCKETS];
}

/* `kind` CTYPE_NAMED: a typedef; CTYPE_INTEGER: a constant; else a tag. */
static struct c_name *find_name(const struct c_scope *s, enum ctype_kind kind, struct str name)
{
	for (struct c_name *n = *bucket_of(s, name); n; n = n->next)
		if (n->kind == kind && str_eq(n->name, name))
			return n;
	return NULL;
}

static struct c_name *add_name(struct c_scope *s, enum ctype_kind kind, struct str name)
{
	struct c_name *n = arena_new(s->arena, struct c_name);
	struct c_name **at = bucket_of(s, name);

	if (!n)
		return NULL;
	*n = (struct c_name){.kind = kind, .name = name, .next = *at};
	return *at = n;
}

const struct ctype *c_scope_type(const struct c_scope *s, enum ctype_kind kind, struct str name)
{
	const struct c_name *n = find_name(s, kind, name);

	return n ? n->type : NULL;
}

bool c_scope_constant(const struct c_scope *s, struct str name, const struct ctype **type,
		      int64_t *value)
{
	const struct c_name *n = find_name(s, CTYPE_INTEGER, name);

	if (!n)
		return false;
	*type = n->type;
	*value = n->value;
	return true;
}

int c_scope_add(struct c_scope *s, enum ctype_kind kind, struct str name, const struct ctype *type)
{
	struct c_name *n = add_name(s, kind, name);

	if (!n)
		return -ENOMEM;
	n->type = type;
	return 0;
}

int c_scope_typedef(struct c_scope *s, struct str name, const struct ctype *type)
{
	return c_scope_add(s, CTYPE_NAMED, name, type);
}

void c_scope_forget(struct c_scope *s, enum ctype_kind kind, struct str name)
{
	for (struct c_name **n = bucket_of(s, name); *n; n = &(*n)->next) {
		if ((*n)->kind != kind || !str_eq((*n)->name, name))
			continue;
		*n = (*n)->next;
		return;
	}
}

static const struct ctype *scope_typedef(void *self, struct str name)
{
	return c_scope_type(self, CTYPE_NAMED, name);
}

static struct ctype *scope_tag(void *self, enum ctype_kind kind, struct str name)
{
	struct c_scope *s = self;
	struct c_name *n = find_name(s, kind, name);
	struct ctype *t;

	if (n)
		return (struct ctype *)n->type; /* made below, writable */
	t = arena_new(s->arena, struct ctype);
	n = t ? add_name(s, kind, name) : NULL;
	if (!n)
		return NULL;
	*t = (struct ctype){.kind = kind, .name = name, .is_declaration = true};
	n->type = t;
	return t;
}

static bool scope_constant(void *self, struct str name, int64_t *value)
{
	const struct c_scope *s = self;
	const struct ctype *type;

	return c_scope_constant(s, name, &type, value) ||
	       (s->constant && s->constant(s->self, name, value));
}

static int scope_add_constant(void *self, struct str name, const struct ctype *type, int64_t value)
{
	struct c_name *n = add_name(self, CTYPE_INTEGER, name);

	if (!n)
		return -ENOMEM;
	n->type = type;
	n->value = value;
	return 0;
}

static struct c_parser scope_parser(struct c_scope *s, struct str path, struct str text, size_t at,
				    struct diag *d)
{
	struct c_parser p = {
		.lexer = {.path = path,
			  .text = text,
			  .at = at,
			  .arena = s->arena,
			  .diag = d,
			  .ends_at_hash = true},
		.arena = s->arena,
		.machine = &s->machine,
		.names = {.self = s,
			  .find_typedef = scope_typedef,
			  .tag = scope_tag,
			  .constant = scope_constant,
			  .add_constant = scope_add_constant},
	};

	parser_start(&p);
	return p;
}

/* name = specifiers [declarator without a name] */
int c_scope_type_name(struct c_scope *s, struct str path, struct str text, size_t *at,
		      const struct ctype **out, struct diag *d)
{
	struct c_parser p = scope_parser(s, path, text, *at, d);
	struct specifiers specifiers = parser_specifiers(&p);
	struct declarator declared = parser_declarator(&p, &specifiers);

	if (!p.err && (declared.name.len || specifiers.storage.len))
		parser_fail(&p, declared.at, "bad-type", "'%.*s' is not a type",
			    STR_FMT(parser_taken_since(&p, specifiers.at.ptr)));
	if (p.err)
		return p.err;
	*out = declared.type;
	*at = (size_t)(p.tok.text.ptr - text.ptr);
	return 0;
}

int c_scope_value(struct c_scope *s, struct str path, struct str text, size_t at, int64_t *out,
		  struct diag *d)
{
	struct c_parser p = scope_parser(s, path, text, at, d);
	int64_t value = parser_constant(&p);

	if (!p.err && p.tok.kind != C_END)
		parser_expected(&p, "the end of a constant");
	if (!p.err)
		*out = value;
	return p.err;
}

/* declaration = specifiers [declarator {"," declarator}] ";", a definition's ";" may be missing:
 * each declarator of a typedef is a name */
int c_scope_read(struct c_scope *s, struct str path, struct str text, size_t *at, struct diag *d)
{
	struct c_parser p = scope_parser(s, path, text, *at, d);
	struct specifiers specifiers = parser_specifiers(&p);
	bool is_typedef, is_closed;

	is_typedef = str_eq_text(specifiers.storage, "typedef");
	is_closed = str_eq_text(p.last, "}") || str_eq_text(p.last, ")"); /* of attributes */
	while (!p.err && is_typedef && !parser_at(&p, ";")) {
		struct declarator declared = parser_declarator(&p, &specifiers);

		if (!declared.name.len)
			parser_expected(&p, "a name for the type");
		else if (!p.err && c_scope_typedef(s, declared.name, declared.type))
			return -ENOMEM;
		if (!parser_take(&p, ","))
			break;
	}
	if (!p.err && !parser_at(&p, ";") && (is_typedef || !is_closed))
		parser_expected(&p, "';' after a declaration");
	if (p.err)
		return p.err;
	*at = (size_t)(p.tok.text.ptr - text.ptr) + parser_at(&p, ";");
	return 0;
}
