/* Text -> tokens: see lex.h. */
#include "script/parse/lex.h"

#include <errno.h>

#include "base/array.h"
#include "base/quote.h"

struct sign {
	const char *text;
	enum token_kind kind;
};

/* Longer operators come before those that are their beginnings. */
/* clang-format off */
static const struct sign signs[] = {
	{ "<<=", TOKEN_SHL_ASSIGN  }, { ">>=", TOKEN_SHR_ASSIGN  }, { "||",  TOKEN_OR          },
	{ "&&",  TOKEN_AND         }, { "==",  TOKEN_EQ          }, { "!=",  TOKEN_NE          },
	{ "<=",  TOKEN_LE          }, { ">=",  TOKEN_GE          }, { "<<",  TOKEN_SHL         },
	{ ">>",  TOKEN_SHR         }, { "+=",  TOKEN_ADD_ASSIGN  }, { "-=",  TOKEN_SUB_ASSIGN  },
	{ "*=",  TOKEN_MUL_ASSIGN  }, { "/=",  TOKEN_DIV_ASSIGN  }, { "%=",  TOKEN_MOD_ASSIGN  },
	{ "&=",  TOKEN_BAND_ASSIGN }, { "|=",  TOKEN_BOR_ASSIGN  }, { "^=",  TOKEN_XOR_ASSIGN  },
	{ "++",  TOKEN_INC         }, { "--",  TOKEN_DEC         }, { "->",  TOKEN_ARROW       },
	{ "..",  TOKEN_RANGE       }, { "{",   TOKEN_LBRACE      }, { "}",   TOKEN_RBRACE      },
	{ "(",   TOKEN_LPAREN      }, { ")",   TOKEN_RPAREN      }, { "[",   TOKEN_LBRACKET    },
	{ "]",   TOKEN_RBRACKET    }, { ";",   TOKEN_SEMICOLON   }, { ",",   TOKEN_COMMA       },
	{ ":",   TOKEN_COLON       }, { "?",   TOKEN_QUESTION    }, { ".",   TOKEN_DOT         },
	{ "=",   TOKEN_ASSIGN      }, { "<",   TOKEN_LT          }, { ">",   TOKEN_GT          },
	{ "+",   TOKEN_ADD         }, { "-",   TOKEN_SUB         }, { "*",   TOKEN_MUL         },
	{ "/",   TOKEN_DIV         }, { "%",   TOKEN_MOD         }, { "&",   TOKEN_BAND        },
	{ "|",   TOKEN_BOR         }, { "^",   TOKEN_XOR         }, { "!",   TOKEN_NOT         },
	{ "~",   TOKEN_BNOT        },
};
/* clang-format on */

struct duration_unit {
	const char *name;
	uint64_t ns;
};

/* clang-format off */
static const struct duration_unit units[] = {
	{ "ns", 1                 },
	{ "us", 1000              },
	{ "ms", 1000000           },
	{ "s",  1000000000        },
	{ "m",  60000000000ull    },
	{ "h",  3600000000000ull  },
	{ "d",  86400000000000ull },
	/* ... and what C writes for the type */
	{ "u",  1                 },
	{ "l",  1                 },
	{ "ul", 1                 },
	{ "ll", 1                 },
	{ "ull", 1                },
};
/* clang-format on */

struct span lex_span(const struct lexer *l, struct mark m)
{
	const struct script_options *o = l->options;
	size_t end = (size_t)m.at + (m.len ? m.len : 1);

	for (size_t i = 0; o && i < o->origin_count; i++) {
		const struct script_origin *from = &o->origins[i];
		size_t start = m.at > from->at ? m.at : from->at;

		if (from->at >= end || from->at + from->len <= m.at)
			continue;
		end = end < from->at + from->len ? end : from->at + from->len;
		return (struct span){.path = from->path,
				     .source = from->text,
				     .at = from->text_at + start - from->at,
				     .len = end - start};
	}
	return (struct span){l->path, l->text, m.at, m.len, 0};
}

static char peek_byte(const struct lexer *l, size_t ahead)
{
	return l->at + ahead < l->text.len ? l->text.ptr[l->at + ahead] : '\0';
}

static struct str rest_of_text(const struct lexer *l)
{
	return str_of(l->text.ptr + l->at, l->text.len - l->at);
}

static int skip_comment(struct lexer *l)
{
	size_t start = l->at;

	for (l->at += 2; l->at < l->text.len; l->at++) {
		if (str_starts(rest_of_text(l), STR("*/"))) {
			l->at += 2;
			return 0;
		}
	}
	return diag_error_at(l->d, -EINVAL, "open-comment",
			     lex_span(l, (struct mark){(uint32_t)start, 2}),
			     "unterminated comment");
}

struct str lex_line(struct lexer *l)
{
	size_t start = l->at;

	while (l->at < l->text.len && l->text.ptr[l->at] != '\n')
		l->at++;
	return str_of(l->text.ptr + start, l->at - start);
}

int lex_blank(struct lexer *l)
{
	for (;;) {
		char c = peek_byte(l, 0);

		if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v') {
			l->at++;
		} else if (c == '/' && peek_byte(l, 1) == '*') {
			if (skip_comment(l))
				return -EINVAL;
		} else if (c == '/' && peek_byte(l, 1) == '/') {
			lex_line(l);
		} else {
			return 0;
		}
	}
}

/* value = value * by + plus, or -ERANGE. */
static int scale_number(uint64_t *value, uint64_t by, uint64_t plus)
{
	if (__builtin_mul_overflow(*value, by, value) ||
	    __builtin_add_overflow(*value, plus, value))
		return -ERANGE;
	return 0;
}

/* Digits of one base, `_` between them; *at moves after them. */
static int number_digits(struct str s, size_t *at, unsigned base, uint64_t *value)
{
	size_t start = *at;

	for (; *at < s.len; (*at)++) {
		unsigned digit = hex_digit(s.ptr[*at]);

		if (s.ptr[*at] == '_' && *at)
			continue;
		if (digit >= base)
			break;
		if (scale_number(value, base, digit))
			return -ERANGE;
	}
	return *at > start && s.ptr[*at - 1] != '_' ? 0 : -EINVAL;
}

/* value * 10^N: the coefficient is one digit, neither begins with 0. *at is at the `e`. */
static int number_exponent(struct str s, size_t *at, uint64_t *value)
{
	uint64_t exponent = 0;
	int err;

	if (*at != 1 || s.ptr[0] == '0' || s.ptr[*at + 1] == '0')
		return -EINVAL;
	(*at)++;
	err = number_digits(s, at, 10, &exponent);
	for (uint64_t i = 0; !err && i < exponent; i++)
		err = scale_number(value, 10, 0);
	return err;
}

static int number_unit(struct str s, uint64_t *value)
{
	if (str_eq_text(s, "u") && *value > UINT32_MAX)
		return -EOVERFLOW;
	for (size_t i = 0; i < COUNT(units); i++)
		if (str_eq_text(s, units[i].name))
			return scale_number(value, units[i].ns, 0);
	return -EINVAL;
}

int lex_number(struct str s, uint64_t *out)
{
	uint64_t value = 0;
	size_t at = 0;
	int base = 10, err;

	if (s.len > 1 && s.ptr[0] == '0' && (s.ptr[1] == 'x' || s.ptr[1] == 'X')) {
		base = 16;
		at = 2;
	} else if (s.len > 1 && s.ptr[0] == '0' && char_is_digit(s.ptr[1])) {
		base = 8;
	}
	err = number_digits(s, &at, base, &value);
	if (!err && base == 10 && at + 1 < s.len && (s.ptr[at] == 'e' || s.ptr[at] == 'E') &&
	    char_is_digit(s.ptr[at + 1]))
		err = number_exponent(s, &at, &value);
	if (!err && at < s.len && base == 16)
		err = -EINVAL;
	else if (!err && at < s.len)
		err = number_unit(str_of(s.ptr + at, s.len - at), &value);
	if (!err)
		*out = value;
	return err;
}

static int lex_integer(struct lexer *l, struct token *t)
{
	size_t len = 0;
	int err;

	while (char_is_word(peek_byte(l, len)))
		len++;
	t->kind = TOKEN_INT;
	t->text = str_of(l->text.ptr + l->at, len);
	t->mark.len = (uint32_t)len;
	l->at += len;
	err = lex_number(t->text, &t->number);
	if (err == -ERANGE || err == -EOVERFLOW)
		return diag_error_at(l->d, -EINVAL, "big-number", lex_span(l, t->mark),
				     "'%.*s' does not fit into %u bits", STR_FMT(t->text),
				     err == -ERANGE ? 64 : 32);
	if (err) {
		diag_error_at(l->d, -EINVAL, "bad-number", lex_span(l, t->mark),
			      "'%.*s' is not a number", STR_FMT(t->text));
		diag_hint(l->d, "numbers look like 42, 0x2a, 052, 1e6, 1_000 or 10ms "
				"(ns us ms s m h d)");
		return -EINVAL;
	}
	return 0;
}

/* The text inside a string literal, escapes resolved. */
static int lex_string(struct lexer *l, struct str *out)
{
	struct span at = {.path = l->path, .source = l->text, .at = l->at};
	struct buf text = BUF_INIT;
	int err = quote_read(&at, false, &text, l->d);

	l->at = at.at;
	if (!err)
		*out = arena_str(l->arena, buf_as_str(&text));
	if (!err && (text.failed || !out->ptr))
		err = -ENOMEM;
	buf_free(&text);
	return err;
}

static struct str lex_word(struct lexer *l)
{
	size_t start = l->at;

	while (char_is_word(peek_byte(l, 0)))
		l->at++;
	return str_of(l->text.ptr + start, l->at - start);
}

/* "$" ( number | "#" | word ) */
static int lex_dollar(struct lexer *l, struct token *t)
{
	l->at++;
	if (peek_byte(l, 0) == '#') {
		l->at++;
		t->kind = TOKEN_PARAMS;
		return 0;
	}
	t->text = lex_word(l);
	if (!t->text.len)
		return diag_error_at(l->d, -EINVAL, "stray-character",
				     lex_span(l, (struct mark){t->mark.at, 1}),
				     "'$' without a name");
	t->kind = char_is_digit(t->text.ptr[0]) ? TOKEN_PARAM : TOKEN_VARIABLE;
	if (t->kind == TOKEN_PARAM &&
	    (str_to_u64(t->text, &t->number) || t->number == 0 || t->text.ptr[0] == '0'))
		return diag_error_at(
			l->d, -EINVAL, "bad-param",
			lex_span(l, (struct mark){t->mark.at, (uint32_t)t->text.len + 1}),
			"'$%.*s' is not a positional parameter", STR_FMT(t->text));
	return 0;
}

/* Is the / at l->at the end of the predicate: does a { follow? No expression begins so. */
static bool ends_predicate(const struct lexer *l)
{
	struct lexer look = *l;

	look.at++;
	look.d = NULL;
	return !lex_blank(&look) && peek_byte(&look, 0) == '{';
}

static int lex_sign(struct lexer *l, struct token *t)
{
	char c = peek_byte(l, 0);

	if (c == '/' && l->in_predicate && ends_predicate(l)) {
		t->kind = TOKEN_END_PREDICATE;
		l->at++;
		return 0;
	}
	for (size_t i = 0; i < COUNT(signs); i++) {
		if (str_starts(rest_of_text(l), str_from(signs[i].text))) {
			t->kind = signs[i].kind;
			l->at += strlen(signs[i].text);
			return 0;
		}
	}
	t->mark.len = 1;
	if (c < ' ' || c > '~')
		return diag_error_at(l->d, -EINVAL, "stray-character", lex_span(l, t->mark),
				     "stray byte '\\x%02x'", (unsigned char)c);
	diag_error_at(l->d, -EINVAL, "stray-character", lex_span(l, t->mark), "stray '%c'", c);
	if (c == '\'')
		diag_hint(l->d, "strings are in double quotes: \"text\"");
	return -EINVAL;
}

static int lex_any(struct lexer *l, struct token *t)
{
	char c = peek_byte(l, 0);

	if (char_is_digit(c))
		return lex_integer(l, t);
	if (char_is_word(c)) {
		t->kind = TOKEN_WORD;
		t->text = lex_word(l);
		return 0;
	}
	if (c == '"') {
		t->kind = TOKEN_STRING;
		return lex_string(l, &t->text);
	}
	if (c == '@') {
		l->at++;
		t->kind = TOKEN_MAP;
		t->text = lex_word(l);
		return 0;
	}
	if (c == '$')
		return lex_dollar(l, t);
	return lex_sign(l, t);
}

int lex_token(struct lexer *l, struct token *out)
{
	struct token t = {.kind = TOKEN_END};
	int err = lex_blank(l);

	if (err)
		return err;
	t.mark.at = (uint32_t)l->at;
	if (l->at < l->text.len) {
		err = lex_any(l, &t);
		if (err)
			return err;
	}
	t.mark.len = (uint32_t)(l->at - t.mark.at);
	*out = t;
	return 0;
}
