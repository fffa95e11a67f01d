/* Statements and blocks. */
#include "script/parse/parse.h"

#include <errno.h>

#include "base/array.h"

struct assignment {
	enum token_kind token;
	enum operator op;
};

/* clang-format off */
static const struct assignment assignments[] = {
	{ TOKEN_ASSIGN,      OPERATOR_NONE },
	{ TOKEN_ADD_ASSIGN,  OPERATOR_ADD  },
	{ TOKEN_SUB_ASSIGN,  OPERATOR_SUB  },
	{ TOKEN_MUL_ASSIGN,  OPERATOR_MUL  },
	{ TOKEN_DIV_ASSIGN,  OPERATOR_DIV  },
	{ TOKEN_MOD_ASSIGN,  OPERATOR_MOD  },
	{ TOKEN_BAND_ASSIGN, OPERATOR_BAND },
	{ TOKEN_BOR_ASSIGN,  OPERATOR_BOR  },
	{ TOKEN_XOR_ASSIGN,  OPERATOR_XOR  },
	{ TOKEN_SHL_ASSIGN,  OPERATOR_SHL  },
	{ TOKEN_SHR_ASSIGN,  OPERATOR_SHR  },
};
/* clang-format on */

static struct stmt *parse_statement(struct parser *p);

/* block = "{" statement* "}" */
struct stmt *parse_block(struct parser *p)
{
	struct stmt *first = NULL, **last = &first;
	struct mark open = p->token.mark;

	parse_expect(p, TOKEN_LBRACE, "'{'");
	while (!parse_is(p, TOKEN_RBRACE) && !parse_is(p, TOKEN_END)) {
		if (parse_take(p, TOKEN_SEMICOLON))
			continue;
		*last = parse_statement(p);
		last = &(*last)->next;
	}
	if (parse_is(p, TOKEN_END))
		parse_error(p, open, "open-block", "this '{' is never closed");
	return first;
}

/* block, and the token after it */
static struct stmt *parse_inner_block(struct parser *p)
{
	struct stmt *body = parse_block(p);

	parse_advance(p);
	return body;
}

/* The end of a simple statement: ";", which may be left out before "}". */
void parse_semicolon(struct parser *p)
{
	if (!parse_is(p, TOKEN_RBRACE) && !parse_is(p, TOKEN_END))
		parse_expect(p, TOKEN_SEMICOLON, "';' or '}'");
}

/* if = "if" expr block ( "else" ( if | block ) )? */
static void parse_if(struct parser *p, struct stmt *s)
{
	s->value = parse_expr(p);
	s->body = parse_inner_block(p);
	if (!parse_is_word(p, "else"))
		return;
	parse_advance(p);
	s->other = parse_is_word(p, "if") ? parse_statement(p) : parse_inner_block(p);
}

static struct stmt *parse_loop_block(struct parser *p)
{
	struct stmt *body;

	p->loops++;
	body = parse_inner_block(p);
	p->loops--;
	return body;
}

/* unroll = "unroll" expr block ; while = "while" expr block */
static void parse_repeat(struct parser *p, struct stmt *s)
{
	s->value = parse_expr(p);
	s->body = parse_loop_block(p);
}

static struct expr *parse_variable(struct parser *p)
{
	if (!parse_is(p, TOKEN_VARIABLE))
		parse_unexpected(p, "a variable");
	return parse_expr(p);
}

static bool ends_bound(const struct parser *p)
{
	return parse_is(p, TOKEN_RANGE) || parse_is(p, TOKEN_RPAREN) || parse_is(p, TOKEN_LBRACE) ||
	       parse_is(p, TOKEN_END);
}

/* bound = cast | postfix */
static struct expr *parse_bound(struct parser *p)
{
	struct mark mark = p->token.mark;
	bool is_negative = parse_is(p, TOKEN_SUB);
	struct expr *e = is_negative ? &p->no_expr : parse_cast(p);

	if (!e)
		e = parse_postfix(p);
	if ((is_negative || !ends_bound(p)) &&
	    parse_error(p, mark, "syntax", "a bound that is computed needs parentheses"))
		diag_hint(p->d, "write 0..($n + 1)");
	return e;
}

/* for = "for" "("? variable ":" ( bound ".." bound | map ) ")"? block */
static void parse_for(struct parser *p, struct stmt *s)
{
	bool in_paren = parse_take(p, TOKEN_LPAREN);
	int before = p->err;

	s->target = parse_variable(p);
	parse_expect(p, TOKEN_COLON, "':'");
	if (p->err && !before)
		diag_hint(p->d, "loops are for $i : 0..10 { ... } and for $entry : @map { ... }");
	s->value = parse_bound(p);
	if (s->value->kind != EXPR_MAP || s->value->arg_count || parse_is(p, TOKEN_RANGE)) {
		parse_expect(p, TOKEN_RANGE, "'..'");
		s->to = parse_bound(p);
	}
	if (in_paren)
		parse_expect(p, TOKEN_RPAREN, "')'");
	p->returned = p->fors++ ? p->returned : 0;
	s->body = parse_loop_block(p);
	p->fors--;
}

/* let = "let" variable ( ":" ( type | typeof ) )? ( "=" expr )?; the variable has what typeof is
 * asked of as its argument */
static void parse_let(struct parser *p, struct stmt *s)
{
	struct expr *like;

	s->target = parse_variable(p);
	if (parse_take(p, TOKEN_COLON)) {
		if (!parse_is(p, TOKEN_WORD))
			parse_unexpected(p, "a type");
		like = parse_variable_type(p, &s->target->named);
		s->target->args[0] = like;
		s->target->arg_count = like ? 1 : 0;
	}
	if (parse_take(p, TOKEN_ASSIGN))
		s->value = parse_expr(p);
	parse_semicolon(p);
}

/* jump = "break" | "continue" */
static void parse_jump(struct parser *p, struct stmt *s)
{
	if (parse_in_macro(p) && !p->loops)
		parse_error(p, s->mark, "macro-return",
			    "a macro cannot leave a loop of its caller");
	parse_semicolon(p);
}

/* return = "return" expr? */
static void parse_return(struct parser *p, struct stmt *s)
{
	if (!parse_is(p, TOKEN_SEMICOLON) && !parse_is(p, TOKEN_RBRACE))
		s->value = parse_expr(p);
	if (!function_return(p, s) && parse_in_macro(p))
		parse_error(p, s->mark, "macro-return", "a macro cannot return from its clause");
	p->returned |= s->value ? RETURNS_VALUE : RETURNS_NOTHING;
	if (p->fors && p->returned == (RETURNS_NOTHING | RETURNS_VALUE))
		parse_error(p, s->mark, "mixed-return",
			    "in one loop, 'return' is with a value or without one");
	parse_semicolon(p);
}

static const struct assignment *assignment_here(const struct parser *p)
{
	for (size_t i = 0; i < COUNT(assignments); i++)
		if (parse_is(p, assignments[i].token))
			return &assignments[i];
	return NULL;
}

static void refuse_target(struct parser *p, const struct expr *target)
{
	bool is_part = target->kind == EXPR_ELEMENT || target->kind == EXPR_MEMBER ||
		       target->kind == EXPR_INDEX;

	if (parse_error(p, target->mark, "bad-target",
			"only variables and maps can be assigned to") &&
	    is_part)
		diag_hint(p->d, "tuples and records are immutable: assign a new one");
}

/* simple = expr | ( map | variable ) ( "=" | "+=" | ... ) expr */
static void parse_simple(struct parser *p, struct stmt *s)
{
	const struct assignment *a;

	s->kind = STMT_EXPR;
	s->value = parse_expr(p);
	a = assignment_here(p);
	if (a) {
		s->kind = STMT_ASSIGN;
		s->op = a->op;
		s->target = s->value;
		if (s->target->kind == EXPR_NAME && str_eq_text(s->target->text, "_") && !a->op) {
			s->kind = STMT_EXPR; /* the value is of no interest */
			s->target = NULL;
			s->is_discard = true;
		} else if (s->target->kind != EXPR_MAP && s->target->kind != EXPR_VARIABLE) {
			refuse_target(p, s->target);
		}
		parse_advance(p);
		s->value = parse_expr(p);
	}
	s->is_last = parse_is(p, TOKEN_RBRACE);
	parse_semicolon(p);
	if (!s->value->macro && s->value->mark.at >= s->mark.at) /* not the text of a macro */
		s->mark.len = s->value->mark.at + s->value->mark.len - s->mark.at;
}

static bool was_imported(const struct parser *p, const struct stmt *s)
{
	for (unsigned i = 0; i < p->block_import_count; i++)
		if (p->block_imports[i] == s->mark.at)
			return true;
	return false;
}

/* import = "import" string; import.c has put the file's text elsewhere */
static void parse_block_import(struct parser *p, struct stmt *s)
{
	parse_expect(p, TOKEN_STRING, "the name of a file in quotes");
	if (!was_imported(p, s))
		parse_error(p, s->mark, "late-import",
			    "this import was not seen: write it before the probes");
	if (!p->tree->block_import.len)
		p->tree->block_import = s->mark;
	parse_semicolon(p);
}

struct keyword {
	const char *word;
	enum stmt_kind kind;
	void (*parse)(struct parser *p, struct stmt *s); /* from the token after it */
};

/* clang-format off */
static const struct keyword keywords[] = {
	{ "if",       STMT_IF,       parse_if     },
	{ "unroll",   STMT_UNROLL,   parse_repeat },
	{ "while",    STMT_WHILE,    parse_repeat },
	{ "for",      STMT_FOR,      parse_for    },
	{ "let",      STMT_LET,      parse_let    },
	{ "break",    STMT_BREAK,    parse_jump   },
	{ "continue", STMT_CONTINUE, parse_jump   },
	{ "return",   STMT_RETURN,   parse_return },
	{ "import",   STMT_BLOCK,    parse_block_import },
};
/* clang-format on */

static const struct keyword *keyword_here(const struct parser *p)
{
	for (size_t i = 0; i < COUNT(keywords); i++)
		if (parse_is_word(p, keywords[i].word))
			return &keywords[i];
	return NULL;
}

/* statement = block | if | unroll | while | for | let ";" | jump ";" | simple ";" */
static struct stmt *parse_statement(struct parser *p)
{
	const struct keyword *keyword = keyword_here(p);
	struct stmt *s = p->err ? NULL : arena_new(p->arena, struct stmt);

	if (!s) {
		parse_fail(p, -ENOMEM);
		return &p->no_stmt;
	}
	parse_count_node(p);
	parse_enter(p);
	s->mark = p->token.mark;
	if (parse_is(p, TOKEN_LBRACE)) {
		s->kind = STMT_BLOCK;
		s->body = parse_inner_block(p);
	} else if (keyword) {
		s->kind = keyword->kind;
		parse_advance(p);
		keyword->parse(p, s);
	} else {
		parse_simple(p, s);
	}
	s->is_last = parse_is(p, TOKEN_RBRACE) &&
		     (s->kind == STMT_BLOCK || s->kind == STMT_IF || s->is_last);
	parse_leave(p);
	return s;
}
