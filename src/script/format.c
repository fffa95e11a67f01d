/* Formatting a script (`nopal fmt`): the same tokens and comments, in a layout of our own.
 *
 *	text --pieces--> tokens and comments, each with the line breaks before it
 *	     --print-->  blocks indented by tabs, one statement a line, blanks around operators
 *
 * What is kept from the author: comments, single blank lines, breaks inside of a statement, and a
 * block on one line that fits there. So formatting twice changes nothing. Directives and
 * definitions of C are copied as they are, except for blanks at the ends of lines. */
#include "script/format.h"

#include <errno.h>

#include "base/array.h"
#include "script/parse/declarations.h"
#include "script/parse/probe_spec.h"
#include "script/parse/script_state.h"
#include "script/script.h"

#define WIDTH 80 /* columns that a block on one line may reach */
#define TAB   8

static void put_indent(struct formatter *f, unsigned more)
{
	for (unsigned i = 0; i < f->indent + more; i++)
		buf_char(f->out, '\t');
}

/* Columns from the last end of a line to the end of the text. */
static size_t column_at_end(const struct buf *text)
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
		if (i > from && format_needs_blank(f, i))
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
		    format_is_token(f, i, TOKEN_LBRACE))
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
	if (column_at_end(f->out) <= WIDTH)
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
	} else if (p->breaks && !format_is_token(f, n, TOKEN_LBRACE) &&
		   !format_is_word(f, n, "else")) {
		buf_char(f->out, '\n');
		put_indent(f, 1);
	} else if (f->pieces[n - 1].kind == PIECE_LINE_COMMENT) {
		buf_char(f->out, '\n');
		put_indent(f, 1);
	} else if (format_is_token(f, n, TOKEN_LBRACE) || format_needs_blank(f, n)) {
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
	if (n + 1 >= f->count || format_is_word(f, n + 1, "else") ||
	    format_is_token(f, n + 1, TOKEN_SEMICOLON) || format_is_token(f, n + 1, TOKEN_COMMA))
		return GAP_INSIDE;
	return f->pieces[n + 1].kind != PIECE_TOKEN || format_is_token(f, n + 1, TOKEN_WORD) ||
			       format_is_token(f, n + 1, TOKEN_VARIABLE) ||
			       format_is_token(f, n + 1, TOKEN_MAP) ||
			       format_is_token(f, n + 1, TOKEN_LBRACE) ||
			       format_is_token(f, n + 1, TOKEN_RBRACE)
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
		if (format_is_token(f, i, TOKEN_LBRACE)) {
			put_block(f, i);
			i = f->pieces[i].pair;
		} else {
			buf_str(f->out, f->pieces[i].text);
			depth += format_is_token(f, i, TOKEN_LPAREN) ||
				 format_is_token(f, i, TOKEN_LBRACKET);
			depth -= format_is_token(f, i, TOKEN_RPAREN) ||
				 format_is_token(f, i, TOKEN_RBRACKET);
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

/* Copied as it is, except for blanks at ends of lines. */
static void put_verbatim(struct formatter *f, struct str text)
{
	while (text.len) {
		bool is_last = str_index(text, '\n') < 0;

		buf_str(f->out, format_trim_end(str_cut(&text, '\n')));
		if (!is_last)
			buf_char(f->out, '\n');
	}
}

/* The first '{' among the pieces; f->count: none. */
static size_t first_brace(const struct formatter *f)
{
	size_t i = 0;

	while (i < f->count && !format_is_token(f, i, TOKEN_LBRACE))
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
		at = format_skip_blanks(f->source, at, &breaks);
		end = format_comment_end(f->source, at, &kind);
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
	if (f->source.ptr[out->predicate] == ',')
		out->predicate = skip_to_code(f, out->predicate + 1);
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
	format_read_pieces(f, at->predicate + 1, at->predicate_end - 1, false);
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
	format_read_pieces(f, at->body, at->end, false);
	if (!f->err && put_one_line(f, 0) && column_at_end(f->out) <= WIDTH)
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
	format_read_pieces(f, at.body, at.end, false);
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

/* Of config, macros, functions and maps the form is known; the others, and what a condition leaves
 * out, are copied. */
static void put_item(struct formatter *f, size_t from, size_t to)
{
	static const char *const known[] = {"config", "macro", "fn", "let"};

	format_read_pieces(f, from, to, false);
	if (f->err) /* bytes that are not of the language, such as those of a directive */
		f->count = 0;
	f->err = f->err == -ENOMEM ? f->err : 0;
	for (size_t i = 0; i < COUNT(known); i++) {
		size_t brace = first_brace(f);

		if (!f->count || !format_is_word(f, 0, known[i]))
			continue;
		put_flat(f, 0, brace);
		if (brace == f->count)
			return;
		buf_char(f->out, ' ');
		put_block(f, brace);
		put_flat(f, f->pieces[brace].pair + 1, f->count);
		return;
	}
	put_verbatim(f, format_trim_end(str_of(f->source.ptr + from, to - from)));
}

/* What is between clauses: comments, and other items. Two items on one line come on two. */
static void put_between(struct formatter *f, size_t from, size_t to)
{
	size_t at = from, end;
	enum piece_kind kind;
	unsigned breaks;

	for (;; at = end) {
		at = format_skip_blanks(f->source, at, &breaks);
		end = format_comment_end(f->source, at, &kind);
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
			put_verbatim(f, format_trim_end(str_of(f->source.ptr + at, end - at)));
			continue;
		}
		end = item_end(f, at, to);
		put_item(f, at, end);
	}
}

int script_format(const struct script *s, struct buf *out)
{
	/* The script's own text comes first; the files that it imports are not formatted. */
	struct str own = str_of(s->text.ptr, s->parts[s->part_count - 1].len);
	struct formatter f = {.source = own, .builtins = s->builtins, .out = out};
	size_t at = 0;

	if (str_starts(own, STR("#!"))) {
		at = line_end(&f, 0, own.len);
		buf_str(out, format_trim_end(str_of(own.ptr, at)));
	}
	for (const struct tree_clause *c = s->tree.clauses; c && !f.err; c = c->next) {
		if (c->mark.at >= own.len)
			continue;
		put_between(&f, at, c->mark.at);
		put_clause(&f, c);
		at = c->mark.at + c->mark.len;
	}
	if (!f.err)
		put_between(&f, at, own.len);
	while (out->len && out->ptr[out->len - 1] == '\n')
		out->len--;
	buf_char(out, '\n');
	arena_free(&f.arena);
	return f.err ? f.err : out->failed ? -ENOMEM : 0;
}
