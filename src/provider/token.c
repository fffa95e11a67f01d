/* The tokens of a provider file as the parser walks over them: two at a time, with messages that
 * point at them, and with ways to skip what is not needed. */
#include <errno.h>
#include <stdarg.h>

#include "provider/parse.h"

/* Brackets inside brackets in text that is skipped. */
#define MAX_BRACKETS 256

/* Characters of a token that a message shows. */
#define MAX_SHOWN 40

void parser_stop(struct provider_parser *p, int err)
{
	if (p->err)
		return;
	p->err = err;
	p->tok = p->next = (struct provider_token){TOKEN_END, str_of(p->tok.text.ptr, 0)};
}

void parser_fail(struct provider_parser *p, struct str at, const char *tag, const char *format, ...)
{
	struct buf text = BUF_INIT, safe = BUF_INIT;
	va_list args;

	if (p->err)
		return;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	buf_escaped(&safe, buf_as_str(&text));
	diag_error_at(p->lexer.diag, -EINVAL, tag, provider_span(&p->lexer, at), "%.*s",
		      STR_FMT(buf_as_str(&safe)));
	buf_free(&text);
	buf_free(&safe);
	parser_stop(p, -EINVAL);
}

void parser_expected(struct provider_parser *p, const char *what)
{
	struct str at = p->tok.text, shown = at;

	if (p->tok.kind != TOKEN_END) {
		shown.len = shown.len < MAX_SHOWN ? shown.len : MAX_SHOWN;
		parser_fail(p, at, "syntax", "expected %s, found '%.*s'", what, STR_FMT(shown));
		return;
	}
	/* The end of a file is shown where its last word ends. */
	if (p->last.len)
		at = str_of(p->last.ptr + p->last.len - 1, 1);
	parser_fail(p, at, "syntax", "expected %s, found the end of the file", what);
}

bool parser_at(const struct provider_parser *p, const char *text)
{
	return p->tok.kind != TOKEN_STRING && str_eq_text(p->tok.text, text);
}

bool parser_next_at(const struct provider_parser *p, const char *text)
{
	return p->next.kind != TOKEN_STRING && str_eq_text(p->next.text, text);
}

void parser_advance(struct provider_parser *p)
{
	int err;

	if (p->err)
		return;
	p->last = p->tok.text;
	p->tok = p->next;
	while (!(err = provider_lex(&p->lexer, &p->next)) && p->next.kind == TOKEN_PRAGMA)
		parse_pragma(p, p->next.text);
	if (err)
		parser_stop(p, err);
}

bool parser_take(struct provider_parser *p, const char *text)
{
	bool is_there = parser_at(p, text);

	if (is_there)
		parser_advance(p);
	return is_there;
}

void parser_expect(struct provider_parser *p, const char *text, const char *why)
{
	struct buf what = BUF_INIT;

	if (parser_take(p, text))
		return;
	buf_printf(&what, "'%s' %s", text, why);
	parser_expected(p, what.ptr ? what.ptr : text);
	buf_free(&what);
}

struct str parser_taken_since(const struct provider_parser *p, const char *first)
{
	return str_of(first, (size_t)(p->last.ptr + p->last.len - first));
}

/* The brackets that are open while text is skipped, innermost last. */
struct brackets {
	struct str open[MAX_BRACKETS];
	size_t count;
};

static void fail_open(struct provider_parser *p, const struct brackets *b)
{
	struct str open = b->open[b->count - 1];

	parser_fail(p, open, "syntax", "'%c' is never closed", *open.ptr);
}

/* Take one token, and follow its effect on the open brackets. */
static void take_tracked(struct provider_parser *p, struct brackets *b)
{
	char c = p->tok.kind == TOKEN_PUNCT ? p->tok.text.ptr[0] : ' ';
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
	} else if (p->tok.kind == TOKEN_END && b->count) {
		fail_open(p, b);
	}
	parser_advance(p);
}

void parser_skip_brackets(struct provider_parser *p)
{
	struct brackets b = {.count = 0};

	do
		take_tracked(p, &b);
	while (!p->err && b.count);
}

bool parser_at_any(const struct provider_parser *p, const char *stops)
{
	return p->tok.kind == TOKEN_PUNCT && strchr(stops, p->tok.text.ptr[0]);
}

struct str parser_skip_to(struct provider_parser *p, const char *stops)
{
	struct brackets b = {.count = 0};
	struct buf words = BUF_INIT;
	struct str text;

	while (!p->err && (b.count || !parser_at_any(p, stops))) {
		if (!b.count && (p->tok.kind == TOKEN_END || parser_at_any(p, ")]};"))) {
			parser_expected(p, *stops == ']' ? "']'" : "the end of an expression");
			break;
		}
		buf_text(&words, words.len ? " " : "");
		buf_str(&words, p->tok.text);
		take_tracked(p, &b);
	}
	text = arena_str(&p->file->arena, buf_as_str(&words));
	buf_free(&words);
	return text;
}
