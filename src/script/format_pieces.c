/* The pieces of a script, tokens and comments, and the blanks between two of them. */
#include "script/format.h"

#include <errno.h>

#include "base/array.h"
#include "script/parse/builtin.h"

static void add_piece(struct formatter *f, struct text_piece p)
{
	if (arena_grow(&f->arena, (void **)&f->pieces, f->count, &f->cap, sizeof(*f->pieces)))
		f->err = -ENOMEM;
	else
		f->pieces[f->count++] = p;
}

/* Blanks from `at` on; *breaks counts their ends of lines. */
size_t format_skip_blanks(struct str s, size_t at, unsigned *breaks)
{
	for (*breaks = 0; at < s.len && strchr(" \t\r\n\f\v", s.ptr[at]) && s.ptr[at]; at++)
		*breaks += s.ptr[at] == '\n';
	return at;
}

/* A comment at `at`: where it ends; `at` itself: there is none. */
size_t format_comment_end(struct str s, size_t at, enum piece_kind *kind)
{
	const char *end;

	if (at + 1 >= s.len || s.ptr[at] != '/' || (s.ptr[at + 1] != '/' && s.ptr[at + 1] != '*'))
		return at;
	*kind = s.ptr[at + 1] == '/' ? PIECE_LINE_COMMENT : PIECE_COMMENT;
	if (*kind == PIECE_COMMENT)
		end = memmem(s.ptr + at + 2, s.len - at - 2, "*/", 2);
	else
		end = memchr(s.ptr + at, '\n', s.len - at);
	if (!end)
		return s.len;
	return (size_t)(end - s.ptr) + (*kind == PIECE_COMMENT ? 2 : 0);
}

struct str format_trim_end(struct str s)
{
	while (s.len && strchr(" \t\r", s.ptr[s.len - 1]))
		s.len--;
	return s;
}

/* The bracket that ends what this one begins; TOKEN_END: it begins nothing. */
static enum token_kind closer_of(enum token_kind kind)
{
	return kind == TOKEN_LPAREN	? TOKEN_RPAREN
	       : kind == TOKEN_LBRACKET ? TOKEN_RBRACKET
	       : kind == TOKEN_LBRACE	? TOKEN_RBRACE
					: TOKEN_END;
}

static bool is_closer(enum token_kind kind)
{
	return kind == TOKEN_RPAREN || kind == TOKEN_RBRACKET || kind == TOKEN_RBRACE;
}

/* Find the other end of each bracket. -EINVAL: they do not match, as in a macro that nothing uses.
 */
static int pair_brackets(struct formatter *f)
{
	size_t *open = arena_array(&f->arena, size_t, f->count + 1), depth = 0;

	if (!open)
		return -ENOMEM;
	for (size_t i = 0; i < f->count; i++) {
		struct text_piece *p = &f->pieces[i];

		if (p->kind != PIECE_TOKEN)
			continue;
		if (closer_of(p->token) != TOKEN_END) {
			open[depth++] = i;
		} else if (is_closer(p->token)) {
			if (!depth || closer_of(f->pieces[open[depth - 1]].token) != p->token)
				return -EINVAL;
			p->pair = open[--depth];
			f->pieces[p->pair].pair = i;
		}
	}
	return depth ? -EINVAL : 0;
}

/* Read the pieces of [from, to) again. */
void format_read_pieces(struct formatter *f, size_t from, size_t to, bool in_predicate)
{
	struct lexer l = {.text = str_of(f->source.ptr, to),
			  .at = from,
			  .in_predicate = in_predicate,
			  .arena = &f->arena};
	struct token t = {.kind = TOKEN_INT};

	f->count = 0;
	while (!f->err && t.kind != TOKEN_END) {
		struct text_piece p = {.kind = PIECE_TOKEN};
		size_t start = format_skip_blanks(l.text, l.at, &p.breaks),
		       end = format_comment_end(l.text, start, &p.kind);

		l.at = end;
		p.text = format_trim_end(str_of(l.text.ptr + start, end - start));
		if (end == start) {
			p.kind = PIECE_TOKEN;
			f->err = lex_token(&l, &t);
			p.token = t.kind;
			p.text = str_of(l.text.ptr + t.mark.at, t.mark.len);
		}
		if (!f->err && t.kind != TOKEN_END)
			add_piece(f, p);
	}
	f->err = f->err ? f->err : pair_brackets(f);
}

bool format_is_token(const struct formatter *f, size_t n, enum token_kind kind)
{
	return n < f->count && f->pieces[n].kind == PIECE_TOKEN && f->pieces[n].token == kind;
}

bool format_is_word(const struct formatter *f, size_t n, const char *word)
{
	return format_is_token(f, n, TOKEN_WORD) && str_eq_text(f->pieces[n].text, word);
}

static bool is_keyword(struct str word)
{
	static const char *const words[] = {"if",     "else",	"while", "for",
					    "unroll", "return", "let"};

	for (size_t i = 0; i < COUNT(words); i++)
		if (str_eq_text(word, words[i]))
			return true;
	return false;
}

/* Does "( ... )" look like a type? */
static bool is_cast(const struct formatter *f, size_t open)
{
	size_t close = f->pieces[open].pair;

	if (!format_is_token(f, open + 1, TOKEN_WORD) ||
	    (open && format_is_token(f, open - 1, TOKEN_WORD) &&
	     !is_keyword(f->pieces[open - 1].text)))
		return false;
	for (size_t i = open + 1; i < close; i++)
		if (!format_is_token(f, i, TOKEN_WORD) && !format_is_token(f, i, TOKEN_MUL) &&
		    !format_is_token(f, i, TOKEN_LBRACKET) &&
		    !format_is_token(f, i, TOKEN_RBRACKET) && !format_is_token(f, i, TOKEN_INT))
			return false;
	return close > open + 2 || !function_find(f->builtins, f->pieces[open + 1].text);
}

static bool is_step(enum token_kind kind)
{
	return kind == TOKEN_INC || kind == TOKEN_DEC;
}

/* Can an operand end with piece n, so that a sign after it is a binary operator? */
static bool ends_operand(const struct formatter *f, size_t n)
{
	const struct text_piece *p = &f->pieces[n];

	switch (p->token) {
	case TOKEN_WORD: return !is_keyword(p->text);
	case TOKEN_INT:
	case TOKEN_STRING:
	case TOKEN_MAP:
	case TOKEN_VARIABLE:
	case TOKEN_PARAM:
	case TOKEN_PARAMS:
	case TOKEN_RBRACKET:
	case TOKEN_RBRACE: return true;
	case TOKEN_RPAREN: return !is_cast(f, p->pair);
	case TOKEN_INC:
	case TOKEN_DEC: return n > 0 && ends_operand(f, n - 1) && !is_step(f->pieces[n - 1].token);
	default: return false;
	}
}

static bool is_sign(enum token_kind kind)
{
	return kind == TOKEN_ADD || kind == TOKEN_SUB || kind == TOKEN_MUL || kind == TOKEN_BAND ||
	       kind == TOKEN_NOT || kind == TOKEN_BNOT;
}

/* The star of a pointer's type: "(struct conn *)", "let $p: int8 *;" */
static bool is_type_star(const struct formatter *f, size_t n)
{
	static const enum token_kind after[] = {TOKEN_RPAREN,	TOKEN_MUL,	 TOKEN_COMMA,
						TOKEN_LBRACKET, TOKEN_SEMICOLON, TOKEN_ASSIGN};

	if (!format_is_token(f, n, TOKEN_MUL) || !n ||
	    (!format_is_token(f, n - 1, TOKEN_WORD) && !is_type_star(f, n - 1)))
		return false;
	for (size_t i = 0; i < COUNT(after); i++)
		if (format_is_token(f, n + 1, after[i]))
			return true;
	return false;
}

static bool is_prefix(const struct formatter *f, size_t n)
{
	enum token_kind kind = f->pieces[n].token;

	return (is_sign(kind) || is_step(kind)) && !is_type_star(f, n) &&
	       (!n || f->pieces[n - 1].kind != PIECE_TOKEN || !ends_operand(f, n - 1));
}

static bool is_tight(enum token_kind kind)
{
	return kind == TOKEN_DOT || kind == TOKEN_ARROW || kind == TOKEN_RANGE;
}

/* The ':' of a declaration, and not of ?: or for. */
static bool is_declaring(const struct formatter *f, size_t n)
{
	return format_is_token(f, n, TOKEN_COLON) && n > 1 &&
	       format_is_token(f, n - 1, TOKEN_VARIABLE) && format_is_word(f, n - 2, "let");
}

bool format_needs_blank(const struct formatter *f, size_t n)
{
	const struct text_piece *a = &f->pieces[n - 1], *b = &f->pieces[n];

	if (a->kind != PIECE_TOKEN || b->kind != PIECE_TOKEN)
		return true;
	if (a->token == TOKEN_LPAREN || a->token == TOKEN_LBRACKET || b->token == TOKEN_RPAREN ||
	    b->token == TOKEN_RBRACKET || b->token == TOKEN_COMMA || b->token == TOKEN_SEMICOLON ||
	    is_tight(a->token) || is_tight(b->token))
		return false;
	if (is_prefix(f, n - 1)) /* "- -1" is not "--1" */
		return is_prefix(f, n) && a->text.ptr[a->text.len - 1] == b->text.ptr[0];
	if (is_declaring(f, n))
		return false;
	if (b->token == TOKEN_LPAREN || b->token == TOKEN_LBRACKET)
		return a->token == TOKEN_WORD
			       ? is_keyword(a->text)
			       : !ends_operand(f, n - 1) && a->token != TOKEN_RPAREN &&
					 !is_type_star(f, n - 1);
	if (is_step(b->token) && ends_operand(f, n - 1))
		return false;
	if (is_type_star(f, n - 1) && is_type_star(f, n))
		return false;
	/* After a cast. */
	return a->token != TOKEN_RPAREN || ends_operand(f, n - 1);
}
