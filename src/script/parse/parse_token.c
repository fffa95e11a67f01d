/* The token that the parser looks at: macros of the preprocessor are expanded here. And what every
 * production needs: errors, depth, marks. */
#include "script/parse/parse.h"

#include <errno.h>

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

bool parse_is_word(const struct parser *p, const char *word)
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
