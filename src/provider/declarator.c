/* C's declarators in a provider file, what stands behind the specifiers: *argv[], (*done)(void *);
 * and lists of arguments. */
#include <errno.h>

#include "provider/parse.h"

/* pointer = { "*" { qualifier } } */
static int parse_pointers(struct provider_parser *p, const struct ctype **type)
{
	int err = 0;

	while (!err && parser_at(p, "*")) {
		struct ctype *pointer = parser_new_type(p, CTYPE_POINTER, *type);

		if (!pointer)
			return -ENOMEM;
		*type = pointer;
		err = parser_advance(p);
		err = err ? err : parse_qualifiers(p, &pointer->qualifiers);
	}
	return err;
}

/* suffix = { "[" [size] "]" } | "(" arguments ")" [suffix] */
static int parse_suffix(struct provider_parser *p, const struct ctype **type)
{
	struct ctype *outer;
	struct ctype_param *args;
	int err = 0;

	if (!parser_at(p, "[") && !parser_at(p, "("))
		return 0;
	outer = parser_new_type(p, parser_at(p, "[") ? CTYPE_ARRAY : CTYPE_FUNCTION, NULL);
	if (!outer)
		return -ENOMEM;
	err = parser_enter(p);
	if (!err && outer->kind == CTYPE_ARRAY) {
		err = parser_advance(p);
		err = err ? err : parser_skip_to(p, "]", &outer->bound);
		err = err ? err : parser_advance(p);
	} else if (!err) {
		err = parse_args(p, &args, &outer->variadic);
		outer->params = err ? NULL : args;
	}
	err = err ? err : parse_suffix(p, type);
	p->depth--;
	if (err)
		return err;
	outer->to = *type;
	*type = outer;
	return 0;
}

/* Does the "(" at hand hold the rest of the declarator, or the arguments of a nameless function? */
static bool at_inner_declarator(const struct provider_parser *p)
{
	if (!parser_at(p, "("))
		return false;
	if (p->next.kind != TOKEN_WORD)
		return parser_next_at(p, "*") || parser_next_at(p, "(") || parser_next_at(p, "[");
	return !is_specifier_word(p->next.text) && !provider_find_typedef(p->file, p->next.text);
}

static int parse_declarator_of(struct provider_parser *p, const struct ctype *base,
			       struct declarator *out);

/* "(" declarator ")" suffix
 * What the inner declarator wraps is only known behind it, so the suffix is read first. */
static int parse_inner_declarator(struct provider_parser *p, const struct ctype *base,
				  struct declarator *out)
{
	struct provider_parser start = *p, behind;
	int err = parser_skip_brackets(p);

	err = err ? err : parse_suffix(p, &base);
	behind = *p;
	*p = start;
	err = err ? err : parser_enter(p);
	err = err ? err : parser_advance(p);
	err = err ? err : parse_declarator_of(p, base, out);
	err = err ? err : parser_expect(p, ")", "to end the declarator");
	if (!err)
		*p = behind;
	return err;
}

/* declarator = pointer ( [name] suffix | "(" declarator ")" suffix ) */
static int parse_declarator_of(struct provider_parser *p, const struct ctype *base,
			       struct declarator *out)
{
	int err = parse_pointers(p, &base);

	if (!err && at_inner_declarator(p))
		return parse_inner_declarator(p, base, out);
	if (!err && p->tok.kind == TOKEN_WORD && !is_specifier_word(p->tok.text)) {
		if (str_index(p->tok.text, '$') >= 0)
			return parser_fail(p, p->tok.text, "bad-name",
					   "'%.*s' is not a C identifier", STR_FMT(p->tok.text));
		out->name = p->tok.text;
		err = parser_advance(p);
	}
	err = err ? err : parse_attributes(p);
	err = err ? err : parse_suffix(p, &base);
	out->type = base;
	return err ? err : parse_attributes(p);
}

/* What C forbids one level of a type to be made of. */
static int check_level(struct provider_parser *p, struct str at, const struct ctype *t)
{
	enum ctype_kind inner = t->to ? ctype_resolve(t->to)->kind : CTYPE_INTEGER;
	const char *what = NULL;

	if (t->kind == CTYPE_ARRAY && inner == CTYPE_VOID)
		what = "an array of void";
	else if (t->kind == CTYPE_ARRAY && inner == CTYPE_FUNCTION)
		what = "an array of functions";
	else if (t->kind == CTYPE_FUNCTION && inner == CTYPE_ARRAY)
		what = "a function that returns an array";
	else if (t->kind == CTYPE_FUNCTION && inner == CTYPE_FUNCTION)
		what = "a function that returns a function";
	return what ? parser_fail(p, at, "bad-type", "no such type: %s", what) : 0;
}

int parse_declarator(struct provider_parser *p, const struct specifiers *s, struct declarator *out)
{
	const char *first = p->tok.text.ptr;
	int err;

	*out = (struct declarator){.type = s->type};
	err = parse_declarator_of(p, s->type, out);
	if (err)
		return err;
	out->at = p->last.ptr >= first ? parser_taken_since(p, first) : s->at;
	if (ctype_depth(out->type, MAX_DEPTH + 1) > MAX_DEPTH)
		return parser_fail(p, out->at, "too-deep", "a type of more than %d levels",
				   MAX_DEPTH);
	for (const struct ctype *t = out->type; t && !err && t->kind != CTYPE_NAMED; t = t->to)
		err = check_level(p, out->at, t);
	return err;
}

/* A void in a list says something only alone. */
static int check_void(struct provider_parser *p, const struct ctype_param *arg)
{
	if (ctype_resolve(arg->type)->kind != CTYPE_VOID)
		return 0;
	return parser_fail(p, arg->at, "bad-void",
			   arg->name.len ? "an argument cannot be void"
					 : "'void' must be the only argument");
}

/* argument = specifiers declarator */
static int parse_arg(struct provider_parser *p, struct ctype_param **out)
{
	const char *first = p->tok.text.ptr;
	struct ctype_param *arg = arena_new(&p->file->arena, struct ctype_param);
	struct specifiers s;
	struct declarator d;
	int err;

	if (!arg)
		return -ENOMEM;
	if (p->tok.kind != TOKEN_WORD)
		return parser_expected(p, "the type of an argument");
	err = parse_specifiers(p, &s);
	if (!err && s.storage.len)
		return parser_fail(p, s.storage, "bad-type", "an argument cannot be '%.*s'",
				   STR_FMT(s.storage));
	err = err ? err : parse_declarator(p, &s, &d);
	if (err)
		return err;
	*arg = (struct ctype_param){
		.name = d.name, .type = d.type, .at = parser_taken_since(p, first)};
	*out = arg;
	return 0;
}

static bool is_lone_void(const struct provider_parser *p, const struct ctype_param *first)
{
	return first && !first->next && !first->name.len && parser_at(p, ")") &&
	       first->type->kind == CTYPE_VOID && !first->type->qualifiers;
}

/* arguments = "(" [ "void" | argument {"," argument} ["," "..."] ] ")" */
int parse_args(struct provider_parser *p, struct ctype_param **out, bool *variadic)
{
	struct ctype_param *first = NULL, **end = &first;
	int err = parser_expect(p, "(", "before the arguments");

	*variadic = false;
	while (!err && !(parser_at(p, ")") && !first)) {
		if (parser_at(p, "...") && first) {
			*variadic = true;
			err = parser_advance(p);
			break;
		}
		err = parse_arg(p, end);
		if (err)
			return err;
		if (is_lone_void(p, first)) {
			first = NULL;
			break;
		}
		err = check_void(p, *end);
		end = &(*end)->next;
		if (err || !parser_at(p, ","))
			break;
		err = parser_advance(p);
	}
	if (!err && !parser_at(p, ")"))
		return parser_expected(p, *variadic ? "')' after '...'"
						    : "',' or ')' after an argument");
	*out = first;
	return err ? err : parser_advance(p);
}
