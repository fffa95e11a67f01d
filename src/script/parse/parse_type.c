/* Types in expressions: casts, sizeof and offsetof. What a type is, is cparse's to say; here it is
 * kept apart from an expression in parentheses. */
#include "script/parse/parse.h"

#include <errno.h>

#include "base/array.h"
#include "script/parse/builtin.h"

/* What may follow the ")" of a cast. */
static bool starts_operand(const struct parser *p)
{
	static const enum token_kind starts[] = {
		TOKEN_INT,   TOKEN_STRING, TOKEN_WORD,	 TOKEN_MAP, TOKEN_VARIABLE,
		TOKEN_PARAM, TOKEN_PARAMS, TOKEN_LPAREN, TOKEN_NOT, TOKEN_BNOT,
		TOKEN_SUB,   TOKEN_MUL,	   TOKEN_BAND,	 TOKEN_INC, TOKEN_DEC,
	};

	for (size_t i = 0; i < COUNT(starts); i++)
		if (parse_is(p, starts[i]))
			return true;
	return false;
}

/* Does the current word begin a type? A word that is neither C's nor a type's may be a type of the
 * kernel, but is more often a value. */
static bool at_type(const struct parser *p)
{
	struct str word = p->token.text;

	return parse_is(p, TOKEN_WORD) && (is_specifier_word(word) || ctype_standard(word) ||
					   c_scope_type(&p->tree->types, CTYPE_NAMED, word));
}

/* Is this the name of a value or function of the language, or of a constant? */
static bool is_known_name(const struct parser *p, struct str name)
{
	const struct ctype *type;
	int64_t value;

	return function_find(p->builtins, name) ||
	       c_scope_constant(&p->tree->types, name, &type, &value) ||
	       str_eq_text(name, "true") || str_eq_text(name, "false");
}

/* Is this a word and then "*" or "[" number "]", up to the ")", as in "(name *)"? */
static bool at_unknown_type(const struct parser *p)
{
	struct parser look = *p;
	bool has_suffix = false;

	if (!parse_take(&look, TOKEN_WORD))
		return false;
	for (; parse_take(&look, TOKEN_MUL); has_suffix = true)
		;
	while (parse_take(&look, TOKEN_LBRACKET)) {
		has_suffix = true;
		parse_take(&look, TOKEN_INT);
		if (!parse_take(&look, TOKEN_RBRACKET))
			return false;
	}
	return parse_take(&look, TOKEN_RPAREN) && starts_operand(&look) && !look.err &&
	       (has_suffix || !is_known_name(p, p->token.text));
}

/* What a macro was passed as typeof(like), where its parameter or "struct" and the parameter is
 * here; NULL: it is not. The parser that has it is then before the parameter. */
static const struct expr *at_passed(struct parser *p)
{
	const struct expr *arg;

	if (parse_is_word(p, "struct") || parse_is_word(p, "union") || parse_is_word(p, "enum"))
		parse_advance(p);
	arg = parse_is(p, TOKEN_WORD) ? parse_macro_arg(p, p->token.text) : NULL;
	return arg && arg->kind == EXPR_TYPE && !arg->named ? arg : NULL;
}

/* The same, without a step of the parser and its messages. */
static const struct expr *passed_like(const struct parser *p)
{
	struct parser look = *p;
	const struct expr *like;

	look.d = look.lexer.d = NULL;
	like = at_passed(&look);
	return look.expansion_count == p->expansion_count ? like : NULL;
}

/* An expression whose type is asked for; a parameter may stand for one, and have "*" after it,
 * which is the type of the cast (T *)0. */
static struct expr *parse_like(struct parser *p)
{
	struct mark start = p->token.mark;
	struct expr *args[2], *e;

	if (!passed_like(p))
		return parse_expr(p);
	args[1] = at_passed(p)->args[0];
	parse_advance(p);
	if (!parse_is(p, TOKEN_MUL))
		return args[1];
	args[0] = expr_new(p, EXPR_INT, start, NULL, 0);
	e = expr_new(p, EXPR_CAST, start, args, 2);
	while (parse_take(p, TOKEN_MUL))
		e->number++;
	return e;
}

/* Where a type or an expression is expected: is it a type? */
static bool names_type(const struct parser *p)
{
	if (passed_like(p))
		return false;
	return at_type(p) || (parse_is(p, TOKEN_WORD) && !is_known_name(p, p->token.text) &&
			      !parse_macro_arg(p, p->token.text));
}

bool parse_at_typeof(const struct parser *p)
{
	return parse_is_word(p, "typeof");
}

/* typeof = "typeof" "(" ( type | expr ) ")"; one of the two is the result */
struct expr *parse_typeof(struct parser *p, const struct ctype **named)
{
	struct expr *like = NULL;

	parse_advance(p);
	parse_expect(p, TOKEN_LPAREN, "'('");
	if (parse_at_typeof(p))
		like = parse_typeof(p, named);
	else if (names_type(p))
		*named = parse_type_name(p);
	else
		like = parse_like(p);
	parse_expect(p, TOKEN_RPAREN, "')'");
	return like;
}

struct expr *parse_variable_type(struct parser *p, const struct ctype **named)
{
	if (parse_at_typeof(p))
		return parse_typeof(p, named);
	if (passed_like(p))
		return parse_like(p);
	*named = parse_type_name(p);
	return NULL;
}

struct expr *parse_type_arg(struct parser *p)
{
	struct mark start = p->token.mark;
	const struct ctype *named = NULL;
	struct expr *like = parse_typeof(p, &named);
	struct expr *e = expr_new(p, EXPR_TYPE, start, &like, !named);

	e->named = named;
	return e;
}

/* "(" ( typeof | parameter ) ")" unary */
static struct expr *parse_cast_like(struct parser *p)
{
	struct mark start = p->token.mark;
	const struct ctype *named = NULL;
	struct expr *args[2], *e;

	parse_advance(p);
	args[1] = parse_at_typeof(p) ? parse_typeof(p, &named) : parse_like(p);
	parse_expect(p, TOKEN_RPAREN, "')' after the type");
	args[0] = parse_unary(p);
	e = expr_new(p, EXPR_CAST, parse_join(start, args[0]->mark), args, named ? 1 : 2);
	e->named = named;
	return e;
}

/* "(" type ")", if this is a cast; then it is taken. "(pid)" is none. Two copies of the parser look
 * ahead without messages, of which neither leaves a macro or enters one. */
static const struct ctype *parse_cast_type(struct parser *p)
{
	const struct ctype *type;
	struct parser look;

	if (!parse_is(p, TOKEN_LPAREN))
		return NULL;
	look = *p;
	look.d = look.lexer.d = NULL;
	parse_advance(&look);
	if (look.expansion_count != p->expansion_count ||
	    (!at_type(&look) && !at_unknown_type(&look)))
		return NULL;
	parse_advance(p);
	type = parse_type_name(p);
	parse_expect(p, TOKEN_RPAREN, "')' after the type");
	return type;
}

/* cast = "(" ( type | typeof ) ")" unary; NULL: there is none here */
struct expr *parse_cast(struct parser *p)
{
	struct mark start = p->token.mark;
	struct parser look = *p;
	const struct ctype *type;
	struct expr *of, *e;

	look.d = look.lexer.d = NULL;
	if (parse_take(&look, TOKEN_LPAREN) && look.expansion_count == p->expansion_count &&
	    (parse_at_typeof(&look) || passed_like(&look)))
		return parse_cast_like(p);
	type = parse_cast_type(p);
	if (!type)
		return NULL;
	of = parse_unary(p);
	e = expr_new(p, EXPR_CAST, parse_join(start, of->mark), &of, 1);
	e->named = type;
	return e;
}

/* operand = "(" ( type | typeof | expr ); the ")" is still to come */
static struct expr *parse_typed(struct parser *p, enum expr_kind kind)
{
	struct mark start = p->token.mark;
	struct expr *args[1] = {NULL}, *e;
	const struct ctype *named = NULL;

	parse_advance(p);
	parse_expect(p, TOKEN_LPAREN, "'('");
	if (parse_at_typeof(p))
		args[0] = parse_typeof(p, &named);
	else if (names_type(p))
		named = parse_type_name(p);
	else
		args[0] = parse_like(p);
	e = expr_new(p, kind, parse_join(start, p->token.mark), args, !named);
	e->named = named;
	return e;
}

/* sizeof = "sizeof" operand ")" */
struct expr *parse_sizeof(struct parser *p)
{
	struct expr *e = parse_typed(p, EXPR_SIZEOF);

	parse_expect(p, TOKEN_RPAREN, "')'");
	return e;
}

/* members = "," word { "." word } ")", of what offsetof() looks into */
static void parse_members(struct parser *p, struct expr *e)
{
	struct buf path = BUF_INIT;

	parse_expect(p, TOKEN_COMMA, "','");
	do {
		buf_text(&path, path.len ? "." : "");
		buf_str(&path, p->token.text);
		parse_expect(p, TOKEN_WORD, "the name of a member");
	} while (parse_take(p, TOKEN_DOT));
	e->mark = parse_join(e->mark, p->token.mark);
	parse_expect(p, TOKEN_RPAREN, "')'");
	if (!p->err)
		e->text = arena_str(p->arena, buf_as_str(&path));
	buf_free(&path);
}

/* offsetof = "offsetof" operand members */
struct expr *parse_offsetof(struct parser *p)
{
	struct expr *e = parse_typed(p, EXPR_OFFSETOF);

	parse_members(p, e);
	return e;
}

static const struct ctype *pointer_to(struct parser *p, const struct ctype *to)
{
	struct ctype *t = arena_new(p->arena, struct ctype);

	if (!t) {
		parse_fail(p, -ENOMEM);
		return to;
	}
	*t = (struct ctype){.kind = CTYPE_POINTER, .to = to};
	return t;
}

static struct expr *cast_to(struct parser *p, const struct ctype *to, struct expr *of)
{
	struct expr *e = expr_new(p, EXPR_CAST, of->mark, &of, 1);

	e->named = pointer_to(p, to);
	return e;
}

/* container = "container_of" "(" expr "," type members; the same as (type *)((int8 *)expr -
 * offsetof(type, members)) */
struct expr *parse_container(struct parser *p)
{
	static const struct ctype byte = {
		.kind = CTYPE_INTEGER, .name = STR("int8"), .size = 1, .is_signed = true};
	struct mark start = p->token.mark;
	const struct ctype *named = NULL;
	struct expr *args[2], *e;

	parse_advance(p);
	parse_expect(p, TOKEN_LPAREN, "'('");
	args[0] = cast_to(p, &byte, parse_expr(p));
	parse_expect(p, TOKEN_COMMA, "','");
	if (!parse_is(p, TOKEN_WORD))
		parse_unexpected(p, "a type");
	named = parse_type_name(p);
	args[1] = expr_new(p, EXPR_OFFSETOF, start, NULL, 0);
	args[1]->named = named;
	parse_members(p, args[1]);
	args[1]->mark = parse_join(start, args[1]->mark);
	e = expr_new(p, EXPR_BINARY, args[1]->mark, args, 2);
	e->op = OPERATOR_SUB;
	return cast_to(p, named, e);
}
