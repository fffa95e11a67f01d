/* Expressions: text -> struct expr, by precedence climbing. */
#include "script/parse/parse.h"

#include <errno.h>

#include "base/array.h"
#include "script/parse/builtin.h"

#define MAX_ARGS 64 /* of a call, keys of a map, elements of a tuple */

/* clang-format off */
struct binary {
	enum token_kind token;
	enum operator op;
	int precedence; /* the higher binds tighter; all associate to the left */
};

static const struct binary binaries[] = {
	{ TOKEN_OR,   OPERATOR_OR,   1  },
	{ TOKEN_AND,  OPERATOR_AND,  2  },
	{ TOKEN_BOR,  OPERATOR_BOR,  3  },
	{ TOKEN_XOR,  OPERATOR_XOR,  4  },
	{ TOKEN_BAND, OPERATOR_BAND, 5  },
	{ TOKEN_EQ,   OPERATOR_EQ,   6  },
	{ TOKEN_NE,   OPERATOR_NE,   6  },
	{ TOKEN_LT,   OPERATOR_LT,   7  },
	{ TOKEN_LE,   OPERATOR_LE,   7  },
	{ TOKEN_GT,   OPERATOR_GT,   7  },
	{ TOKEN_GE,   OPERATOR_GE,   7  },
	{ TOKEN_SHL,  OPERATOR_SHL,  8  },
	{ TOKEN_SHR,  OPERATOR_SHR,  8  },
	{ TOKEN_ADD,  OPERATOR_ADD,  9  },
	{ TOKEN_SUB,  OPERATOR_SUB,  9  },
	{ TOKEN_MUL,  OPERATOR_MUL,  10 },
	{ TOKEN_DIV,  OPERATOR_DIV,  10 },
	{ TOKEN_MOD,  OPERATOR_MOD,  10 },
};

struct prefix {
	enum token_kind token;
	enum operator op;
};

static const struct prefix prefixes[] = {
	{ TOKEN_NOT,  OPERATOR_NOT  },
	{ TOKEN_BNOT, OPERATOR_BNOT },
	{ TOKEN_SUB,  OPERATOR_NEG  },
	{ TOKEN_MUL,  OPERATOR_LOAD },
	{ TOKEN_BAND, OPERATOR_ADDRESS },
	{ TOKEN_INC,  OPERATOR_INC  },
	{ TOKEN_DEC,  OPERATOR_DEC  },
};
/* clang-format on */

struct expr *expr_new(struct parser *p, enum expr_kind kind, struct mark mark, struct expr **args,
		      unsigned count)
{
	struct expr *e = p->err ? NULL : arena_new(p->arena, struct expr);
	struct expr **copy = e ? arena_array(p->arena, struct expr *, count + 1u) : NULL;

	parse_count_node(p);
	if (!copy) {
		parse_fail(p, -ENOMEM);
		return &p->no_expr;
	}
	*e = (struct expr){
		.kind = kind, .mark = mark, .arg_count = (uint16_t)count, .depth = 1, .args = copy};
	for (unsigned i = 0; i < count; i++) {
		copy[i] = args[i];
		if (args[i] && args[i]->depth >= e->depth)
			e->depth = args[i]->depth + 1;
	}
	/* The parser's own recursion is limited by parse_enter(). But a long a + b + c is parsed in
	 * a loop and is as deep as it is long, and what comes after the parser recurses. */
	if (e->depth > 2 * PARSE_MAX_DEPTH)
		parse_error(p, e->mark, "too-deep", "this expression is nested too deeply");
	return e;
}

/* One more expression, or typeof(T), of a list of at most MAX_ARGS. */
static void parse_item(struct parser *p, struct expr **args, unsigned *count)
{
	if (*count == MAX_ARGS)
		parse_error(p, p->token.mark, "too-many-args",
			    "too many expressions in one list: the limit is %d", MAX_ARGS);
	else
		args[(*count)++] = parse_at_typeof(p) ? parse_type_arg(p) : parse_expr(p);
}

/* list = ( expr ( "," expr )* )?, up to and with `close`, whose mark is returned */
static struct mark parse_list(struct parser *p, enum token_kind close, const char *what,
			      struct expr **args, unsigned *count)
{
	struct mark end;

	for (*count = 0; !p->err && !parse_is(p, close);) {
		if (*count)
			parse_expect(p, TOKEN_COMMA, what);
		parse_item(p, args, count);
	}
	end = p->token.mark;
	parse_advance(p);
	return end;
}

/* leaf = number | string | "$" number | "$#" | "$" word */
static struct expr *parse_leaf(struct parser *p, enum expr_kind kind)
{
	struct expr *e = expr_new(p, kind, p->token.mark, NULL, 0);

	e->number = p->token.number;
	e->text = p->token.text;
	parse_advance(p);
	return e;
}

/* map = "@" word? ( "[" list "]" )? */
static struct expr *parse_map(struct parser *p)
{
	struct expr *args[MAX_ARGS], *e;
	struct token name = p->token;
	struct mark end = name.mark;
	unsigned count = 0;

	parse_advance(p);
	if (parse_take(p, TOKEN_LBRACKET)) {
		if (parse_is(p, TOKEN_RBRACKET))
			parse_unexpected(p, "a key");
		end = parse_list(p, TOKEN_RBRACKET, "',' or ']'", args, &count);
	}
	e = expr_new(p, EXPR_MAP, parse_join(name.mark, end), args, count);
	e->text = name.text;
	parse_macro_map(p, e);
	return e;
}

static struct expr *copy_expr(struct parser *p, const struct expr *e);

static struct stmt *copy_body(struct parser *p, const struct stmt *s)
{
	struct stmt *first = NULL, **last = &first;

	for (; s && !p->err; s = s->next) {
		struct stmt *copy = arena_new(p->arena, struct stmt);

		parse_count_node(p);
		if (!copy) {
			parse_fail(p, -ENOMEM);
			break;
		}
		*copy = *s;
		copy->target = copy_expr(p, s->target);
		copy->value = copy_expr(p, s->value);
		copy->to = copy_expr(p, s->to);
		copy->body = copy_body(p, s->body);
		copy->other = copy_body(p, s->other);
		copy->next = NULL;
		*last = copy;
		last = &copy->next;
	}
	return first;
}

static struct expr *copy_expr(struct parser *p, const struct expr *e)
{
	struct expr *copy = e ? expr_new(p, e->kind, e->mark, e->args, e->arg_count) : NULL;
	struct expr **args = copy ? copy->args : NULL;

	if (!copy || p->err)
		return copy;
	*copy = *e;
	copy->args = args;
	for (unsigned i = 0; i < e->arg_count; i++)
		args[i] = copy_expr(p, e->args[i]);
	copy->body = copy_body(p, e->body);
	return copy;
}

/* A parameter's expression, at one of its uses. It has only a value: a macro does not change what
 * was passed by name. */
static struct expr *copy_arg(struct parser *p, const struct expr *arg)
{
	struct expr *copy = copy_expr(p, arg);

	if (arg->kind != EXPR_VARIABLE && arg->kind != EXPR_MAP)
		return copy;
	return expr_new(p, EXPR_BLOCK, arg->mark, &copy, 1);
}

/* The newest bpftrace has another name for some values: __builtin_pid. */
static struct str plain_name(const struct parser *p, struct str name)
{
	const struct str prefix = STR("__builtin_");
	struct str plain = name;

	if (str_starts(name, prefix))
		plain = str_of(name.ptr + prefix.len, name.len - prefix.len);
	return function_is_value(p->builtins, plain) ? plain : name;
}

static void refuse_exit(struct parser *p, const struct expr *e)
{
	if (parse_error(p, e->mark, "exit-in-loop", "'exit' cannot be in a 'for' loop"))
		diag_hint(p->d, "set a variable, 'break' and exit after the loop");
}

/* "(" of a call; "!(" is that of a macro, in some texts */
static bool take_call(struct parser *p)
{
	struct parser look;

	if (!parse_is(p, TOKEN_NOT))
		return parse_take(p, TOKEN_LPAREN);
	look = *p;
	look.d = look.lexer.d = NULL;
	parse_advance(&look);
	if (!parse_is(&look, TOKEN_LPAREN) || look.expansion_count != p->expansion_count)
		return false;
	parse_advance(p);
	return parse_take(p, TOKEN_LPAREN);
}

/* name = ( "args" | "ctx" ) ( "." | "->" ) word | word ( "!"? "(" list? ")" )? */
static struct expr *parse_name(struct parser *p)
{
	struct expr *args[MAX_ARGS], *e;
	struct token name = p->token;
	struct mark end = name.mark;
	enum expr_kind kind = EXPR_NAME;
	unsigned count = 0;

	name.text = plain_name(p, name.text);
	parse_advance(p);
	if ((str_eq_text(name.text, "args") || str_eq_text(name.text, "ctx")) &&
	    (parse_take(p, TOKEN_DOT) || parse_take(p, TOKEN_ARROW))) {
		kind = EXPR_FIELD;
		name.text = p->token.text;
		end = p->token.mark;
		parse_expect(p, TOKEN_WORD, "a field's name");
	} else if (take_call(p)) {
		kind = EXPR_CALL;
		end = parse_list(p, TOKEN_RPAREN, "',' or ')'", args, &count);
	}
	if (kind == EXPR_NAME && parse_macro_arg(p, name.text))
		return copy_arg(p, parse_macro_arg(p, name.text));
	e = kind == EXPR_FIELD
		    ? NULL
		    : parse_macro_use(p, name.text, parse_join(name.mark, end), args, count);
	if (e)
		return e;
	e = expr_new(p, kind, parse_join(name.mark, end), args, count);
	e->text = name.text;
	if (kind == EXPR_CALL && str_eq_text(name.text, "exit") && p->fors && !p->is_standard)
		refuse_exit(p, e);
	if (kind == EXPR_CALL && str_eq_text(name.text, "getopt"))
		parse_note_option(p, e);
	return e;
}

static struct expr *take_value(struct parser *p, struct stmt **body);

/* The statements of a block as an expression. */
static struct expr *block_of(struct parser *p, struct mark mark, struct stmt *body)
{
	struct expr *value = take_value(p, &body);
	struct expr *e = expr_new(p, EXPR_BLOCK, mark, &value, value ? 1 : 0);

	if (!p->err)
		e->body = body;
	return e;
}

static struct stmt **last_of(struct stmt **body)
{
	while (*body && (*body)->next)
		body = &(*body)->next;
	return body;
}

/* Does a block end with a value? An `if` is one when each of its branches ends with one. */
static bool ends_with_value(struct stmt *body)
{
	const struct stmt *s = *last_of(&body);

	if (!s || !s->is_last)
		return false;
	return s->kind == STMT_EXPR ||
	       (ends_with_value(s->body) && (s->kind == STMT_BLOCK || ends_with_value(s->other)));
}

/* The value at the end of a block, without which the statements go on as they are; NULL: there is
 * none. */
static struct expr *take_value(struct parser *p, struct stmt **body)
{
	struct stmt **last = last_of(body), *s = *last;
	struct expr *args[3];

	if (p->err || !ends_with_value(*body))
		return NULL;
	*last = NULL;
	if (s->kind == STMT_EXPR)
		return s->value;
	args[1] = block_of(p, s->mark, s->body);
	if (s->kind == STMT_BLOCK)
		return args[1];
	args[0] = s->value;
	args[2] = block_of(p, s->mark, s->other);
	return expr_new(p, EXPR_TERNARY, s->mark, args, 3);
}

/* block with a value = "{" statement* ( expr | if | block )? "}" */
struct expr *parse_block_value(struct parser *p)
{
	struct mark open = p->token.mark;
	struct stmt *body = parse_block(p);
	struct expr *e = block_of(p, parse_join(open, p->token.mark), body);

	parse_advance(p);
	return e;
}

/* if with a value = "if" expr block "else" ( if | block ) */
static struct expr *parse_if_value(struct parser *p)
{
	struct mark mark = p->token.mark;
	struct expr *args[3], *e;

	parse_enter(p);
	parse_advance(p);
	args[0] = parse_expr(p);
	args[1] = parse_block_value(p);
	if (!parse_is(p, TOKEN_WORD) || !str_eq_text(p->token.text, "else"))
		parse_unexpected(p, "'else'");
	parse_advance(p);
	args[2] = parse_is(p, TOKEN_WORD) && str_eq_text(p->token.text, "if")
			  ? parse_if_value(p)
			  : parse_block_value(p);
	e = expr_new(p, EXPR_TERNARY, parse_join(mark, args[2]->mark), args, 3);
	parse_leave(p);
	return e;
}

/* Is this a name and then "=", as in a record? The name of a value is more likely compared. */
static bool at_record(const struct parser *p)
{
	struct parser look;

	if (!parse_is(p, TOKEN_WORD) || function_is_value(p->builtins, p->token.text))
		return false;
	look = *p;
	look.d = look.lexer.d = NULL;
	parse_advance(&look);
	return parse_is(&look, TOKEN_ASSIGN);
}

static void note_part(struct parser *p, struct buf *names)
{
	struct str rest = buf_as_str(names);

	while (rest.len)
		if (str_eq(str_cut(&rest, ' '), p->token.text))
			parse_error(p, p->token.mark, "duplicate-part",
				    "the record has two parts '%.*s'", STR_FMT(p->token.text));
	buf_printf(names, "%s%.*s", names->len ? " " : "", STR_FMT(p->token.text));
}

/* record = "(" word "=" expr ( "," word "=" expr )* ","? ")", after its "(" */
static struct expr *parse_record(struct parser *p, struct mark open)
{
	struct expr *args[MAX_ARGS], *e;
	struct buf names = BUF_INIT;
	unsigned count = 0;
	struct mark end;

	do {
		note_part(p, &names);
		parse_expect(p, TOKEN_WORD, "the name of a part");
		parse_expect(p, TOKEN_ASSIGN, "'='");
		parse_item(p, args, &count);
	} while (parse_take(p, TOKEN_COMMA) && !parse_is(p, TOKEN_RPAREN));
	end = p->token.mark;
	parse_expect(p, TOKEN_RPAREN, "',' or ')'");
	e = expr_new(p, EXPR_TUPLE, parse_join(open, end), args, count);
	if (!p->err)
		e->text = arena_str(p->arena, buf_as_str(&names));
	buf_free(&names);
	return e;
}

/* paren = "(" expr ")" ; tuple = "(" ")" | "(" expr "," list? ")" ; record */
static struct expr *parse_paren(struct parser *p)
{
	struct expr *args[MAX_ARGS];
	struct mark open = p->token.mark, end;
	unsigned count = 0;

	parse_advance(p);
	if (at_record(p))
		return parse_record(p, open);
	if (parse_is(p, TOKEN_RPAREN)) {
		struct expr *e = expr_new(p, EXPR_TUPLE, parse_join(open, p->token.mark), NULL, 0);

		parse_advance(p);
		return e;
	}
	parse_item(p, args, &count);
	if (parse_take(p, TOKEN_RPAREN))
		return args[0];
	while (parse_take(p, TOKEN_COMMA) && !parse_is(p, TOKEN_RPAREN))
		parse_item(p, args, &count);
	end = p->token.mark;
	parse_expect(p, TOKEN_RPAREN, "',' or ')'");
	return expr_new(p, EXPR_TUPLE, parse_join(open, end), args, count);
}

/* primary = leaf | map | name | paren | block | if | sizeof | offsetof */
static struct expr *parse_primary(struct parser *p)
{
	struct expr *e;

	switch (p->token.kind) {
	case TOKEN_INT: return parse_leaf(p, EXPR_INT);
	case TOKEN_STRING: return parse_leaf(p, EXPR_STRING);
	case TOKEN_PARAM: return parse_leaf(p, EXPR_PARAM);
	case TOKEN_PARAMS: return parse_leaf(p, EXPR_PARAMS);
	case TOKEN_VARIABLE:
		e = parse_leaf(p, EXPR_VARIABLE);
		parse_macro_variable(p, e);
		return e;
	case TOKEN_LBRACE: return parse_block_value(p);
	case TOKEN_MAP: return parse_map(p);
	case TOKEN_WORD:
		if (str_eq_text(p->token.text, "sizeof"))
			return parse_sizeof(p);
		if (str_eq_text(p->token.text, "if"))
			return parse_if_value(p);
		if (str_eq_text(p->token.text, "offsetof"))
			return parse_offsetof(p);
		if (parse_is_word(p, "container_of"))
			return parse_container(p);
		if (parse_at_typeof(p))
			parse_error(p, p->token.mark, "typeof-value",
				    "'typeof' stands for a type: write (typeof($x))y");
		return parse_name(p);
	case TOKEN_LPAREN: return parse_paren(p);
	default: parse_unexpected(p, "an expression"); return &p->no_expr;
	}
}

/* *(&$v) and (&$v)->x are $v and $v.x: neither it nor a map is in memory. */
static struct expr *expr_behind(struct expr *e)
{
	return expr_refers(e) ? e->args[0] : e;
}

/* element = postfix "." number ; member = postfix ( "." | "->" ) word */
static struct expr *parse_element(struct parser *p, struct expr *of)
{
	struct token index;
	struct expr *e;

	parse_advance(p);
	of = expr_behind(of);
	index = p->token;
	if (parse_take(p, TOKEN_WORD)) {
		e = expr_new(p, EXPR_MEMBER, parse_join(of->mark, index.mark), &of, 1);
		e->text = index.text;
		return e;
	}
	parse_expect(p, TOKEN_INT, "a number or the name of a member");
	e = expr_new(p, EXPR_ELEMENT, parse_join(of->mark, index.mark), &of, 1);
	e->number = index.number;
	return e;
}

/* index = postfix "[" expr "]" */
static struct expr *parse_index(struct parser *p, struct expr *of)
{
	struct expr *args[2] = {of};
	struct mark end;

	parse_advance(p);
	args[1] = parse_expr(p);
	end = p->token.mark;
	parse_expect(p, TOKEN_RBRACKET, "']'");
	return expr_new(p, EXPR_INDEX, parse_join(of->mark, end), args, 2);
}

/* step = postfix ( "++" | "--" ) */
static struct expr *parse_step(struct parser *p, struct expr *of)
{
	struct expr *e = expr_new(p, EXPR_STEP, parse_join(of->mark, p->token.mark), &of, 1);

	e->op = parse_is(p, TOKEN_INC) ? OPERATOR_INC : OPERATOR_DEC;
	e->is_postfix = true;
	parse_advance(p);
	return e;
}

/* postfix = primary ( element | member | index | step )* */
struct expr *parse_postfix(struct parser *p)
{
	struct expr *e = parse_primary(p);

	for (;;) {
		if (parse_is(p, TOKEN_DOT) || parse_is(p, TOKEN_ARROW))
			e = parse_element(p, e);
		else if (parse_is(p, TOKEN_LBRACKET))
			e = parse_index(p, e);
		else if (parse_is(p, TOKEN_INC) || parse_is(p, TOKEN_DEC))
			e = parse_step(p, e);
		else
			return e;
	}
}

/* prefix = ( "!" | "~" | "-" | "*" | "&" | "++" | "--" ) unary
 * unary = prefix | "+" unary | "comptime" unary | cast | postfix */
struct expr *parse_unary(struct parser *p)
{
	struct mark mark = p->token.mark;
	const struct prefix *prefix = prefixes, *end = prefix + COUNT(prefixes);
	struct expr *of, *cast, *e;

	parse_enter(p);
	while (prefix < end && !parse_is(p, prefix->token))
		prefix++;
	if (prefix < end) {
		bool is_step = prefix->op == OPERATOR_INC || prefix->op == OPERATOR_DEC;

		parse_advance(p);
		of = parse_unary(p);
		if (prefix->op == OPERATOR_LOAD && expr_refers(of)) {
			e = expr_behind(of);
		} else {
			e = expr_new(p, is_step ? EXPR_STEP : EXPR_UNARY,
				     parse_join(mark, of->mark), &of, 1);
			e->op = prefix->op;
		}
	} else if (parse_take(p, TOKEN_ADD)) {
		e = parse_unary(p);
	} else if (parse_is(p, TOKEN_WORD) && str_eq_text(p->token.text, "comptime")) {
		parse_advance(p);
		e = parse_unary(p);
		e->is_comptime = true;
	} else {
		cast = parse_cast(p);
		e = cast ? cast : parse_postfix(p);
	}
	parse_leave(p);
	return e;
}

static const struct binary *binary_here(const struct parser *p, int precedence)
{
	for (size_t i = 0; i < COUNT(binaries); i++)
		if (parse_is(p, binaries[i].token) && binaries[i].precedence >= precedence)
			return &binaries[i];
	return NULL;
}

/* binary = unary ( operator binary )*, operators of at least `precedence` */
static struct expr *parse_binary(struct parser *p, int precedence)
{
	struct expr *e = parse_unary(p);
	const struct binary *b;

	while ((b = binary_here(p, precedence))) {
		struct expr *args[2] = {e};

		parse_advance(p);
		args[1] = parse_binary(p, b->precedence + 1);
		e = expr_new(p, EXPR_BINARY, parse_join(args[0]->mark, args[1]->mark), args, 2);
		e->op = b->op;
	}
	return e;
}

/* expr = binary ( "?" expr? ":" expr )? */
struct expr *parse_expr(struct parser *p)
{
	struct expr *args[3] = {NULL, NULL, NULL}, *e;

	parse_enter(p);
	e = args[0] = parse_binary(p, 1);
	if (parse_take(p, TOKEN_QUESTION)) {
		if (!parse_is(p, TOKEN_COLON))
			args[1] = parse_expr(p);
		parse_expect(p, TOKEN_COLON, "':'");
		args[2] = parse_expr(p);
		e = expr_new(p, EXPR_TERNARY, parse_join(args[0]->mark, args[2]->mark), args, 3);
	}
	parse_leave(p);
	return e;
}
