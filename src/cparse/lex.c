/* The tokens of C and D: the lexer makes them, and the parser walks over them, two at a
 * time, with messages that point at them, and with ways to skip what is not needed. */
#include "cparse/cparse.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>

#include "base/array.h"

/* Brackets inside brackets in text that is skipped. */
#define MAX_BRACKETS 256

/* Characters of a token that a message shows. */
#define MAX_SHOWN 40

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* D's names may have a dollar sign. */
static bool is_letter(char c)
{
	return c == '$' || (char_is_word(c) && !char_is_digit(c));
}

/* The byte `ahead` of the current one; NUL after the end. */
static char look_ahead(const struct c_lexer *l, size_t ahead)
{
	return l->at + ahead < l->text.len ? l->text.ptr[l->at + ahead] : '\0';
}

static struct str text_since(const struct c_lexer *l, size_t from)
{
	return str_of(l->text.ptr + from, l->at - from);
}

static bool is_at_or_before(const void *marker, const void *at)
{
	return ((const struct line_marker *)marker)->at <= *(const size_t *)at;
}

struct span parser_span(const struct c_lexer *l, struct str text)
{
	size_t at = (size_t)(text.ptr - l->text.ptr), start = 0, end = at;
	/* The last marker at or before it; markers are in the order of the text. */
	size_t after =
		lower_bound(l->markers, l->marker_count, sizeof(*l->markers), is_at_or_before, &at);
	const struct line_marker *marker = after ? &l->markers[after - 1] : NULL;

	if (marker)
		start = marker->at;
	/* Messages show no more than the line. */
	while (end < l->text.len && l->text.ptr[end] != '\n' && l->text.ptr[end] != '\r')
		end++;
	return (struct span){
		.path = marker ? marker->path : l->path,
		.source = str_of(l->text.ptr + start, end - start),
		.at = at - start,
		.len = text.len,
		.lines_above = marker ? marker->line - 1 : 0,
	};
}

static int fail_at(struct c_lexer *l, struct str at, const char *tag, const char *text)
{
	return diag_error_at(l->diag, -EINVAL, tag, parser_span(l, at), "%s", text);
}

static int skip_block_comment(struct c_lexer *l)
{
	size_t start = l->at;

	for (l->at += 2; l->at < l->text.len; l->at++) {
		if (look_ahead(l, 0) == '*' && look_ahead(l, 1) == '/') {
			l->at += 2;
			return 0;
		}
	}
	return fail_at(l, str_of(l->text.ptr + start, 2), "open-comment", "unterminated comment");
}

/* To the end of the line, which a backslash before the newline continues. */
static void skip_line(struct c_lexer *l)
{
	for (; l->at < l->text.len && look_ahead(l, 0) != '\n'; l->at++) {
		if (look_ahead(l, 0) != '\\')
			continue;
		if (look_ahead(l, 1) == '\r' && look_ahead(l, 2) == '\n')
			l->at += 2;
		else if (look_ahead(l, 1) == '\n')
			l->at++;
	}
}

/* A directive's line: a comment may carry it over to the lines below. */
static int skip_directive(struct c_lexer *l)
{
	int err = 0;

	while (!err && l->at < l->text.len && look_ahead(l, 0) != '\n') {
		if (look_ahead(l, 0) == '/' && look_ahead(l, 1) == '*')
			err = skip_block_comment(l);
		else if (look_ahead(l, 0) == '/' && look_ahead(l, 1) == '/')
			skip_line(l);
		else if (look_ahead(l, 0) == '\\')
			l->at += look_ahead(l, 1) == '\n'				? 2
				 : look_ahead(l, 1) == '\r' && look_ahead(l, 2) == '\n' ? 3
											: 1;
		else
			l->at++;
	}
	return err;
}

static void skip_blanks(struct c_lexer *l)
{
	while (l->at < l->text.len && is_blank(look_ahead(l, 0)))
		l->at++;
}

static struct str take_word(struct c_lexer *l)
{
	size_t start;

	skip_blanks(l);
	start = l->at;
	while (l->at < l->text.len &&
	       (is_letter(look_ahead(l, 0)) || char_is_digit(look_ahead(l, 0))))
		l->at++;
	return text_since(l, start);
}

/* # NUMBER "path" flags, as cpp writes it; anything else that starts with a number is a comment. */
static int take_marker(struct c_lexer *l, struct str number)
{
	struct line_marker *m;
	uint64_t line;
	size_t start;

	skip_blanks(l);
	start = l->at + 1;
	if (look_ahead(l, 0) != '"' || str_to_u64(number, &line) || line < 1 || line > INT_MAX) {
		skip_line(l);
		return 0;
	}
	for (l->at++; l->at < l->text.len && look_ahead(l, 0) != '"' && look_ahead(l, 0) != '\n';
	     l->at++)
		;
	if (arena_grow(l->arena, (void **)&l->markers, l->marker_count, &l->marker_cap,
		       sizeof(*l->markers)))
		return -ENOMEM;
	m = &l->markers[l->marker_count++];
	m->path = text_since(l, start);
	if (str_eq_text(m->path, "<stdin>") || !m->path.len)
		m->path = l->path;
	m->line = (unsigned)line;
	skip_line(l);
	m->at = l->at < l->text.len ? l->at + 1 : l->at;
	return 0;
}

bool word_is_one_of(struct str word, const char *const *words)
{
	for (; *words; words++)
		if (str_eq_text(word, *words))
			return true;
	return false;
}

/* A line that starts with #: a marker, a directive, a pragma (then *found), or a comment. */
static int take_hash_line(struct c_lexer *l, struct c_token *out, bool *found)
{
	static const char *const directives[] = {"define",  "undef",  "include", "if",	  "ifdef",
						 "ifndef",  "elif",   "else",	 "endif", "error",
						 "warning", "import", NULL};
	static const char *const opening[] = {"if", "ifdef", "ifndef", NULL};
	size_t hash = l->at++;
	struct str word = take_word(l), line;

	if (str_eq_text(word, "line"))
		word = take_word(l);
	if (word.len && char_is_digit(word.ptr[0]))
		return take_marker(l, word);
	if (str_eq_text(word, "pragma")) {
		struct str language = take_word(l);
		size_t start = l->at;

		skip_line(l);
		*found = str_eq_text(language, "D");
		out->kind = C_PRAGMA;
		out->text = str_trim(text_since(l, start));
		return 0;
	}
	/* Conditions are not evaluated here, so both branches stay in the file: warn once. */
	line = text_since(l, hash);
	if (word_is_one_of(word, opening) && !l->open_if.ptr)
		l->open_if = line;
	if (str_eq_text(word, "endif") && l->open_if.ptr && !l->warned_if) {
		l->warned_if = true;
		diag_warn_at(l->diag, "condition", parser_span(l, l->open_if),
			     "'#%.*s' is not evaluated: both branches are read",
			     STR_FMT(str_of(l->open_if.ptr + 1, l->open_if.len - 1)));
		diag_hint(l->diag, "give -C to run the C preprocessor first");
	}
	if (word_is_one_of(word, directives))
		return skip_directive(l);
	skip_line(l);
	return 0;
}

/* Skip everything between tokens; a pragma on the way is a token. */
static int skip_space(struct c_lexer *l, struct c_token *out, bool *found)
{
	int err = 0;

	while (!err && !*found && l->at < l->text.len) {
		char c = look_ahead(l, 0);

		if (is_blank(c) || c == '\n')
			l->at++;
		else if (c == '\\' && (look_ahead(l, 1) == '\n' || look_ahead(l, 1) == '\r'))
			l->at++;
		else if (c == '/' && look_ahead(l, 1) == '/')
			skip_line(l);
		else if (c == '/' && look_ahead(l, 1) == '*')
			err = skip_block_comment(l);
		else if (c == '#' && !l->ends_at_hash)
			err = take_hash_line(l, out, found);
		else
			return 0;
	}
	return err;
}

static int take_string(struct c_lexer *l)
{
	size_t start = l->at;
	char quote = look_ahead(l, 0);

	for (l->at++; l->at < l->text.len && look_ahead(l, 0) != '\n'; l->at++) {
		if (look_ahead(l, 0) == quote) {
			l->at++;
			return 0;
		}
		if (look_ahead(l, 0) == '\\' && look_ahead(l, 1) != '\n')
			l->at++;
	}
	if (l->at > l->text.len)
		l->at = l->text.len;
	return fail_at(l, str_of(l->text.ptr + start, 1), "open-string", "unterminated quote");
}

static int take_punctuation(struct c_lexer *l)
{
	char c = look_ahead(l, 0);
	struct str byte = str_of(l->text.ptr + l->at, 1);
	size_t run = 0;

	/* Seven of them at the start of a line: an unresolved merge. */
	if (c && strchr("<=>|", c) && (!l->at || l->text.ptr[l->at - 1] == '\n'))
		while (look_ahead(l, run) == c)
			run++;
	if (run == 7)
		return fail_at(l, str_of(byte.ptr, run), "merge-conflict",
			       "unresolved merge conflict");
	if (c < ' ' || c > '~') {
		diag_error_at(l->diag, -EINVAL, "bad-byte", parser_span(l, byte),
			      "unexpected byte 0x%02x", (unsigned char)c);
		diag_hint(l->diag, "declarations are ASCII, except in comments");
		return -EINVAL;
	}
	l->at += c == '.' && look_ahead(l, 1) == '.' && look_ahead(l, 2) == '.' ? 3 : 1;
	return 0;
}

/* The next token. 0; -EINVAL after a message about what cannot be a token; -ENOMEM. */
static int next_token(struct c_lexer *l, struct c_token *out)
{
	bool pragma = false;
	size_t start;
	int err;
	char c;

	if (!l->at && str_starts(l->text, STR("\xef\xbb\xbf")))
		l->at = 3;
	err = skip_space(l, out, &pragma);
	if (err || pragma)
		return err;
	if (l->at > l->text.len)
		l->at = l->text.len;
	start = l->at;
	c = look_ahead(l, 0);
	if (start >= l->text.len || c == '#') {
		out->kind = C_END;
	} else if (is_letter(c)) {
		out->kind = C_WORD;
		take_word(l);
	} else if (char_is_digit(c)) {
		out->kind = C_NUMBER;
		while (is_letter(look_ahead(l, 0)) || char_is_digit(look_ahead(l, 0)) ||
		       look_ahead(l, 0) == '.')
			l->at++;
	} else if (c == '"' || c == '\'') {
		out->kind = C_STRING;
		err = take_string(l);
	} else {
		out->kind = C_PUNCT;
		err = take_punctuation(l);
	}
	out->text = text_since(l, start);
	return err;
}

/* ---- Walking over tokens ---- */

void parser_stop(struct c_parser *p, int err)
{
	if (p->err)
		return;
	p->err = err;
	p->tok = p->next = (struct c_token){C_END, str_of(p->tok.text.ptr, 0)};
}

void parser_fail(struct c_parser *p, struct str at, const char *tag, const char *format, ...)
{
	struct buf text = BUF_INIT, safe = BUF_INIT;
	va_list args;

	if (p->err)
		return;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	buf_escaped(&safe, buf_as_str(&text));
	diag_error_at(p->lexer.diag, -EINVAL, tag, parser_span(&p->lexer, at), "%.*s",
		      STR_FMT(buf_as_str(&safe)));
	buf_free(&text);
	buf_free(&safe);
	parser_stop(p, -EINVAL);
}

void parser_expected(struct c_parser *p, const char *what)
{
	struct str at = p->tok.text, shown = at;

	if (p->tok.kind != C_END) {
		shown.len = shown.len < MAX_SHOWN ? shown.len : MAX_SHOWN;
		parser_fail(p, at, "syntax", "expected %s, found '%.*s'", what, STR_FMT(shown));
		return;
	}
	/* The end of a file is shown where its last word ends. */
	if (p->last.len)
		at = str_of(p->last.ptr + p->last.len - 1, 1);
	parser_fail(p, at, "syntax", "expected %s, found the end of the file", what);
}

bool parser_at(const struct c_parser *p, const char *text)
{
	return p->tok.kind != C_STRING && str_eq_text(p->tok.text, text);
}

bool parser_next_at(const struct c_parser *p, const char *text)
{
	return p->next.kind != C_STRING && str_eq_text(p->next.text, text);
}

void parser_advance(struct c_parser *p)
{
	int err;

	if (p->err)
		return;
	p->last = p->tok.text;
	p->tok = p->next;
	while (!(err = next_token(&p->lexer, &p->next)) && p->next.kind == C_PRAGMA)
		if (p->names.pragma)
			p->names.pragma(p, p->next.text);
	if (err)
		parser_stop(p, err);
}

void parser_start(struct c_parser *p)
{
	p->next.text = str_of(p->lexer.text.ptr + p->lexer.at, 0);
	parser_advance(p);
	parser_advance(p);
}

bool parser_take(struct c_parser *p, const char *text)
{
	bool is_there = parser_at(p, text);

	if (is_there)
		parser_advance(p);
	return is_there;
}

void parser_expect(struct c_parser *p, const char *text, const char *why)
{
	struct buf what = BUF_INIT;

	if (parser_take(p, text))
		return;
	buf_printf(&what, "'%s' %s", text, why);
	parser_expected(p, what.ptr ? what.ptr : text);
	buf_free(&what);
}

struct str parser_taken_since(const struct c_parser *p, const char *first)
{
	return str_of(first, (size_t)(p->last.ptr + p->last.len - first));
}

/* The brackets that are open while text is skipped, innermost last. */
struct brackets {
	struct str open[MAX_BRACKETS];
	size_t count;
};

static void fail_open(struct c_parser *p, const struct brackets *b)
{
	struct str open = b->open[b->count - 1];

	parser_fail(p, open, "syntax", "'%c' is never closed", *open.ptr);
}

/* Take one token, and follow its effect on the open brackets. */
static void take_tracked(struct c_parser *p, struct brackets *b)
{
	char c = p->tok.kind == C_PUNCT ? p->tok.text.ptr[0] : ' ';
	char open = b->count ? *b->open[b->count - 1].ptr : ' ';

	if (c == '(' || c == '[' || c == '{') {
		if (b->count == MAX_BRACKETS)
			parser_fail(p, p->tok.text, "too-deep", "nested more than %d levels deep",
				    MAX_BRACKETS);
		else
			b->open[b->count++] = p->tok.text;
	} else if (c == ')' || c == ']' || c == '}') {
		if (!b->count)
			parser_fail(p, p->tok.text, "syntax", "unmatched '%c'", c);
		else if (c != (open == '(' ? ')' : open == '[' ? ']' : '}'))
			fail_open(p, b);
		else
			b->count--;
	} else if (p->tok.kind == C_END && b->count) {
		fail_open(p, b);
	}
	parser_advance(p);
}

void parser_skip_brackets(struct c_parser *p)
{
	struct brackets b = {.count = 0};

	do
		take_tracked(p, &b);
	while (!p->err && b.count);
}

bool parser_at_any(const struct c_parser *p, const char *stops)
{
	return p->tok.kind == C_PUNCT && strchr(stops, p->tok.text.ptr[0]);
}

struct str parser_skip_to(struct c_parser *p, const char *stops)
{
	struct brackets b = {.count = 0};
	struct buf words = BUF_INIT;
	struct str text;

	while (!p->err && (b.count || !parser_at_any(p, stops))) {
		if (!b.count && (p->tok.kind == C_END || parser_at_any(p, ")]};"))) {
			parser_expected(p, *stops == ']' ? "']'" : "the end of an expression");
			break;
		}
		buf_text(&words, words.len ? " " : "");
		buf_str(&words, p->tok.text);
		take_tracked(p, &b);
	}
	text = arena_str(p->arena, buf_as_str(&words));
	buf_free(&words);
	return text;
}
