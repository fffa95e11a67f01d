/* Types in expressions: casts, sizeof and offsetof. What a type is, is cparse's to say; here it is
 * kept apart from an expression in parentheses. */
#include "script/parse.h"

#include "base/array.h"

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
	       (has_suffix || !parse_known_name(p->tree, p->token.text));
}

/* "(" type ")", if this is a cast; then it is taken. "(pid)" is none. Two copies of the parser look
 * ahead without messages, of which neither leaves a macro or enters one. */
const struct ctype *parse_cast_type(struct parser *p)
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

/* operand = "(" ( type | expr ); the ")" is still to come */
static struct expr *parse_typed(struct parser *p, enum expr_kind kind)
{
	struct mark start = p->token.mark;
	struct expr *args[1] = {NULL}, *e;
	const struct ctype *named = NULL;

	parse_advance(p);
	parse_expect(p, TOKEN_LPAREN, "'('");
	if (at_type(p) || (parse_is(p, TOKEN_WORD) && !parse_known_name(p->tree, p->token.text)))
		named = parse_type_name(p);
	else
		args[0] = parse_expr(p);
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

/* offsetof = "offsetof" operand "," word { "." word } ")" */
struct expr *parse_offsetof(struct parser *p)
{
	struct expr *e = parse_typed(p, EXPR_OFFSETOF);
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
	return e;
}
