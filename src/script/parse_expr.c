/* Expressions: text -> struct expr, by precedence climbing. */
#include "script/parse.h"

#include <errno.h>

#define MAX_ARGS 64 /* of a call, keys of a map, elements of a tuple */

struct binary {
	enum token_kind token;
	enum operator op;
	int precedence; /* the higher binds tighter; all associate to the left */
};

static const struct binary binaries[] = {
	{TOKEN_OR, OPERATOR_OR, 1},	{TOKEN_AND, OPERATOR_AND, 2},
	{TOKEN_BOR, OPERATOR_BOR, 3},	{TOKEN_XOR, OPERATOR_XOR, 4},
	{TOKEN_BAND, OPERATOR_BAND, 5}, {TOKEN_EQ, OPERATOR_EQ, 6},
	{TOKEN_NE, OPERATOR_NE, 6},	{TOKEN_LT, OPERATOR_LT, 7},
	{TOKEN_LE, OPERATOR_LE, 7},	{TOKEN_GT, OPERATOR_GT, 7},
	{TOKEN_GE, OPERATOR_GE, 7},	{TOKEN_SHL, OPERATOR_SHL, 8},
	{TOKEN_SHR, OPERATOR_SHR, 8},	{TOKEN_ADD, OPERATOR_ADD, 9},
	{TOKEN_SUB, OPERATOR_SUB, 9},	{TOKEN_MUL, OPERATOR_MUL, 10},
	{TOKEN_DIV, OPERATOR_DIV, 10},	{TOKEN_MOD, OPERATOR_MOD, 10},
};

struct prefix {
	enum token_kind token;
	enum operator op;
};

static const struct prefix prefixes[] = {
	{TOKEN_NOT, OPERATOR_NOT},  {TOKEN_BNOT, OPERATOR_BNOT}, {TOKEN_SUB, OPERATOR_NEG},
	{TOKEN_MUL, OPERATOR_LOAD}, {TOKEN_INC, OPERATOR_INC},	 {TOKEN_DEC, OPERATOR_DEC},
};

static struct mark join(struct mark a, struct mark b)
{
	return (struct mark){a.at, b.at + b.len - a.at};
}

/* A node over `args`; their array is copied. */
static int expr_new(struct parser *p, enum expr_kind kind, struct mark mark, struct expr **args,
		    unsigned count, struct expr **out)
{
	struct expr *e = arena_new(p->arena, struct expr);
	int err = parse_count_node(p);

	if (err)
		return err;
	if (!e)
		return -ENOMEM;
	e->kind = kind;
	e->mark = mark;
	e->arg_count = (uint16_t)count;
	e->depth = 1;
	e->args = count ? arena_array(p->arena, struct expr *, count) : NULL;
	if (count && !e->args)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		e->args[i] = args[i];
		if (args[i] && args[i]->depth >= e->depth)
			e->depth = args[i]->depth + 1;
	}
	if (e->depth > 2 * PARSE_MAX_DEPTH)
		return diag_error_at(p->d, -E2BIG, "too-deep", parse_span(p, e->mark),
				     "this expression is nested too deeply");
	*out = e;
	return 0;
}

/* list = ( expr ( "," expr )* )?, up to and with `close`, whose mark is *end */
static int parse_list(struct parser *p, enum token_kind close, const char *what, struct expr **args,
		      unsigned *count, struct mark *end)
{
	int err = 0;

	for (*count = 0; !err && !parse_is(p, close); (*count)++) {
		if (*count)
			err = parse_expect(p, TOKEN_COMMA, what);
		if (!err && *count == MAX_ARGS)
			return diag_error_at(
				p->d, -E2BIG, "too-many-args", parse_span(p, p->token.mark),
				"too many expressions in one list: the limit is %d", MAX_ARGS);
		if (!err)
			err = parse_expr(p, &args[*count]);
		if (err)
			return err;
	}
	*end = p->token.mark;
	return err ? err : parse_advance(p);
}

/* leaf = number | string | "$" number | "$#" | "$" word */
static int parse_leaf(struct parser *p, enum expr_kind kind, struct expr **out)
{
	struct token t = p->token;
	int err = expr_new(p, kind, t.mark, NULL, 0, out);

	if (err)
		return err;
	(*out)->number = t.number;
	(*out)->text = t.text;
	return parse_advance(p);
}

/* map = "@" word? ( "[" list "]" )? */
static int parse_map(struct parser *p, struct expr **out)
{
	struct expr *args[MAX_ARGS];
	struct token name = p->token;
	struct mark end = name.mark;
	unsigned count = 0;
	int err = parse_advance(p);

	if (!err && parse_is(p, TOKEN_LBRACKET)) {
		err = parse_advance(p);
		if (!err && parse_is(p, TOKEN_RBRACKET))
			return parse_unexpected(p, "a key");
		if (!err)
			err = parse_list(p, TOKEN_RBRACKET, "',' or ']'", args, &count, &end);
	}
	if (!err)
		err = expr_new(p, EXPR_MAP, join(name.mark, end), args, count, out);
	if (!err)
		(*out)->text = name.text;
	return err;
}

/* field = "args" ( "." | "->" ) word */
static int parse_field(struct parser *p, struct token args, struct expr **out)
{
	struct token name;
	int err = parse_advance(p);

	name = p->token;
	if (!err)
		err = parse_expect(p, TOKEN_WORD, "a field's name");
	if (!err)
		err = expr_new(p, EXPR_FIELD, join(args.mark, name.mark), NULL, 0, out);
	if (!err)
		(*out)->text = name.text;
	return err;
}

/* name = field | word ( "(" list? ")" )? */
static int parse_name(struct parser *p, struct expr **out)
{
	struct expr *args[MAX_ARGS];
	struct token name = p->token;
	struct mark end;
	unsigned count = 0;
	bool is_call;
	int err = parse_advance(p);

	if (err)
		return err;
	if (str_eq_text(name.text, "args") && (parse_is(p, TOKEN_DOT) || parse_is(p, TOKEN_ARROW)))
		return parse_field(p, name, out);
	is_call = parse_is(p, TOKEN_LPAREN);
	end = name.mark;
	if (is_call) {
		err = parse_advance(p);
		if (!err)
			err = parse_list(p, TOKEN_RPAREN, "',' or ')'", args, &count, &end);
	}
	if (!err)
		err = expr_new(p, is_call ? EXPR_CALL : EXPR_NAME, join(name.mark, end), args,
			       count, out);
	if (!err)
		(*out)->text = name.text;
	return err;
}

/* paren = "(" expr ")" ; tuple = "(" expr "," list? ")" */
static int parse_paren(struct parser *p, struct expr **out)
{
	struct expr *args[MAX_ARGS];
	struct mark open = p->token.mark, end;
	unsigned count = 1;
	int err = parse_advance(p);

	if (!err)
		err = parse_expr(p, &args[0]);
	if (err)
		return err;
	if (parse_is(p, TOKEN_RPAREN)) {
		*out = args[0];
		return parse_advance(p);
	}
	while (!err && parse_is(p, TOKEN_COMMA)) {
		err = parse_advance(p);
		if (!err && parse_is(p, TOKEN_RPAREN))
			break;
		if (!err && count == MAX_ARGS)
			return diag_error_at(
				p->d, -E2BIG, "too-many-args", parse_span(p, p->token.mark),
				"too many expressions in one list: the limit is %d", MAX_ARGS);
		if (!err)
			err = parse_expr(p, &args[count++]);
	}
	end = p->token.mark;
	if (!err)
		err = parse_expect(p, TOKEN_RPAREN, "',' or ')'");
	return err ? err : expr_new(p, EXPR_TUPLE, join(open, end), args, count, out);
}

/* primary = leaf | map | name | paren */
static int parse_primary(struct parser *p, struct expr **out)
{
	switch (p->token.kind) {
	case TOKEN_INT: return parse_leaf(p, EXPR_INT, out);
	case TOKEN_STRING: return parse_leaf(p, EXPR_STRING, out);
	case TOKEN_PARAM: return parse_leaf(p, EXPR_PARAM, out);
	case TOKEN_PARAMS: return parse_leaf(p, EXPR_PARAMS, out);
	case TOKEN_VARIABLE: return parse_leaf(p, EXPR_VARIABLE, out);
	case TOKEN_MAP: return parse_map(p, out);
	case TOKEN_WORD: return parse_name(p, out);
	case TOKEN_LPAREN: return parse_paren(p, out);
	default: return parse_unexpected(p, "an expression");
	}
}

/* element = postfix "." number */
static int parse_element(struct parser *p, struct expr **e)
{
	struct expr *of = *e;
	struct token index;
	int err = parse_advance(p);

	index = p->token;
	if (!err && parse_is(p, TOKEN_WORD))
		return diag_error_at(p->d, -EINVAL, "unsupported", parse_span(p, index.mark),
				     "fields of structs are not supported yet");
	if (!err)
		err = parse_expect(p, TOKEN_INT, "a number");
	if (!err)
		err = expr_new(p, EXPR_ELEMENT, join(of->mark, index.mark), &of, 1, e);
	if (!err)
		(*e)->number = index.number;
	return err;
}

/* index = postfix "[" expr "]" */
static int parse_index(struct parser *p, struct expr **e)
{
	struct expr *args[2] = {*e, NULL};
	struct mark end;
	int err = parse_advance(p);

	if (!err)
		err = parse_expr(p, &args[1]);
	end = p->token.mark;
	if (!err)
		err = parse_expect(p, TOKEN_RBRACKET, "']'");
	return err ? err : expr_new(p, EXPR_INDEX, join(args[0]->mark, end), args, 2, e);
}

/* step = postfix ( "++" | "--" ) */
static int parse_step(struct parser *p, struct expr **e)
{
	struct expr *of = *e;
	enum operator op = parse_is(p, TOKEN_INC) ? OPERATOR_INC : OPERATOR_DEC;
	int err = expr_new(p, EXPR_STEP, join(of->mark, p->token.mark), &of, 1, e);

	if (err)
		return err;
	(*e)->op = op;
	(*e)->is_postfix = true;
	return parse_advance(p);
}

/* postfix = primary ( element | index | step )* */
static int parse_postfix(struct parser *p, struct expr **out)
{
	int err = parse_primary(p, out);

	while (!err) {
		if (parse_is(p, TOKEN_DOT))
			err = parse_element(p, out);
		else if (parse_is(p, TOKEN_LBRACKET))
			err = parse_index(p, out);
		else if (parse_is(p, TOKEN_INC) || parse_is(p, TOKEN_DEC))
			err = parse_step(p, out);
		else if (parse_is(p, TOKEN_ARROW))
			return diag_error_at(p->d, -EINVAL, "unsupported",
					     parse_span(p, p->token.mark),
					     "fields of structs are not supported yet");
		else
			return 0;
	}
	return err;
}

/* Does a cast stand here: "(" type "*"* ")"? Then it is taken. "(pid)" is none. */
static int parse_cast_type(struct parser *p, struct shape *cast, bool *found)
{
	struct parser look = *p;
	struct diag *d = p->d;
	struct type type;
	struct str name;
	uint8_t pointers = 0;
	bool is_struct;

	*found = false;
	look.d = look.lexer.d = NULL;
	if (!parse_is(p, TOKEN_LPAREN) || parse_advance(&look) || !parse_is(&look, TOKEN_WORD))
		return 0;
	name = look.token.text;
	is_struct = str_eq_text(name, "struct") || str_eq_text(name, "union");
	if (is_struct)
		return diag_error_at(d, -EINVAL, "unsupported", parse_span(p, look.token.mark),
				     "casts to structs are not supported yet");
	if (!cast_type_find(name, &type) || parse_advance(&look))
		return 0;
	for (; parse_is(&look, TOKEN_MUL); pointers++)
		if (pointers == 8 || parse_advance(&look))
			return 0;
	if (!parse_is(&look, TOKEN_RPAREN) || parse_advance(&look))
		return 0;
	*cast = (struct shape){.type = type};
	if (pointers) {
		cast->type = type_int(8, false);
		cast->type.pointers = pointers;
		cast->type.target_size = (uint8_t)type.size;
		cast->type.target_is_signed = type.is_signed;
	}
	look.d = look.lexer.d = d;
	*p = look;
	*found = true;
	return 0;
}

static int parse_unary(struct parser *p, struct expr **out);

/* prefix = ( "!" | "~" | "-" | "*" | "++" | "--" ) unary */
static int parse_prefix(struct parser *p, enum operator op, struct expr **out)
{
	bool is_step = op == OPERATOR_INC || op == OPERATOR_DEC;
	struct mark mark = p->token.mark;
	struct expr *of = NULL;
	int err = parse_advance(p);

	if (!err)
		err = parse_unary(p, &of);
	if (!err)
		err = expr_new(p, is_step ? EXPR_STEP : EXPR_UNARY, join(mark, of->mark), &of, 1,
			       out);
	if (!err)
		(*out)->op = op;
	return err;
}

static int parse_unary_here(struct parser *p, struct expr **out)
{
	struct mark mark = p->token.mark;
	struct expr *of = NULL;
	struct shape cast;
	bool is_cast;
	int err;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (parse_is(p, prefixes[i].token))
			return parse_prefix(p, prefixes[i].op, out);
	if (parse_is(p, TOKEN_ADD)) {
		err = parse_advance(p);
		return err ? err : parse_unary(p, out);
	}
	err = parse_cast_type(p, &cast, &is_cast);
	if (err || !is_cast)
		return err ? err : parse_postfix(p, out);
	err = parse_unary(p, &of);
	if (!err)
		err = expr_new(p, EXPR_CAST, join(mark, of->mark), &of, 1, out);
	if (!err)
		(*out)->cast = cast;
	return err;
}

/* unary = prefix | "+" unary | "(" type "*"* ")" unary | postfix */
static int parse_unary(struct parser *p, struct expr **out)
{
	int err = parse_enter(p);

	if (err)
		return err;
	err = parse_unary_here(p, out);
	parse_leave(p);
	return err;
}

static const struct binary *binary_here(const struct parser *p, int precedence)
{
	for (size_t i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++)
		if (parse_is(p, binaries[i].token) && binaries[i].precedence >= precedence)
			return &binaries[i];
	return NULL;
}

/* binary = unary ( operator binary )*, operators of at least `precedence` */
static int parse_binary(struct parser *p, int precedence, struct expr **out)
{
	const struct binary *b;
	int err = parse_unary(p, out);

	while (!err && (b = binary_here(p, precedence))) {
		struct expr *args[2] = {*out, NULL};

		err = parse_advance(p);
		if (!err)
			err = parse_binary(p, b->precedence + 1, &args[1]);
		if (!err)
			err = expr_new(p, EXPR_BINARY, join(args[0]->mark, args[1]->mark), args, 2,
				       out);
		if (!err)
			(*out)->op = b->op;
	}
	return err;
}

static int parse_ternary(struct parser *p, struct expr **out)
{
	struct expr *args[3] = {NULL, NULL, NULL};
	int err = parse_binary(p, 1, &args[0]);

	if (err || !parse_is(p, TOKEN_QUESTION)) {
		*out = args[0];
		return err;
	}
	err = parse_advance(p);
	if (!err && !parse_is(p, TOKEN_COLON))
		err = parse_expr(p, &args[1]);
	if (!err)
		err = parse_expect(p, TOKEN_COLON, "':'");
	if (!err)
		err = parse_expr(p, &args[2]);
	return err ? err
		   : expr_new(p, EXPR_TERNARY, join(args[0]->mark, args[2]->mark), args, 3, out);
}

/* expr = binary ( "?" expr? ":" expr )? */
int parse_expr(struct parser *p, struct expr **out)
{
	int err = parse_enter(p);

	if (err)
		return err;
	err = parse_ternary(p, out);
	parse_leave(p);
	return err;
}
