/* Macros: a name for a block. A use of one is the block, parsed again with the arguments in place
 * of the parameters. The block's own variables get names of their own, so that they are none of the
 * caller's; maps are the caller's and must be passed. */
#include "script/parse/macro.h"

#include <errno.h>

#include "script/parse/builtin.h"

#define MAX_CALLS 16 /* macros and functions that use others */

/* param = "$" word | "@" word | word */
static void parse_param(struct parser *p, struct macro *m)
{
	struct macro_param *param = &m->params[m->count];

	if (m->count == MACRO_PARAMS) {
		parse_error(p, p->token.mark, "too-many-args", "a macro has at most %d parameters",
			    MACRO_PARAMS);
		return;
	}
	param->kind = parse_is(p, TOKEN_VARIABLE) ? EXPR_VARIABLE
		      : parse_is(p, TOKEN_MAP)	  ? EXPR_MAP
						  : EXPR_NAME;
	if (param->kind == EXPR_NAME && !parse_is(p, TOKEN_WORD))
		parse_unexpected(p, "a parameter");
	param->name = p->token.text;
	for (unsigned i = 0; i < m->count; i++)
		if (m->params[i].kind == param->kind && str_eq(m->params[i].name, param->name))
			parse_error(p, p->token.mark, "macro-params",
				    "the macro has two parameters '%.*s'", STR_FMT(param->name));
	if (param->kind == EXPR_NAME && function_is_value(p->builtins, param->name))
		parse_error(p, p->token.mark, "macro-params",
			    "'%.*s' is a builtin and cannot be a parameter", STR_FMT(param->name));
	m->count++;
	parse_advance(p);
}

/* params = "(" ( param ( "," param )* )? ")"; the lexer is then before the brace of the block */
static void parse_params(struct parser *p, struct macro *m)
{
	parse_expect(p, TOKEN_LPAREN, "'('");
	while (!p->err && !parse_is(p, TOKEN_RPAREN)) {
		if (m->count)
			parse_expect(p, TOKEN_COMMA, "',' or ')'");
		parse_param(p, m);
	}
	m->body = p->lexer; /* the token to come is the brace */
	parse_expect(p, TOKEN_RPAREN, "')'");
}

void parse_skip_block(struct parser *p)
{
	struct mark brace = p->token.mark;
	unsigned depth = 0;

	if (!parse_is(p, TOKEN_LBRACE))
		parse_unexpected(p, "'{'");
	for (; !p->err; parse_advance(p)) {
		depth += parse_is(p, TOKEN_LBRACE);
		depth -= parse_is(p, TOKEN_RBRACE);
		if (!depth)
			break;
		if (parse_is(p, TOKEN_END))
			parse_error(p, brace, "open-block", "this '{' is never closed");
	}
}

bool macro_same_params(const struct macro *a, const struct macro *b)
{
	if (a->count != b->count)
		return false;
	for (unsigned i = 0; i < a->count; i++)
		if (a->params[i].kind != b->params[i].kind)
			return false;
	return true;
}

/* macro = "macro" word params block; the block is only skipped */
static struct macro *read_macro(struct parser *p)
{
	struct macro *m = arena_new(p->arena, struct macro);

	if (!m) {
		parse_fail(p, -ENOMEM);
		return NULL;
	}
	parse_advance(p);
	m->name = p->token.text;
	m->mark = p->token.mark;
	parse_expect(p, TOKEN_WORD, "a macro's name");
	parse_params(p, m);
	parse_skip_block(p);
	return m;
}

void macro_add(struct parser *p, struct macro *m)
{
	if (m && p->is_survey) {
		m->next = p->macros;
		p->macros = m;
		return;
	}
	for (const struct macro *other = p->macros; m && other && !p->err; other = other->next)
		if (other->mark.at < m->mark.at && str_eq(other->name, m->name) &&
		    macro_same_params(other, m))
			parse_error(p, m->mark, "duplicate-macro",
				    "there is a macro '%.*s' with such parameters already",
				    STR_FMT(m->name));
}

void parse_macro(struct parser *p)
{
	macro_add(p, read_macro(p));
}

static bool macro_fits(const struct macro *m, struct expr *const *args, unsigned count)
{
	if (m->count != count)
		return false;
	for (unsigned i = 0; i < count; i++) {
		enum expr_kind kind = m->params[i].kind;

		if (kind != EXPR_NAME && !m->is_function &&
		    (args[i]->kind != kind || (kind == EXPR_MAP && args[i]->arg_count)))
			return false;
	}
	return true;
}

/* Parameters that take only variables or only maps: m($x) is rather m($a) than m(a). */
static unsigned count_signs(const struct macro *m)
{
	unsigned count = 0;

	for (unsigned i = 0; i < m->count; i++)
		count += m->params[i].kind != EXPR_NAME;
	return count;
}

/* One text of a builtin that is a macro: "(a, b) { a + b }". */
static void read_standard(struct parser *p, struct str name, const char *text, struct macro *m)
{
	struct lexer lexer = p->lexer;
	struct token token = p->token;
	unsigned expansions = p->expansion_count;
	bool was_standard = p->is_standard;

	m->name = name;
	m->is_standard = p->is_standard = true;
	p->lexer = (struct lexer){.text = str_from(text), .arena = p->arena, .d = p->d};
	p->expansion_count = 0;
	parse_advance(p);
	parse_params(p, m);
	p->lexer = lexer;
	p->expansion_count = expansions;
	p->is_standard = was_standard;
	if (!p->err)
		p->token = token;
}

/* NULL: there is none with such parameters. */
static const struct macro *find_standard(struct parser *p, struct str name, bool *is_known,
					 struct expr *const *args, unsigned count)
{
	for (const struct builtin_macro *b = p->builtins->macros; b->name; b++) {
		struct macro *m;

		if (!str_eq_text(name, b->name))
			continue;
		m = arena_new(p->arena, struct macro);
		*is_known = true;
		if (!m) {
			parse_fail(p, -ENOMEM);
			return NULL;
		}
		read_standard(p, name, b->text, m);
		if (macro_fits(m, args, count))
			return m;
	}
	return NULL;
}

/* NULL: there is none of this name. The script's own come before ours. */
static const struct macro *find_macro(struct parser *p, struct str name, struct mark mark,
				      struct expr *const *args, unsigned count)
{
	const struct macro *standard, *best = NULL;
	bool is_known = false;

	for (const struct macro *m = p->macros; m; m = m->next) {
		if (!str_eq(m->name, name))
			continue;
		if (macro_fits(m, args, count) && (!best || count_signs(m) > count_signs(best)))
			best = m;
		is_known = true;
	}
	if (best)
		return best;
	standard = find_standard(p, name, &is_known, args, count);
	if (!standard && is_known)
		parse_error(p, mark, "macro-args",
			    "no macro or function '%.*s' has such parameters", STR_FMT(name));
	return standard;
}

static void name_type(struct parser *p, enum ctype_kind kind, struct str name,
		      const struct ctype *t, bool ends)
{
	if (ends)
		c_scope_forget(&p->tree->types, kind, name);
	else if (c_scope_add(&p->tree->types, kind, name, t))
		parse_fail(p, -ENOMEM);
}

/* The types that a macro is passed have the names of its parameters, while its block is parsed. */
static void name_types(struct parser *p, const struct macro_call *call, bool ends)
{
	for (unsigned i = 0; i < call->macro->count; i++) {
		const struct ctype *t = call->args[i]->named;
		struct str name = call->macro->params[i].name;

		if (call->args[i]->kind != EXPR_TYPE || !t || call->macro->is_function)
			continue;
		name_type(p, CTYPE_NAMED, name, t, ends);
		if (t->kind == CTYPE_STRUCT || t->kind == CTYPE_UNION || t->kind == CTYPE_ENUM)
			name_type(p, t->kind, name, t, ends);
	}
}

struct expr *parse_macro_use(struct parser *p, struct str name, struct mark mark,
			     struct expr **args, unsigned count)
{
	const struct macro *m = p->err || !p->tree ? NULL : find_macro(p, name, mark, args, count);
	struct macro_call call = {
		.macro = m, .args = args, .number = p->macro_uses, .outer = p->macro};
	unsigned expansions = p->expansion_count;
	struct lexer lexer = p->lexer;
	struct token token = p->token;
	bool was_standard = p->is_standard;
	unsigned loops = p->loops, fors = p->fors;
	uint8_t returned = p->returned;
	struct expr *e;

	if (!m)
		return NULL;
	p->macro_uses++;
	for (const struct macro_call *c = p->macro; c; c = c->outer, call.depth++)
		if (c->macro == m)
			parse_error(p, mark, "macro-recursion", "'%.*s' uses itself",
				    STR_FMT(name));
	if (call.depth >= MAX_CALLS)
		parse_error(p, mark, "too-deep",
			    "macros and functions use others more than %d deep", MAX_CALLS);
	if (p->err)
		return &p->no_expr;
	p->macro = &call;
	if (m->is_standard && !was_standard)
		p->standard_use = mark;
	p->is_standard = m->is_standard;
	p->lexer = m->body;
	p->expansion_count = 0;
	p->loops = 0;
	name_types(p, &call, false);
	parse_advance(p);
	if (m->is_function)
		p->fors = p->returned = 0;
	e = m->is_function ? function_block(p, &call) : parse_block_value(p);
	name_types(p, &call, true);
	e->macro = m->is_standard ? MACRO_STANDARD : MACRO_OURS;
	p->loops = loops;
	p->fors = fors;
	p->returned = returned;
	p->macro = call.outer;
	p->is_standard = was_standard;
	p->expansion_count = expansions;
	p->lexer = lexer;
	if (!p->err)
		p->token = token;
	return e;
}

/* The argument of a parameter; NULL: there is no such parameter. */
static const struct expr *find_arg(const struct parser *p, enum expr_kind kind, struct str name)
{
	const struct macro_call *c = p->macro;

	for (unsigned i = 0; c && !c->macro->is_function && i < c->macro->count; i++)
		if (c->macro->params[i].kind == kind && str_eq(c->macro->params[i].name, name))
			return c->args[i];
	return NULL;
}

void parse_macro_variable(struct parser *p, struct expr *e)
{
	const struct expr *arg = find_arg(p, EXPR_VARIABLE, e->text);

	if (p->err || !p->macro)
		return;
	e->text = arg ? arg->text
		      : arena_printf(p->arena, "%.*s.%u", STR_FMT(e->text), p->macro->number);
	if (!e->text.ptr)
		parse_fail(p, -ENOMEM);
}

void parse_macro_map(struct parser *p, struct expr *e)
{
	const struct expr *arg = find_arg(p, EXPR_MAP, e->text);

	if (p->err || !p->macro || p->macro->macro->is_function)
		return;
	if (arg)
		e->text = arg->text;
	else if (parse_error(p, e->mark, "macro-map", "'@%.*s' is not a parameter of the macro",
			     STR_FMT(e->text)))
		diag_hint(p->d, "a macro reaches only the maps that are passed to it");
}

const struct expr *parse_macro_arg(const struct parser *p, struct str name)
{
	return find_arg(p, EXPR_NAME, name);
}

bool parse_in_macro(const struct parser *p)
{
	return p->macro;
}
