/* Text -> tree: settings, clauses and statements. Expressions are in parse_expr.c, probes in
 * parse_probe.c. */
#include "script/parse.h"

#include <errno.h>

#include "base/array.h"

#define MAX_ENTRIES (1u << 24)

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

/* What newer bpftrace allows between clauses, and we do not. */
static const char *const foreign_items[] = {"fn"};

/* Declarations of C between clauses. */
static const char *const c_words[] = {"struct", "union", "enum", "typedef", NULL};

bool parse_fail(struct parser *p, int err)
{
	bool is_first = !p->err;

	if (is_first)
		p->err = err;
	p->token.kind = TOKEN_END;
	return is_first;
}

bool parse_error(struct parser *p, struct mark m, const char *tag, const char *format, ...)
{
	struct buf text = BUF_INIT;
	va_list args;

	if (!parse_fail(p, -EINVAL))
		return false;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	diag_error_at(p->d, -EINVAL, tag, lex_span(&p->lexer, m), "%.*s",
		      STR_FMT(buf_as_str(&text)));
	buf_free(&text);
	return true;
}

/* The expansion in whose text the current token is written; -1: none. An argument is written where
 * the macro is used. */
static int scope_of(const struct parser *p)
{
	int top = (int)p->expansion_count - 1;

	return top >= 0 && !p->expansions[top].define ? p->expansions[top].outer : top;
}

static bool is_expanding(const struct parser *p, const struct define *m)
{
	for (int i = scope_of(p); i >= 0; i = p->expansions[i].outer)
		if (p->expansions[i].define == m)
			return true;
	return false;
}

/* One more expansion, which goes on at the lexer's place. */
static struct expansion *push_expansion(struct parser *p, struct define *m, int outer)
{
	struct lexer *l = &p->lexer;
	struct expansion *x;

	if (!p->expansion_count)
		p->used = p->token.mark;
	if (p->expansion_count == PARSE_MAX_EXPANSIONS) {
		parse_error(p, p->used, "too-deep", "macros are nested too deeply at '%.*s'",
			    STR_FMT(p->token.text));
		return NULL;
	}
	x = &p->expansions[p->expansion_count++];
	*x = (struct expansion){.define = m, .at = l->at, .len = l->text.len, .outer = outer};
	return x;
}

static void go_to(struct parser *p, struct mark text)
{
	p->lexer.at = text.at;
	p->lexer.text.len = text.at + text.len;
}

/* The arguments of a macro, up to the ")", where the lexer is then. */
static unsigned take_define_args(struct parser *p, const struct define *m, struct mark *args)
{
	struct lexer *l = &p->lexer;
	unsigned depth = 0, count = 0;
	struct token t;

	l->at++;
	for (size_t start = l->at; !p->err;) {
		if (lex_token(l, &t))
			parse_fail(p, -EINVAL);
		else if (t.kind == TOKEN_END)
			parse_error(p, p->token.mark, "define-args",
				    "the arguments of '%.*s' have no ')'", STR_FMT(m->name));
		else if (!depth && (t.kind == TOKEN_COMMA || t.kind == TOKEN_RPAREN)) {
			if (count < DEFINE_PARAMS)
				args[count] = (struct mark){(uint32_t)start,
							    (uint32_t)(t.mark.at - start)};
			count += m->param_count || t.kind == TOKEN_COMMA ||
				 str_trim(str_of(l->text.ptr + start, t.mark.at - start)).len;
			start = l->at;
			if (t.kind == TOKEN_RPAREN)
				break;
		}
		depth += t.kind == TOKEN_LPAREN;
		depth -= t.kind == TOKEN_RPAREN && depth;
	}
	return count;
}

/* Is the current word a parameter of the macro in whose text it is? Then go on with its argument.
 */
static bool enter_argument(struct parser *p)
{
	int scope = scope_of(p);
	const struct expansion *x = scope >= 0 ? &p->expansions[scope] : NULL;

	for (unsigned i = 0; x && i < x->define->param_count; i++) {
		struct mark text = x->args[i];

		if (!str_eq(x->define->params[i], p->token.text))
			continue;
		if (push_expansion(p, NULL, x->outer))
			go_to(p, text);
		return true;
	}
	return false;
}

/* Go on with the text of a macro, if the current token is the name of one. One with parameters is
 * one only before a "(". */
static bool enter_macro(struct parser *p)
{
	bool is_word = p->token.kind == TOKEN_WORD && !p->is_standard;
	struct define *m = is_word ? parse_find_define(p, p->token.text) : NULL;
	struct mark args[DEFINE_PARAMS];
	unsigned count = 0;
	struct expansion *x;
	int outer;

	if (is_word && enter_argument(p))
		return true;
	if (!m || is_expanding(p, m))
		return false;
	outer = scope_of(p);
	if (m->has_params) {
		parse_blank(p);
		if (p->err || p->lexer.at >= p->lexer.text.len ||
		    p->lexer.text.ptr[p->lexer.at] != '(')
			return false;
		count = take_define_args(p, m, args);
	}
	if (!p->err && count != m->param_count)
		parse_error(p, p->expansion_count ? p->used : p->token.mark, "define-args",
			    "the macro '%.*s' takes %u argument%s, not %u", STR_FMT(m->name),
			    m->param_count, m->param_count == 1 ? "" : "s", count);
	x = p->err ? NULL : push_expansion(p, m, outer);
	if (!x)
		return true;
	memcpy(x->args, args, count * sizeof(*args));
	go_to(p, m->text);
	return true;
}

/* Back to where the innermost macro was used. */
static void leave_macro(struct parser *p)
{
	struct expansion *x = &p->expansions[--p->expansion_count];

	p->lexer.at = x->at;
	p->lexer.text.len = x->len;
}

void parse_advance(struct parser *p)
{
	bool again = true;

	while (again) {
		int err = p->err ? p->err : lex_token(&p->lexer, &p->token);

		if (err)
			parse_fail(p, err);
		again = false;
		if (!p->err && p->token.kind == TOKEN_END && p->expansion_count) {
			leave_macro(p);
			again = true;
		} else if (!p->err) {
			again = enter_macro(p);
		}
	}
	/* Messages show where the macro was used. */
	if (p->expansion_count)
		p->token.mark = p->used;
	if (p->is_standard)
		p->token.mark = p->standard_use;
}

void parse_blank(struct parser *p)
{
	int err = p->err ? p->err : lex_blank(&p->lexer);

	if (err)
		parse_fail(p, err);
}

bool parse_is(const struct parser *p, enum token_kind kind)
{
	return p->token.kind == kind;
}

bool parse_take(struct parser *p, enum token_kind kind)
{
	bool is = parse_is(p, kind);

	if (is)
		parse_advance(p);
	return is;
}

static bool is_word(const struct parser *p, const char *word)
{
	return p->token.kind == TOKEN_WORD && str_eq_text(p->token.text, word);
}

void parse_unexpected(struct parser *p, const char *wanted)
{
	struct mark m = p->token.mark;
	bool is_equals = parse_is(p, TOKEN_ASSIGN);

	if (parse_is(p, TOKEN_END))
		parse_error(p, m, "syntax", "expected %s, but the script ends here", wanted);
	else if (parse_error(p, m, "syntax", "expected %s before '%.*s'", wanted,
			     (int)(m.len > 40 ? 40 : m.len), p->lexer.text.ptr + m.at) &&
		 is_equals)
		diag_hint(p->d, "did you mean '=='?");
}

void parse_expect(struct parser *p, enum token_kind kind, const char *what)
{
	if (!parse_take(p, kind))
		parse_unexpected(p, what);
}

void parse_enter(struct parser *p)
{
	if (p->depth++ == PARSE_MAX_DEPTH)
		parse_error(p, p->token.mark, "too-deep",
			    "nested too deeply: the limit is %d levels", PARSE_MAX_DEPTH);
}

void parse_leave(struct parser *p)
{
	p->depth--;
}

void parse_count_node(struct parser *p)
{
	if (p->nodes++ == PARSE_MAX_NODES)
		parse_error(p, p->token.mark, "too-big",
			    "the script is too large: the limit is %d expressions and statements",
			    PARSE_MAX_NODES);
}

struct mark parse_mark_of(const struct parser *p, struct str text)
{
	return (struct mark){(uint32_t)(text.ptr - p->lexer.text.ptr), (uint32_t)text.len};
}

struct mark parse_join(struct mark a, struct mark b)
{
	if (b.at + b.len < a.at + a.len) /* in the text of one macro */
		return a;
	return (struct mark){a.at, b.at + b.len - a.at};
}

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
static void parse_semicolon(struct parser *p)
{
	if (!parse_is(p, TOKEN_RBRACE) && !parse_is(p, TOKEN_END))
		parse_expect(p, TOKEN_SEMICOLON, "';' or '}'");
}

/* if = "if" expr block ( "else" ( if | block ) )? */
static void parse_if(struct parser *p, struct stmt *s)
{
	s->value = parse_expr(p);
	s->body = parse_inner_block(p);
	if (!is_word(p, "else"))
		return;
	parse_advance(p);
	s->other = is_word(p, "if") ? parse_statement(p) : parse_inner_block(p);
}

/* unroll = "unroll" expr block ; while = "while" expr block */
static void parse_repeat(struct parser *p, struct stmt *s)
{
	s->value = parse_expr(p);
	s->body = parse_inner_block(p);
}

static struct expr *parse_variable(struct parser *p)
{
	if (!parse_is(p, TOKEN_VARIABLE))
		parse_unexpected(p, "a variable");
	return parse_expr(p);
}

/* for = "for" "("? variable ":" ( expr ".." expr | map ) ")"? block */
static void parse_for(struct parser *p, struct stmt *s)
{
	bool in_paren = parse_take(p, TOKEN_LPAREN);

	s->target = parse_variable(p);
	parse_expect(p, TOKEN_COLON, "':'");
	s->value = parse_expr(p);
	if (s->value->kind != EXPR_MAP || s->value->arg_count || parse_is(p, TOKEN_RANGE)) {
		parse_expect(p, TOKEN_RANGE, "'..'");
		s->to = parse_expr(p);
	}
	if (in_paren)
		parse_expect(p, TOKEN_RPAREN, "')'");
	s->body = parse_inner_block(p);
}

/* let = "let" variable ( ":" type )? ( "=" expr )? */
static void parse_let(struct parser *p, struct stmt *s)
{
	s->target = parse_variable(p);
	if (parse_take(p, TOKEN_COLON)) {
		if (!parse_is(p, TOKEN_WORD))
			parse_unexpected(p, "a type");
		s->target->named = parse_type_name(p);
	}
	if (parse_take(p, TOKEN_ASSIGN))
		s->value = parse_expr(p);
	parse_semicolon(p);
}

/* jump = "break" | "continue" */
static void parse_jump(struct parser *p, struct stmt *s)
{
	(void)s;
	parse_semicolon(p);
}

/* return = "return" expr? */
static void parse_return(struct parser *p, struct stmt *s)
{
	if (parse_in_macro(p))
		parse_error(p, s->mark, "macro-return", "a macro cannot return from its clause");
	if (!parse_is(p, TOKEN_SEMICOLON) && !parse_is(p, TOKEN_RBRACE))
		s->value = parse_expr(p);
	parse_semicolon(p);
}

static const struct assignment *assignment_here(const struct parser *p)
{
	for (size_t i = 0; i < COUNT(assignments); i++)
		if (parse_is(p, assignments[i].token))
			return &assignments[i];
	return NULL;
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
		} else if (s->target->kind != EXPR_MAP && s->target->kind != EXPR_VARIABLE) {
			parse_error(p, s->target->mark, "bad-target",
				    "only variables and maps can be assigned to");
		}
		parse_advance(p);
		s->value = parse_expr(p);
	}
	s->is_last = parse_is(p, TOKEN_RBRACE);
	parse_semicolon(p);
	if (s->value->mark.at >= s->mark.at) /* not the text of a macro */
		s->mark.len = s->value->mark.at + s->value->mark.len - s->mark.at;
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
};
/* clang-format on */

static const struct keyword *keyword_here(const struct parser *p)
{
	for (size_t i = 0; i < COUNT(keywords); i++)
		if (is_word(p, keywords[i].word))
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
	parse_leave(p);
	return s;
}

/* clause = probes predicate? block ; predicate = "/" expr "/" */
static struct tree_clause *parse_clause(struct parser *p)
{
	struct tree_clause *c = arena_new(p->arena, struct tree_clause);
	struct lexer *l = &p->lexer;

	if (!c) {
		parse_fail(p, -ENOMEM);
		return NULL;
	}
	c->mark.at = (uint32_t)l->at;
	parse_probes(p, &c->probes);
	if (!p->err && l->at < l->text.len && l->text.ptr[l->at] == '/') {
		l->at++;
		l->in_predicate = true;
		parse_advance(p);
		c->predicate = parse_expr(p);
		l->in_predicate = false;
		if (!parse_is(p, TOKEN_END_PREDICATE))
			parse_unexpected(p, "'/' and a block");
	}
	parse_advance(p);
	c->body = parse_block(p);
	c->mark.len = (uint32_t)(l->at - c->mark.at);
	return c;
}

/* setting = word "=" ( number | word | string ) */
static struct setting *parse_setting(struct parser *p)
{
	struct setting *s = arena_new(p->arena, struct setting);

	if (!s) {
		parse_fail(p, -ENOMEM);
		return NULL;
	}
	s->mark = p->token.mark;
	s->name = p->token.text;
	parse_expect(p, TOKEN_WORD, "a setting's name");
	parse_expect(p, TOKEN_ASSIGN, "'='");
	s->value = p->token.text;
	s->mark.len = p->token.mark.at + p->token.mark.len - s->mark.at;
	if (!parse_is(p, TOKEN_INT) && !parse_is(p, TOKEN_WORD) && !parse_is(p, TOKEN_STRING))
		parse_unexpected(p, "a value");
	parse_advance(p);
	return s;
}

/* config = "config" "=" "{" ( setting ";" )* "}" */
static void parse_config(struct parser *p, struct setting **out)
{
	parse_advance(p);
	parse_expect(p, TOKEN_ASSIGN, "'='");
	parse_expect(p, TOKEN_LBRACE, "'{'");
	while (!p->err && !parse_is(p, TOKEN_RBRACE)) {
		if (parse_take(p, TOKEN_SEMICOLON))
			continue;
		*out = parse_setting(p);
		parse_semicolon(p);
		if (*out)
			out = &(*out)->next;
	}
}

/* size = "let" map "=" word "(" number ")" ";"?; of the kinds only the number matters: what a map
 * holds, and whether CPUs have values of their own, is up to its use */
static void parse_map_size(struct parser *p)
{
	static const char *const kinds[] = {"hash", "percpuhash", NULL};
	struct map_size *size = arena_new(p->arena, struct map_size);

	if (!size) {
		parse_fail(p, -ENOMEM);
		return;
	}
	parse_advance(p);
	size->name = p->token.text;
	size->mark = p->token.mark;
	parse_expect(p, TOKEN_MAP, "a map");
	parse_expect(p, TOKEN_ASSIGN, "'='");
	if (!parse_is(p, TOKEN_WORD) || !word_is_one_of(p->token.text, kinds))
		parse_error(
			p, p->token.mark, "unknown-map-kind",
			"a map is a hash or a percpuhash: one that is full counts what it loses");
	parse_advance(p);
	parse_expect(p, TOKEN_LPAREN, "'('");
	if (!parse_is(p, TOKEN_INT) || !p->token.number || p->token.number > MAX_ENTRIES)
		parse_error(p, p->token.mark, "bad-map-size",
			    "the size of a map is a number from 1 to %u", MAX_ENTRIES);
	size->entries = (uint32_t)p->token.number;
	parse_advance(p);
	if (!parse_is(p, TOKEN_RPAREN))
		parse_unexpected(p, "')'");
	parse_blank(p);
	if (!p->err && p->lexer.at < p->lexer.text.len && p->lexer.text.ptr[p->lexer.at] == ';')
		p->lexer.at++;
	size->next = p->tree->sizes;
	p->tree->sizes = size;
}

static void refuse_foreign(struct parser *p, const struct token *t)
{
	for (size_t i = 0; i < COUNT(foreign_items); i++)
		if (t->kind == TOKEN_WORD && str_eq_text(t->text, foreign_items[i]))
			parse_error(p, t->mark, "unsupported",
				    "'%s' outside of a clause is not supported yet",
				    foreign_items[i]);
}

/* A definition of C, which ends with or without a semicolon. */
static void parse_declaration(struct parser *p)
{
	struct lexer *l = &p->lexer;
	int err = c_scope_read(&p->tree->types, l->path, l->text, &l->at, p->d);

	if (err)
		parse_fail(p, err);
}

/* The token at the start of an item, without moving; a word, or none. */
static struct token first_token(const struct parser *p)
{
	struct lexer look = p->lexer;
	struct token t = {.kind = TOKEN_END};

	look.d = NULL;
	if (lex_token(&look, &t))
		t.kind = TOKEN_END;
	return t;
}

/* import = "import" string ";"?; import.c has put the file's text elsewhere */
static void parse_import(struct parser *p, const struct token *word, bool is_late)
{
	if (is_late)
		parse_error(p, word->mark, "late-import", "imports come before probes");
	p->lexer.at = word->mark.at + word->mark.len;
	parse_advance(p);
	if (!parse_is(p, TOKEN_STRING))
		parse_unexpected(p, "the name of a file in quotes");
	parse_blank(p);
	if (!p->err && p->lexer.at < p->lexer.text.len && p->lexer.text.ptr[p->lexer.at] == ';')
		p->lexer.at++;
}

/* part = ( directive | declaration of C | config | import | macro | clause )* */
static void parse_part(struct parser *p, struct tree *out, bool is_script)
{
	struct tree_clause **last = &out->clauses, **first;
	struct setting **setting = &out->settings;
	struct lexer *l = &p->lexer;

	while (*last)
		last = &(*last)->next;
	first = last;
	if (str_starts(str_of(l->text.ptr + l->at, l->text.len - l->at), STR("#!")))
		lex_line(l);
	for (parse_blank(p); !p->err && l->at < l->text.len; parse_blank(p)) {
		struct token t = first_token(p);

		if (l->text.ptr[l->at] == '#') {
			parse_directive(p);
			continue;
		}
		if (t.kind == TOKEN_WORD && word_is_one_of(t.text, c_words)) {
			parse_declaration(p);
			continue;
		}
		refuse_foreign(p, &t);
		if (p->err)
			break;
		if (t.kind == TOKEN_WORD && str_eq_text(t.text, "import")) {
			parse_import(p, &t, last != first);
		} else if (t.kind == TOKEN_WORD && str_eq_text(t.text, "config")) {
			if (!is_script)
				parse_error(p, t.mark, "import-config",
					    "a file that is imported has no settings");
			l->at = t.mark.at + t.mark.len;
			while (*setting) /* several config blocks add up */
				setting = &(*setting)->next;
			parse_config(p, setting);
		} else if (t.kind == TOKEN_WORD && str_eq_text(t.text, "macro")) {
			l->at = t.mark.at + t.mark.len;
			parse_macro(p);
		} else if (t.kind == TOKEN_WORD && str_eq_text(t.text, "let")) {
			l->at = t.mark.at + t.mark.len;
			parse_map_size(p);
		} else if ((*last = parse_clause(p))) {
			last = &(*last)->next;
		}
	}
}

/* tree = part part*, the imported ones first */
int parse_tree(struct parser *p, struct tree *out)
{
	struct lexer *l = &p->lexer;
	const struct import_part whole = {.at = l->at, .len = l->text.len - l->at};
	const struct import_part *parts = p->parts ? p->parts : &whole;
	unsigned count = p->parts ? p->part_count : 1;

	if (parts[count - 1].len > PARSE_MAX_TEXT)
		return diag_error(p->d, -E2BIG, "too-big", "the script is too large: %zu bytes",
				  parts[count - 1].len);
	p->tree = out;
	if (tree_open(out, p->arena))
		return -ENOMEM;
	out->types.constant = parse_macro_value;
	out->types.self = p;
	for (unsigned i = 0; i < count && !p->err; i++) {
		l->at = parts[i].at;
		l->text.len = parts[i].at + parts[i].len;
		parse_part(p, out, i + 1 == count);
	}
	out->types.constant = NULL; /* the parser ends here */
	if (!p->err && !out->clauses)
		return diag_error(p->d, -EINVAL, "empty-script", "the script has no clauses");
	return p->err;
}
