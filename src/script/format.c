/* Formatting a script (`nopal fmt`): the same tokens and comments, laid out anew.
 *
 *	text --pieces--> tokens and comments, each with the line breaks before it
 *	     --print-->  blocks indented by tabs, one statement a line, blanks around operators
 *
 * What is kept from the author: comments, single blank lines, breaks inside of a statement, and a
 * block on one line that fits there. So formatting twice changes nothing. Directives and
 *definitions of C are copied as they are, except for blanks at the ends of lines. */
#include <errno.h>

#include "base/array.h"
#include "script/inside.h"
#include "script/parse.h"

#define WIDTH 80 /* columns that a block on one line may reach */
#define TAB   8

enum piece_kind { PIECE_TOKEN, PIECE_LINE_COMMENT, PIECE_COMMENT };

struct text_piece {
	enum piece_kind kind;
	enum token_kind token;
	struct str text; /* as the source has it */
	unsigned breaks; /* ends of lines before it */
	size_t pair;	 /* of a bracket: the number of the other one */
};

struct formatter {
	struct str source;
	struct arena arena;
	struct buf *out;
	struct text_piece *pieces;
	size_t count, cap;
	unsigned indent;
	int err;
};

/* ---- Pieces ---- */

static void add_piece(struct formatter *f, struct text_piece p)
{
	if (arena_grow(&f->arena, (void **)&f->pieces, f->count, &f->cap, sizeof(*f->pieces)))
		f->err = -ENOMEM;
	else
		f->pieces[f->count++] = p;
}

/* Blanks from `at` on; *breaks counts their ends of lines. */
static size_t skip_blanks(struct str s, size_t at, unsigned *breaks)
{
	for (*breaks = 0; at < s.len && strchr(" \t\r\n\f\v", s.ptr[at]) && s.ptr[at]; at++)
		*breaks += s.ptr[at] == '\n';
	return at;
}

/* A comment at `at`: where it ends; `at` itself: there is none. */
static size_t comment_end(struct str s, size_t at, enum piece_kind *kind)
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

static struct str trim_end(struct str s)
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

/* Read the pieces of [from, to) anew. */
static void read_pieces(struct formatter *f, size_t from, size_t to, bool in_predicate)
{
	struct lexer l = {.text = str_of(f->source.ptr, to),
			  .at = from,
			  .in_predicate = in_predicate,
			  .arena = &f->arena};
	struct token t = {.kind = TOKEN_INT};

	f->count = 0;
	while (!f->err && t.kind != TOKEN_END) {
		struct text_piece p = {.kind = PIECE_TOKEN};
		size_t start = skip_blanks(l.text, l.at, &p.breaks),
		       end = comment_end(l.text, start, &p.kind);

		l.at = end;
		p.text = trim_end(str_of(l.text.ptr + start, end - start));
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

static bool is_token(const struct formatter *f, size_t n, enum token_kind kind)
{
	return n < f->count && f->pieces[n].kind == PIECE_TOKEN && f->pieces[n].token == kind;
}

static bool is_word(const struct formatter *f, size_t n, const char *word)
{
	return is_token(f, n, TOKEN_WORD) && str_eq_text(f->pieces[n].text, word);
}

/* ---- Blanks between two tokens ---- */

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

	if (!is_token(f, open + 1, TOKEN_WORD) ||
	    (open && is_token(f, open - 1, TOKEN_WORD) && !is_keyword(f->pieces[open - 1].text)))
		return false;
	for (size_t i = open + 1; i < close; i++)
		if (!is_token(f, i, TOKEN_WORD) && !is_token(f, i, TOKEN_MUL) &&
		    !is_token(f, i, TOKEN_LBRACKET) && !is_token(f, i, TOKEN_RBRACKET) &&
		    !is_token(f, i, TOKEN_INT))
			return false;
	return close > open + 2 || !function_find(f->pieces[open + 1].text);
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

	if (!is_token(f, n, TOKEN_MUL) || !n ||
	    (!is_token(f, n - 1, TOKEN_WORD) && !is_type_star(f, n - 1)))
		return false;
	for (size_t i = 0; i < COUNT(after); i++)
		if (is_token(f, n + 1, after[i]))
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
	return is_token(f, n, TOKEN_COLON) && n > 1 && is_token(f, n - 1, TOKEN_VARIABLE) &&
	       is_word(f, n - 2, "let");
}

static bool needs_blank(const struct formatter *f, size_t n)
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

/* ---- Printing ---- */

static void put_indent(struct formatter *f, unsigned more)
{
	for (unsigned i = 0; i < f->indent + more; i++)
		buf_char(f->out, '\t');
}

/* Columns from the last end of a line to the end of the text. */
static size_t column(const struct buf *text)
{
	size_t columns = 0, start = text->len;

	while (start && text->ptr[start - 1] != '\n')
		start--;
	for (size_t i = start; i < text->len; i++)
		columns = text->ptr[i] == '\t' ? (columns / TAB + 1) * TAB : columns + 1;
	return columns;
}

/* Pieces [from, to) on one line. */
static void put_flat(struct formatter *f, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		if (i > from && needs_blank(f, i))
			buf_char(f->out, ' ');
		buf_str(f->out, f->pieces[i].text);
	}
}

/* Is the block on one line, with no block in it? */
static bool is_flat(const struct formatter *f, size_t open)
{
	size_t close = f->pieces[open].pair;

	for (size_t i = open + 1; i <= close; i++)
		if (f->pieces[i].breaks || f->pieces[i].kind == PIECE_LINE_COMMENT ||
		    is_token(f, i, TOKEN_LBRACE))
			return false;
	return true;
}

static bool put_one_line(struct formatter *f, size_t open)
{
	size_t start = f->out->len, close = f->pieces[open].pair;

	if (!is_flat(f, open))
		return false;
	buf_text(f->out, "{ ");
	put_flat(f, open + 1, close);
	buf_text(f->out, close > open + 1 ? " }" : "}");
	if (column(f->out) <= WIDTH)
		return true;
	f->out->len = start;
	return false;
}

static void put_block(struct formatter *f, size_t open);

/* What comes between the pieces of a block. */
enum gap { GAP_START, GAP_STATEMENT, GAP_INSIDE };

/* The break or blank before piece n, which comes after a gap. */
static void put_gap(struct formatter *f, size_t n, enum gap gap, size_t first)
{
	const struct text_piece *p = &f->pieces[n];
	bool is_comment = p->kind != PIECE_TOKEN;

	if (gap == GAP_STATEMENT && is_comment && !p->breaks) {
		buf_char(f->out, ' '); /* at the end of its line */
	} else if (gap != GAP_INSIDE) {
		buf_char(f->out, '\n');
		if (p->breaks > 1 && n > first)
			buf_char(f->out, '\n');
		put_indent(f, 0);
	} else if (p->breaks && !is_token(f, n, TOKEN_LBRACE) && !is_word(f, n, "else")) {
		buf_char(f->out, '\n');
		put_indent(f, 1);
	} else if (f->pieces[n - 1].kind == PIECE_LINE_COMMENT) {
		buf_char(f->out, '\n');
		put_indent(f, 1);
	} else if (is_token(f, n, TOKEN_LBRACE) || needs_blank(f, n)) {
		buf_char(f->out, ' ');
	}
}

/* After piece n, the last that was printed, does a statement or a comment of its own begin? */
static enum gap gap_after(const struct formatter *f, size_t n, enum gap before, unsigned depth)
{
	const struct text_piece *p = &f->pieces[n];

	if (p->kind != PIECE_TOKEN)
		return before == GAP_INSIDE ? GAP_INSIDE : GAP_STATEMENT;
	if (depth)
		return GAP_INSIDE;
	if (p->token == TOKEN_SEMICOLON)
		return GAP_STATEMENT;
	if (p->token != TOKEN_RBRACE)
		return GAP_INSIDE;
	if (n + 1 >= f->count || is_word(f, n + 1, "else") || is_token(f, n + 1, TOKEN_SEMICOLON) ||
	    is_token(f, n + 1, TOKEN_COMMA))
		return GAP_INSIDE;
	return f->pieces[n + 1].kind != PIECE_TOKEN || is_token(f, n + 1, TOKEN_WORD) ||
			       is_token(f, n + 1, TOKEN_VARIABLE) ||
			       is_token(f, n + 1, TOKEN_MAP) || is_token(f, n + 1, TOKEN_LBRACE) ||
			       is_token(f, n + 1, TOKEN_RBRACE)
		       ? GAP_STATEMENT
		       : GAP_INSIDE;
}

/* The pieces [from, to): statements, each on a line. */
static void put_statements(struct formatter *f, size_t from, size_t to)
{
	enum gap gap = GAP_START;
	unsigned depth = 0;

	for (size_t i = from; i < to; i++) {
		put_gap(f, i, gap, from);
		if (is_token(f, i, TOKEN_LBRACE)) {
			put_block(f, i);
			i = f->pieces[i].pair;
		} else {
			buf_str(f->out, f->pieces[i].text);
			depth += is_token(f, i, TOKEN_LPAREN) || is_token(f, i, TOKEN_LBRACKET);
			depth -= is_token(f, i, TOKEN_RPAREN) || is_token(f, i, TOKEN_RBRACKET);
		}
		gap = gap_after(f, i, gap, depth);
	}
}

static void put_block(struct formatter *f, size_t open)
{
	if (put_one_line(f, open))
		return;
	buf_char(f->out, '{');
	f->indent++;
	put_statements(f, open + 1, f->pieces[open].pair);
	f->indent--;
	buf_char(f->out, '\n');
	put_indent(f, 0);
	buf_char(f->out, '}');
}

/* ---- Items ---- */

/* Copied as it is, except for blanks at ends of lines. */
static void put_verbatim(struct formatter *f, struct str text)
{
	while (text.len) {
		bool is_last = str_index(text, '\n') < 0;

		buf_str(f->out, trim_end(str_cut(&text, '\n')));
		if (!is_last)
			buf_char(f->out, '\n');
	}
}

/* The first '{' among the pieces; f->count: none. */
static size_t first_brace(const struct formatter *f)
{
	size_t i = 0;

	while (i < f->count && !is_token(f, i, TOKEN_LBRACE))
		i++;
	return i;
}

/* The comments between two parts of a clause, each on its line. */
static void put_comments(struct formatter *f, size_t from, size_t to)
{
	size_t at = from, end;
	enum piece_kind kind;
	unsigned breaks;

	for (;; at = end) {
		at = skip_blanks(f->source, at, &breaks);
		end = comment_end(f->source, at, &kind);
		if (at >= to || end == at)
			return;
		put_verbatim(f, str_of(f->source.ptr + at, end - at));
		buf_char(f->out, '\n');
	}
}

/* Where a clause's parts are in the source. */
struct clause_places {
	size_t at, end;
	size_t predicate, predicate_end; /* both signs included; empty: there is none */
	size_t body;
};

static size_t skip_to_code(const struct formatter *f, size_t at)
{
	struct lexer l = {.text = f->source, .at = at};

	lex_blank(&l);
	return l.at;
}

static void find_places(struct formatter *f, const struct tree_clause *c, struct clause_places *out)
{
	const struct probe_spec *last = c->probes;
	struct lexer l = {.text = f->source, .in_predicate = true, .arena = &f->arena};
	struct token t = {.kind = TOKEN_END};

	while (last->next)
		last = last->next;
	out->at = c->mark.at;
	out->end = c->mark.at + c->mark.len;
	out->predicate = skip_to_code(f, last->mark.at + last->mark.len);
	out->predicate_end = out->body = out->predicate;
	if (!c->predicate)
		return;
	l.at = out->predicate + 1;
	while (!f->err && t.kind != TOKEN_END_PREDICATE)
		f->err = lex_token(&l, &t);
	out->predicate_end = l.at;
	out->body = skip_to_code(f, l.at);
}

/* Each on a line, with the comments between them. */
static void put_probes(struct formatter *f, const struct tree_clause *c)
{
	size_t at = c->mark.at;

	for (const struct probe_spec *p = c->probes; p; p = p->next) {
		size_t end = p->mark.at + p->mark.len, comma = skip_to_code(f, end);

		put_comments(f, at, p->mark.at);
		buf_str(f->out, str_of(f->source.ptr + p->mark.at, p->mark.len));
		buf_text(f->out, p->next ? ",\n" : "\n");
		put_comments(f, end, comma);
		at = comma + 1;
	}
}

static void put_probes_flat(struct formatter *f, const struct tree_clause *c)
{
	for (const struct probe_spec *p = c->probes; p; p = p->next) {
		buf_str(f->out, str_of(f->source.ptr + p->mark.at, p->mark.len));
		if (p->next)
			buf_text(f->out, ", ");
	}
}

static void put_predicate(struct formatter *f, const struct clause_places *at)
{
	read_pieces(f, at->predicate + 1, at->predicate_end - 1, false);
	buf_text(f->out, f->count && f->pieces[0].text.ptr[0] == '*' ? "/ " : "/"); /* no comment */
	f->indent++;
	for (size_t i = 0; i < f->count; i++) {
		if (i)
			put_gap(f, i, GAP_INSIDE, 0);
		buf_str(f->out, f->pieces[i].text);
	}
	f->indent--;
	if (f->count && f->pieces[f->count - 1].kind == PIECE_LINE_COMMENT)
		buf_char(f->out, '\n');
	buf_char(f->out, '/');
}

static bool has_comment(const struct formatter *f, size_t from, size_t to)
{
	return memmem(f->source.ptr + from, to - from, "/*", 2) ||
	       memmem(f->source.ptr + from, to - from, "//", 2);
}

/* Is all of the clause on one line, and does it fit? */
static bool put_clause_flat(struct formatter *f, const struct tree_clause *c,
			    const struct clause_places *at)
{
	size_t start = f->out->len;

	if (memchr(f->source.ptr + at->at, '\n', at->end - at->at) ||
	    has_comment(f, at->predicate, at->end))
		return false;
	put_probes_flat(f, c);
	if (c->predicate) {
		buf_char(f->out, ' ');
		put_predicate(f, at);
	}
	buf_char(f->out, ' ');
	read_pieces(f, at->body, at->end, false);
	if (!f->err && put_one_line(f, 0) && column(f->out) <= WIDTH)
		return true;
	f->out->len = start;
	return false;
}

static void put_clause(struct formatter *f, const struct tree_clause *c)
{
	struct clause_places at;

	find_places(f, c, &at);
	if (f->err || put_clause_flat(f, c, &at))
		return;
	put_probes(f, c);
	if (c->predicate) {
		put_predicate(f, &at);
		buf_char(f->out, '\n');
		put_comments(f, at.predicate_end, at.body);
	}
	read_pieces(f, at.body, at.end, false);
	if (!f->err)
		put_block(f, 0);
}

static size_t line_end(const struct formatter *f, size_t at, size_t to)
{
	const char *end = memchr(f->source.ptr + at, '\n', to - at);

	return end ? (size_t)(end - f->source.ptr) : to;
}

/* An item that is not a clause: where it ends. Of what has no such end, the line is one. */
static size_t item_end(struct formatter *f, size_t at, size_t to)
{
	struct lexer l = {.text = str_of(f->source.ptr, to), .at = at, .arena = &f->arena};
	struct token t = {.kind = TOKEN_END};
	unsigned depth = 0;

	if (f->source.ptr[at] == '#')
		return line_end(f, at, to);
	while (!lex_token(&l, &t) && t.kind != TOKEN_END) {
		depth += t.kind == TOKEN_LBRACE;
		depth -= t.kind == TOKEN_RBRACE && depth;
		if (!depth && t.kind == TOKEN_SEMICOLON)
			return l.at;
		if (!depth && t.kind == TOKEN_RBRACE) {
			size_t after = skip_to_code(f, l.at);

			return after < to && f->source.ptr[after] == ';' ? after + 1 : l.at;
		}
	}
	return line_end(f, at, to);
}

/* Of config, macros and maps the form is known; the others, and what a condition leaves out, are
 * copied. */
static void put_item(struct formatter *f, size_t from, size_t to)
{
	static const char *const known[] = {"config", "macro", "let"};

	read_pieces(f, from, to, false);
	if (f->err) /* bytes that are not of the language, such as those of a directive */
		f->count = 0;
	f->err = f->err == -ENOMEM ? f->err : 0;
	for (size_t i = 0; i < COUNT(known); i++) {
		size_t brace = first_brace(f);

		if (!f->count || !is_word(f, 0, known[i]))
			continue;
		put_flat(f, 0, brace);
		if (brace == f->count)
			return;
		buf_char(f->out, ' ');
		put_block(f, brace);
		put_flat(f, f->pieces[brace].pair + 1, f->count);
		return;
	}
	put_verbatim(f, trim_end(str_of(f->source.ptr + from, to - from)));
}

/* What is between clauses: comments, and other items. Two items on one line come on two. */
static void put_between(struct formatter *f, size_t from, size_t to)
{
	size_t at = from, end;
	enum piece_kind kind;
	unsigned breaks;

	for (;; at = end) {
		at = skip_blanks(f->source, at, &breaks);
		end = comment_end(f->source, at, &kind);
		if (f->out->len && (at < to || to < f->source.len)) {
			if (!breaks && end > at && at < to) {
				buf_char(f->out, ' '); /* a comment after an item */
			} else {
				buf_char(f->out, '\n');
				if (breaks > 1)
					buf_char(f->out, '\n');
			}
		}
		if (at >= to || f->err)
			return;
		if (end > at) {
			put_verbatim(f, trim_end(str_of(f->source.ptr + at, end - at)));
			continue;
		}
		end = item_end(f, at, to);
		put_item(f, at, end);
	}
}

int script_format(const struct script *s, struct buf *out)
{
	struct formatter f = {.source = s->text, .out = out};
	size_t at = 0;

	if (str_starts(s->text, STR("#!"))) {
		at = line_end(&f, 0, s->text.len);
		buf_str(out, trim_end(str_of(s->text.ptr, at)));
	}
	for (const struct tree_clause *c = s->tree.clauses; c && !f.err; c = c->next) {
		put_between(&f, at, c->mark.at);
		put_clause(&f, c);
		at = c->mark.at + c->mark.len;
	}
	if (!f.err)
		put_between(&f, at, s->text.len);
	while (out->len && out->ptr[out->len - 1] == '\n')
		out->len--;
	buf_char(out, '\n');
	arena_free(&f.arena);
	return f.err ? f.err : out->failed ? -ENOMEM : 0;
}
