/* C's declarators, what follows the specifiers: *argv[], (*done)(void *); and
 * lists of parameters. */
#include "cparse/cparse.h"

#include <errno.h>

#include "base/array.h"

/* A bound that is computed: "4" of [2 * 2]. */
static void parse_bound(struct c_parser *p, struct ctype *array)
{
	int64_t count;

	if (parser_at(p, "]"))
		return;
	count = parser_constant(p);
	if (count < 0)
		parser_fail(p, p->last, "bad-bound", "an array of %lld elements", (long long)count);
	if (!parser_at(p, "]"))
		parser_expected(p, "']'");
	array->bound = arena_printf(p->arena, "%lld", (long long)count);
	if (!array->bound.ptr)
		parser_stop(p, -ENOMEM);
}

/* suffix = { "[" [size] "]" } | "(" parameters ")" [suffix] */
static const struct ctype *parse_suffix(struct c_parser *p, const struct ctype *type)
{
	struct ctype *outer;

	if (!parser_at(p, "[") && !parser_at(p, "("))
		return type;
	outer = parser_new_type(p, parser_at(p, "[") ? CTYPE_ARRAY : CTYPE_FUNCTION, NULL);
	parser_enter(p);
	if (parser_take(p, "[")) {
		if (p->names.tag)
			parse_bound(p, outer);
		else
			outer->bound = parser_skip_to(p, "]");
		parser_advance(p);
	} else {
		outer->params = parser_params(p, &outer->variadic);
	}
	outer->to = parse_suffix(p, type);
	p->depth--;
	return outer;
}

/* Does the current "(" hold the rest of the declarator, or the parameters of a nameless function?
 */
static bool at_inner_declarator(const struct c_parser *p)
{
	if (!parser_at(p, "("))
		return false;
	if (p->next.kind != C_WORD)
		return parser_next_at(p, "*") || parser_next_at(p, "(") || parser_next_at(p, "[");
	return !is_specifier_word(p->next.text) && !parser_find_typedef(p, p->next.text);
}

void parser_refuse_dollar(struct c_parser *p)
{
	if (str_index(p->tok.text, '$') >= 0)
		parser_fail(p, p->tok.text, "bad-name", "'%.*s' is not a C identifier",
			    STR_FMT(p->tok.text));
}

/* declarator = { "*" { qualifier } } ( [name] suffix | "(" declarator ")" suffix ) */
static void parse_level(struct c_parser *p, const struct ctype *base, struct declarator *out)
{
	while (parser_take(p, "*")) {
		struct ctype *pointer = parser_new_type(p, CTYPE_POINTER, base);

		parser_qualifiers(p, &pointer->qualifiers);
		base = pointer;
	}
	if (at_inner_declarator(p)) {
		struct c_parser start = *p, end;

		/* What the inner declarator wraps is only known after it, so the suffix is read
		 * first. */
		parser_skip_brackets(p);
		base = parse_suffix(p, base);
		if (p->err)
			return;
		end = *p;
		*p = start;
		parser_enter(p);
		parser_advance(p);
		parse_level(p, base, out);
		parser_expect(p, ")", "to end the declarator");
		if (!p->err)
			*p = end;
		return;
	}
	if (p->tok.kind == C_WORD && !is_specifier_word(p->tok.text)) {
		parser_refuse_dollar(p);
		out->name = p->tok.text;
		parser_advance(p);
	}
	parser_attributes(p, &out->attributes);
	out->type = parse_suffix(p, base);
	parser_attributes(p, &out->attributes);
}

/* clang-format off */

/* What C forbids one level of a type to be made of. */
static const struct {
	enum ctype_kind outer, inner;
	const char *what;
} forbidden[] = {
	{ CTYPE_ARRAY,    CTYPE_VOID,     "an array of void"                    },
	{ CTYPE_ARRAY,    CTYPE_FUNCTION, "an array of functions"               },
	{ CTYPE_FUNCTION, CTYPE_ARRAY,    "a function that returns an array"    },
	{ CTYPE_FUNCTION, CTYPE_FUNCTION, "a function that returns a function"  },
};

/* clang-format on */

struct declarator parser_declarator(struct c_parser *p, const struct specifiers *s)
{
	const char *first = p->tok.text.ptr;
	struct declarator out = {.type = s->type};

	parse_level(p, s->type, &out);
	if (p->err)
		return out;
	out.at = p->last.ptr >= first ? parser_taken_since(p, first) : s->at;
	if (ctype_depth(out.type, MAX_DEPTH + 1) > MAX_DEPTH)
		parser_fail(p, out.at, "too-deep", "a type of more than %d levels", MAX_DEPTH);
	for (const struct ctype *t = out.type; t && !p->err && t->kind != CTYPE_NAMED; t = t->to) {
		enum ctype_kind inner = t->to ? ctype_resolve(t->to)->kind : CTYPE_INTEGER;

		for (size_t i = 0; i < COUNT(forbidden); i++)
			if (forbidden[i].outer == t->kind && forbidden[i].inner == inner)
				parser_fail(p, out.at, "bad-type", "no such type: %s",
					    forbidden[i].what);
	}
	return out;
}

/* parameters = "(" [ "void" | parameter {"," parameter} ["," "..."] ] ")"
 * parameter  = specifiers declarator */
struct ctype_param *parser_params(struct c_parser *p, bool *variadic)
{
	struct ctype_param *first = NULL, **end = &first, *param;

	*variadic = false;
	parser_expect(p, "(", "before the arguments");
	while (!p->err && !(parser_at(p, ")") && !first)) {
		const char *start = p->tok.text.ptr;
		struct specifiers s;
		struct declarator d;

		if (first && parser_take(p, "...")) {
			*variadic = true;
			break;
		}
		param = *end = parser_new(p, sizeof(*param));
		if (p->tok.kind != C_WORD)
			parser_expected(p, "the type of an argument");
		s = parser_specifiers(p);
		if (s.storage.len)
			parser_fail(p, s.storage, "bad-type", "an argument cannot be '%.*s'",
				    STR_FMT(s.storage));
		d = parser_declarator(p, &s);
		if (p->err)
			return NULL;
		*param = (struct ctype_param){
			.name = d.name, .type = d.type, .at = parser_taken_since(p, start)};
		if (param == first && !param->name.len && parser_at(p, ")") &&
		    param->type->kind == CTYPE_VOID && !param->type->qualifiers) {
			first = NULL;
			break;
		}
		if (ctype_resolve(param->type)->kind == CTYPE_VOID)
			parser_fail(p, param->at, "bad-void",
				    param->name.len ? "an argument cannot be void"
						    : "'void' must be the only argument");
		end = &param->next;
		if (!parser_take(p, ","))
			break;
	}
	if (!parser_take(p, ")"))
		parser_expected(p, *variadic ? "')' after '...'" : "',' or ')' after an argument");
	return first;
}
