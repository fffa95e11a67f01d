/* Text -> tree: settings, clauses and statements. Expressions are in parse_expr.c, probes in
 * parse_probe.c. */
#include "script/parse.h"

#include <errno.h>

struct assignment {
	enum token_kind token;
	enum operator op;
};

static const struct assignment assignments[] = {
	{TOKEN_ASSIGN, OPERATOR_NONE},	    {TOKEN_ADD_ASSIGN, OPERATOR_ADD},
	{TOKEN_SUB_ASSIGN, OPERATOR_SUB},   {TOKEN_MUL_ASSIGN, OPERATOR_MUL},
	{TOKEN_DIV_ASSIGN, OPERATOR_DIV},   {TOKEN_MOD_ASSIGN, OPERATOR_MOD},
	{TOKEN_BAND_ASSIGN, OPERATOR_BAND}, {TOKEN_BOR_ASSIGN, OPERATOR_BOR},
	{TOKEN_XOR_ASSIGN, OPERATOR_XOR},   {TOKEN_SHL_ASSIGN, OPERATOR_SHL},
	{TOKEN_SHR_ASSIGN, OPERATOR_SHR},
};

/* What newer bpftrace allows between clauses, and we do not. */
static const char *const foreign_items[] = {"struct", "union", "enum", "macro",
					    "import", "let",   "fn"};

struct span parse_span(const struct parser *p, struct mark m)
{
	return lex_span(&p->lexer, m);
}

int parse_advance(struct parser *p)
{
	return lex_token(&p->lexer, &p->token);
}

bool parse_is(const struct parser *p, enum token_kind kind)
{
	return p->token.kind == kind;
}

static bool is_word(const struct parser *p, const char *word)
{
	return p->token.kind == TOKEN_WORD && str_eq_text(p->token.text, word);
}

int parse_unexpected(struct parser *p, const char *wanted)
{
	struct mark m = p->token.mark;

	if (parse_is(p, TOKEN_END))
		return diag_error_at(p->d, -EINVAL, "syntax", parse_span(p, m),
				     "expected %s, but the script ends here", wanted);
	return diag_error_at(p->d, -EINVAL, "syntax", parse_span(p, m), "expected %s before '%.*s'",
			     wanted, (int)(m.len > 40 ? 40 : m.len), p->lexer.text.ptr + m.at);
}

int parse_expect(struct parser *p, enum token_kind kind, const char *what)
{
	return parse_is(p, kind) ? parse_advance(p) : parse_unexpected(p, what);
}

int parse_enter(struct parser *p)
{
	if (p->depth == PARSE_MAX_DEPTH)
		return diag_error_at(p->d, -E2BIG, "too-deep", parse_span(p, p->token.mark),
				     "nested too deeply: the limit is %d levels", PARSE_MAX_DEPTH);
	p->depth++;
	return 0;
}

void parse_leave(struct parser *p)
{
	p->depth--;
}

int parse_count_node(struct parser *p)
{
	if (p->nodes++ == PARSE_MAX_NODES)
		return diag_error_at(p->d, -E2BIG, "too-big", parse_span(p, p->token.mark),
				     "the script is too big (more than %d pieces)",
				     PARSE_MAX_NODES);
	return 0;
}

struct str parse_param(const struct parser *p, uint64_t number, bool *missing)
{
	*missing = number > p->options->param_count;
	return *missing ? str_of("", 0) : p->options->params[number - 1];
}

static int parse_statement(struct parser *p, struct stmt **out);

/* block = "{" statement* "}"; the closing brace stays the current token */
static int parse_block(struct parser *p, struct stmt **out)
{
	struct stmt **last = out;
	struct mark open = p->token.mark;
	int err = parse_expect(p, TOKEN_LBRACE, "'{'");

	*out = NULL;
	while (!err && !parse_is(p, TOKEN_RBRACE)) {
		if (parse_is(p, TOKEN_END)) {
			diag_error_at(p->d, -EINVAL, "open-block", parse_span(p, open),
				      "this '{' is never closed");
			return -EINVAL;
		}
		if (parse_is(p, TOKEN_SEMICOLON)) {
			err = parse_advance(p);
			continue;
		}
		err = parse_statement(p, last);
		if (!err)
			last = &(*last)->next;
	}
	return err;
}

/* block, and on to what is behind it */
static int parse_inner_block(struct parser *p, struct stmt **out)
{
	int err = parse_block(p, out);

	return err ? err : parse_advance(p);
}

/* The end of a simple statement: ";", which may be left out before "}". */
static int parse_semicolon(struct parser *p)
{
	if (parse_is(p, TOKEN_RBRACE) || parse_is(p, TOKEN_END))
		return 0;
	return parse_expect(p, TOKEN_SEMICOLON, "';' or '}'");
}

/* if = "if" expr block ( "else" ( if | block ) )? */
static int parse_if(struct parser *p, struct stmt *s)
{
	int err = parse_advance(p);

	s->kind = STMT_IF;
	if (!err)
		err = parse_expr(p, &s->value);
	if (!err)
		err = parse_inner_block(p, &s->body);
	if (err || !is_word(p, "else"))
		return err;
	err = parse_advance(p);
	if (!err && is_word(p, "if"))
		return parse_statement(p, &s->other);
	return err ? err : parse_inner_block(p, &s->other);
}

/* unroll = "unroll" expr block ; while = "while" expr block */
static int parse_repeat(struct parser *p, struct stmt *s)
{
	int err;

	s->kind = is_word(p, "while") ? STMT_WHILE : STMT_UNROLL;
	err = parse_advance(p);
	if (!err)
		err = parse_expr(p, &s->value);
	return err ? err : parse_inner_block(p, &s->body);
}

/* for = "for" "("? variable ":" expr ".." expr ")"? block */
static int parse_for(struct parser *p, struct stmt *s)
{
	bool in_paren;
	int err = parse_advance(p);

	s->kind = STMT_FOR;
	in_paren = parse_is(p, TOKEN_LPAREN);
	if (!err && in_paren)
		err = parse_advance(p);
	if (!err && !parse_is(p, TOKEN_VARIABLE))
		return parse_unexpected(p, "a variable");
	if (!err)
		err = parse_expr(p, &s->target);
	if (!err)
		err = parse_expect(p, TOKEN_COLON, "':'");
	if (!err)
		err = parse_expr(p, &s->value);
	if (!err && s->value->kind == EXPR_MAP && !parse_is(p, TOKEN_RANGE)) {
		diag_error_at(p->d, -EINVAL, "unsupported", parse_span(p, s->value->mark),
			      "loops over maps are not supported yet");
		diag_hint(p->d, "a range works: for $i : 0..10 { ... }");
		return -EINVAL;
	}
	if (!err)
		err = parse_expect(p, TOKEN_RANGE, "'..'");
	if (!err)
		err = parse_expr(p, &s->to);
	if (!err && in_paren)
		err = parse_expect(p, TOKEN_RPAREN, "')'");
	return err ? err : parse_inner_block(p, &s->body);
}

/* let = "let" variable ( ":" type )? ( "=" expr )? */
static int parse_let(struct parser *p, struct stmt *s)
{
	int err = parse_advance(p);

	s->kind = STMT_LET;
	if (!err && !parse_is(p, TOKEN_VARIABLE))
		return parse_unexpected(p, "a variable");
	if (!err)
		err = parse_expr(p, &s->target);
	if (!err && parse_is(p, TOKEN_COLON)) {
		struct type *declared = &s->target->cast.type;

		err = parse_advance(p);
		if (!err && (!parse_is(p, TOKEN_WORD) || !cast_type_find(p->token.text, declared) ||
			     declared->show != SHOW_NUMBER))
			return diag_error_at(p->d, -EINVAL, "unsupported",
					     parse_span(p, p->token.mark),
					     "only integer types can be declared");
		if (!err)
			err = parse_advance(p);
	}
	if (!err && parse_is(p, TOKEN_ASSIGN)) {
		err = parse_advance(p);
		if (!err)
			err = parse_expr(p, &s->value);
	}
	return err ? err : parse_semicolon(p);
}

/* jump = "break" | "continue" | "return" */
static int parse_jump(struct parser *p, struct stmt *s)
{
	s->kind = is_word(p, "break")	   ? STMT_BREAK
		  : is_word(p, "continue") ? STMT_CONTINUE
					   : STMT_RETURN;
	int err = parse_advance(p);

	return err ? err : parse_semicolon(p);
}

static const struct assignment *assignment_here(const struct parser *p)
{
	for (size_t i = 0; i < sizeof(assignments) / sizeof(assignments[0]); i++)
		if (parse_is(p, assignments[i].token))
			return &assignments[i];
	return NULL;
}

/* simple = expr | ( map | variable ) ( "=" | "+=" | ... ) expr */
static int parse_simple(struct parser *p, struct stmt *s)
{
	const struct assignment *a;
	int err = parse_expr(p, &s->value);

	s->kind = STMT_EXPR;
	if (err)
		return err;
	a = assignment_here(p);
	if (a) {
		s->kind = STMT_ASSIGN;
		s->op = a->op;
		s->target = s->value;
		if (s->target->kind != EXPR_MAP && s->target->kind != EXPR_VARIABLE)
			return diag_error_at(p->d, -EINVAL, "bad-target",
					     parse_span(p, s->target->mark),
					     "only variables and maps can be assigned to");
		err = parse_advance(p);
		if (!err)
			err = parse_expr(p, &s->value);
	}
	return err ? err : parse_semicolon(p);
}

struct keyword {
	const char *word;
	int (*parse)(struct parser *p, struct stmt *s);
};

static const struct keyword keywords[] = {
	{"if", parse_if},	  {"unroll", parse_repeat}, {"while", parse_repeat},
	{"for", parse_for},	  {"let", parse_let},	    {"break", parse_jump},
	{"continue", parse_jump}, {"return", parse_jump},
};

static int parse_statement_here(struct parser *p, struct stmt *s)
{
	if (parse_is(p, TOKEN_LBRACE)) {
		s->kind = STMT_BLOCK;
		return parse_inner_block(p, &s->body);
	}
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (is_word(p, keywords[i].word))
			return keywords[i].parse(p, s);
	return parse_simple(p, s);
}

/* statement = block | if | unroll | while | for | let ";" | jump ";" | simple ";" */
static int parse_statement(struct parser *p, struct stmt **out)
{
	struct stmt *s = arena_new(p->arena, struct stmt);
	int err = s ? parse_count_node(p) : -ENOMEM;

	if (!err)
		err = parse_enter(p);
	if (err)
		return err;
	s->mark = p->token.mark;
	err = parse_statement_here(p, s);
	parse_leave(p);
	if (s->value && (s->kind == STMT_EXPR || s->kind == STMT_ASSIGN))
		s->mark.len = s->value->mark.at + s->value->mark.len - s->mark.at;
	if (!err)
		*out = s;
	return err;
}

/* predicate = "/" expr "/" */
static int parse_predicate(struct parser *p, struct expr **out)
{
	int err;

	p->lexer.at++;
	p->lexer.in_predicate = true;
	err = parse_advance(p);
	if (!err)
		err = parse_expr(p, out);
	p->lexer.in_predicate = false;
	if (!err && !parse_is(p, TOKEN_END_PREDICATE))
		return parse_unexpected(p, "'/' and a block");
	return err;
}

/* clause = probes predicate? block */
static int parse_clause(struct parser *p, struct tree_clause **out)
{
	struct tree_clause *c = arena_new(p->arena, struct tree_clause);
	int err;

	if (!c)
		return -ENOMEM;
	c->mark.at = (uint32_t)p->lexer.at;
	err = parse_probes(p, &c->probes);
	if (!err && p->lexer.at < p->lexer.text.len && p->lexer.text.ptr[p->lexer.at] == '/')
		err = parse_predicate(p, &c->predicate);
	if (!err)
		err = parse_advance(p);
	if (!err)
		err = parse_block(p, &c->body);
	c->mark.len = (uint32_t)(p->lexer.at - c->mark.at);
	if (!err)
		*out = c;
	return err;
}

/* setting = word "=" ( number | word | string ) */
static int parse_setting(struct parser *p, struct setting **out)
{
	struct setting *s = arena_new(p->arena, struct setting);
	int err;

	if (!s)
		return -ENOMEM;
	s->mark = p->token.mark;
	s->name = p->token.text;
	err = parse_expect(p, TOKEN_WORD, "a setting's name");
	if (!err)
		err = parse_expect(p, TOKEN_ASSIGN, "'='");
	if (err)
		return err;
	s->value = p->token.text;
	s->mark.len = p->token.mark.at + p->token.mark.len - s->mark.at;
	if (!parse_is(p, TOKEN_INT) && !parse_is(p, TOKEN_WORD) && !parse_is(p, TOKEN_STRING))
		return parse_unexpected(p, "a value");
	*out = s;
	return parse_advance(p);
}

/* config = "config" "=" "{" ( setting ";" )* "}" */
static int parse_config(struct parser *p, struct setting **out)
{
	int err = parse_advance(p);

	if (!err)
		err = parse_expect(p, TOKEN_ASSIGN, "'='");
	if (!err)
		err = parse_expect(p, TOKEN_LBRACE, "'{'");
	while (!err && !parse_is(p, TOKEN_RBRACE)) {
		if (parse_is(p, TOKEN_SEMICOLON)) {
			err = parse_advance(p);
			continue;
		}
		err = parse_setting(p, out);
		if (!err)
			err = parse_semicolon(p);
		if (!err)
			out = &(*out)->next;
	}
	return err;
}

/* The word at the start of an item, without moving. */
static int first_word(const struct parser *p, struct token *out)
{
	struct lexer look = p->lexer;

	look.d = NULL;
	return lex_token(&look, out);
}

static int refuse_foreign(struct parser *p, const struct token *t)
{
	if (p->lexer.text.ptr[p->lexer.at] == '#')
		return diag_error_at(p->d, -EINVAL, "unsupported",
				     parse_span(p, (struct mark){(uint32_t)p->lexer.at, 1}),
				     "lines for the C preprocessor are not supported");
	for (size_t i = 0; i < sizeof(foreign_items) / sizeof(foreign_items[0]); i++)
		if (t->kind == TOKEN_WORD && str_eq_text(t->text, foreign_items[i]))
			return diag_error_at(p->d, -EINVAL, "unsupported", parse_span(p, t->mark),
					     "'%s' outside of a clause is not supported yet",
					     foreign_items[i]);
	return 0;
}

/* The last setting's `next`, so that several config blocks add up. */
static struct setting **settings_end(struct tree *t)
{
	struct setting **end = &t->settings;

	while (*end)
		end = &(*end)->next;
	return end;
}

/* tree = ( config | clause )* */
int parse_tree(struct parser *p, struct tree *out)
{
	struct tree_clause **last = &out->clauses;
	struct lexer *l = &p->lexer;
	int err = 0;

	if (l->text.len > PARSE_MAX_TEXT)
		return diag_error(p->d, -E2BIG, "too-big", "the script is too big (%zu bytes)",
				  l->text.len);
	if (str_starts(l->text, STR("#!")))
		while (l->at < l->text.len && l->text.ptr[l->at] != '\n')
			l->at++;
	while (!(err = lex_blank(l)) && l->at < l->text.len) {
		struct token t = {.kind = TOKEN_END};

		if (first_word(p, &t))
			t.kind = TOKEN_END;
		err = refuse_foreign(p, &t);
		if (err)
			return err;
		if (t.kind == TOKEN_WORD && str_eq_text(t.text, "config")) {
			l->at = t.mark.at + t.mark.len;
			err = parse_config(p, settings_end(out));
		} else {
			err = parse_clause(p, last);
			if (!err)
				last = &(*last)->next;
		}
		if (err)
			return err;
	}
	if (!err && !out->clauses)
		return diag_error(p->d, -EINVAL, "empty-script", "the script has no clauses");
	return err;
}
