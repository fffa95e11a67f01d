/* The tokens of a provider file as the parser walks over them: two at a time, with messages at
 * their places, and with ways to pass over what nobody needs. */
#include <errno.h>
#include <stdarg.h>

#include "provider/parse.h"

/* Brackets inside brackets in text that is passed over. */
#define MAX_BRACKETS 256

/* Characters of a token that a message shows. */
#define MAX_SHOWN 40

int parser_fail(struct provider_parser *p, struct str at, const char *tag, const char *format, ...)
{
	struct buf text = BUF_INIT, safe = BUF_INIT;
	va_list args;

	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	buf_escaped(&safe, buf_as_str(&text));
	diag_error_at(p->lexer.diag, -EINVAL, tag, provider_span(&p->lexer, at), "%.*s",
		      STR_FMT(buf_as_str(&safe)));
	buf_free(&text);
	buf_free(&safe);
	return -EINVAL;
}

/* A token as messages name it. */
static void add_token(struct buf *out, const struct provider_token *tok)
{
	struct str text = tok->text;

	if (tok->kind == TOKEN_END) {
		buf_text(out, "the end of the file");
		return;
	}
	if (text.len > MAX_SHOWN)
		text.len = MAX_SHOWN;
	buf_printf(out, "'%.*s'", STR_FMT(text));
}

/* Where the current token is, to people: the end of a file is where its last word ends. */
static struct str place_of(const struct provider_parser *p)
{
	if (p->tok.kind != TOKEN_END || !p->last.len)
		return p->tok.text;
	return str_of(p->last.ptr + p->last.len - 1, 1);
}

int parser_expected(struct provider_parser *p, const char *what)
{
	struct buf found = BUF_INIT;

	add_token(&found, &p->tok);
	parser_fail(p, place_of(p), "syntax", "expected %s, found %.*s", what,
		    STR_FMT(buf_as_str(&found)));
	buf_free(&found);
	return -EINVAL;
}

bool parser_at(const struct provider_parser *p, const char *text)
{
	return p->tok.kind != TOKEN_STRING && str_eq_text(p->tok.text, text);
}

bool parser_next_at(const struct provider_parser *p, const char *text)
{
	return p->next.kind != TOKEN_STRING && str_eq_text(p->next.text, text);
}

int parser_advance(struct provider_parser *p)
{
	int err;

	p->last = p->tok.text;
	p->tok = p->next;
	do {
		err = provider_lex(&p->lexer, &p->next);
		if (!err && p->next.kind == TOKEN_PRAGMA)
			err = parse_pragma(p, p->next.text);
	} while (!err && p->next.kind == TOKEN_PRAGMA);
	return err;
}

int parser_expect(struct provider_parser *p, const char *text, const char *why)
{
	struct buf what = BUF_INIT;

	if (parser_at(p, text))
		return parser_advance(p);
	buf_printf(&what, "'%s' %s", text, why);
	parser_expected(p, what.ptr ? what.ptr : text);
	buf_free(&what);
	return -EINVAL;
}

struct str parser_taken_since(const struct provider_parser *p, const char *first)
{
	return str_of(first, (size_t)(p->last.ptr + p->last.len - first));
}

/* The brackets that are open while text is passed over, innermost last. */
struct brackets {
	struct str open[MAX_BRACKETS];
	size_t count;
};

static char partner(char open)
{
	return open == '(' ? ')' : open == '[' ? ']' : '}';
}

static int fail_open(struct provider_parser *p, const struct brackets *b)
{
	struct str open = b->open[b->count - 1];

	return parser_fail(p, open, "syntax", "'%c' is never closed", *open.ptr);
}

/* Follow one token's effect on the open brackets. */
static int track_brackets(struct provider_parser *p, struct brackets *b)
{
	char c = p->tok.kind == TOKEN_PUNCT ? p->tok.text.ptr[0] : ' ';

	if (c == '(' || c == '[' || c == '{') {
		if (b->count == MAX_BRACKETS)
			return parser_fail(p, p->tok.text, "too-deep",
					   "nested more than %d levels deep", MAX_BRACKETS);
		b->open[b->count++] = p->tok.text;
	} else if (c == ')' || c == ']' || c == '}') {
		if (!b->count)
			return parser_fail(p, p->tok.text, "syntax", "unmatched '%c'", c);
		if (partner(*b->open[b->count - 1].ptr) != c)
			return fail_open(p, b);
		b->count--;
	} else if (p->tok.kind == TOKEN_END && b->count) {
		return fail_open(p, b);
	}
	return 0;
}

int parser_skip_brackets(struct provider_parser *p)
{
	struct brackets b = {.count = 0};
	int err;

	do {
		err = track_brackets(p, &b);
		err = err ? err : parser_advance(p);
	} while (!err && b.count);
	return err;
}

bool parser_at_any(const struct provider_parser *p, const char *stops)
{
	return p->tok.kind == TOKEN_PUNCT && strchr(stops, p->tok.text.ptr[0]);
}

int parser_skip_to(struct provider_parser *p, const char *stops, struct str *text)
{
	struct brackets b = {.count = 0};
	struct buf words = BUF_INIT;
	int err = 0;

	while (!err && (b.count || !parser_at_any(p, stops))) {
		if (!b.count && (p->tok.kind == TOKEN_END || parser_at_any(p, ")]};"))) {
			err = parser_expected(p,
					      *stops == ']' ? "']'" : "the end of an expression");
			break;
		}
		buf_text(&words, words.len ? " " : "");
		buf_str(&words, p->tok.text);
		err = track_brackets(p, &b);
		err = err ? err : parser_advance(p);
	}
	*text = arena_str(&p->file->arena, buf_as_str(&words));
	buf_free(&words);
	return err;
}
