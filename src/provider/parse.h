/* What the parts of the parser share: lex.c makes tokens and walks over them, specifiers.c and
 * declarator.c read C, parse.c the rest. */
#ifndef NOPAL_PROVIDER_PARSE_H
#define NOPAL_PROVIDER_PARSE_H

#include "provider/provider.h"

/* ---- lex.c: words of a provider file ----
 *
 * It skips blanks, comments of all kinds (C, C++, and `#` to the end of the line) and preprocessor
 * lines, and turns line markers of cpp into positions in the file that the user wrote. Tokens
 * borrow from the text. */

enum provider_token_kind {
	TOKEN_END,
	TOKEN_WORD,   /* probe, p$target */
	TOKEN_NUMBER, /* 10, 0x1f, and also 9lives: what C calls a preprocessing number */
	TOKEN_STRING, /* "..." or '...' with its quotes */
	TOKEN_PUNCT,  /* one character, or ... */
	TOKEN_PRAGMA, /* what follows `#pragma D` on its line */
};

struct provider_token {
	enum provider_token_kind kind;
	struct str text; /* in the lexer's text, also when empty */
};

/* `# 12 "file.d"`: from `at` on, lines belong to `path` and count from `line`. */
struct line_marker {
	struct str path;
	size_t at;
	unsigned line;
};

struct provider_lexer {
	struct str path, text;
	size_t at;
	struct arena *arena; /* of the markers */
	struct diag *diag;
	struct line_marker *markers;
	size_t marker_count, marker_cap;
	struct str open_if; /* the first `#if` that nothing evaluated */
	bool warned_if;
};

/* Where a piece of the text is, in the file that the user wrote. */
struct span provider_span(const struct provider_lexer *l, struct str piece);

/* One of a list that ends in NULL? */
bool word_is_one_of(struct str word, const char *const *words);

/* ---- The parser ---- */

/* Types made of more levels, and brackets inside more brackets, are not declarations
 * but attacks. */
#define MAX_DEPTH 64

/* The first mistake stops it: `err` stays, the current token is the end of the file, and whatever
 * is called then does nothing. So a rule of the grammar is read as it is written. */
struct provider_parser {
	struct provider_lexer lexer;
	struct provider_file *file;
	struct provider_token tok, next; /* the current token and the one after it */
	struct str last;		 /* the text of the token before */
	unsigned depth;			 /* brackets and braces the parser is inside of */
	int err;			 /* -EINVAL after a message, -ENOMEM; 0: none so far */
	union {
		struct ctype type;
		struct ctype_param param;
		struct provider_decl provider;
		struct provider_probe probe;
		struct provider_attributes attributes;
		struct provider_typedef name;
	} spare; /* what parser_new() returns without memory */
};

/* A declared name with its type; the name is empty when there is none. */
struct declarator {
	struct str name;
	const struct ctype *type;
	struct str at; /* all of its text */
};

/* What comes before a declarator: const unsigned long. */
struct specifiers {
	struct ctype *type;
	struct str storage; /* "typedef", "static", …; empty */
	struct str at;
};

void parser_advance(struct provider_parser *p);
bool parser_at(const struct provider_parser *p, const char *text); /* the current token */
bool parser_next_at(const struct provider_parser *p, const char *text);
bool parser_at_any(const struct provider_parser *p, const char *characters);
/* Advance if this is the current token. */
bool parser_take(struct provider_parser *p, const char *text);
/* ... and stop if it is not. */
void parser_expect(struct provider_parser *p, const char *text, const char *why);
/* Stop after "expected …, found …" at the current token. */
void parser_expected(struct provider_parser *p, const char *what);
void parser_fail(struct provider_parser *p, struct str at, const char *tag, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void parser_stop(struct provider_parser *p, int err);
/* Stop if the current word has a dollar sign: D's names may, C's may not. */
void parser_refuse_dollar(struct provider_parser *p);
/* From the start of `first` to the end of the last token that was taken. */
struct str parser_taken_since(const struct provider_parser *p, const char *first);
/* From the current opening bracket to the token after its partner. */
void parser_skip_brackets(struct provider_parser *p);
/* Up to one of the characters `stops` outside of brackets; returns what was skipped. */
struct str parser_skip_to(struct provider_parser *p, const char *stops);

/* The text after "#pragma D". */
void parse_pragma(struct provider_parser *p, struct str text);

/* Is it one of the words of C that specifiers are made of? */
bool is_specifier_word(struct str text);
/* Zeroed, from the file's arena; never NULL. */
void *parser_new(struct provider_parser *p, size_t size);
struct ctype *parser_new_type(struct provider_parser *p, enum ctype_kind kind,
			      const struct ctype *to);
/* One level deeper; to be undone by p->depth--. */
void parser_enter(struct provider_parser *p);
/* { "__attribute__" brackets } and similar */
void parse_attributes(struct provider_parser *p);
/* { "const" | "volatile" | "restrict" | attribute } */
void parse_qualifiers(struct provider_parser *p, unsigned *qualifiers);

/* Does a C declaration start here? */
bool parse_at_type(const struct provider_parser *p);
struct specifiers parse_specifiers(struct provider_parser *p);
struct declarator parse_declarator(struct provider_parser *p, const struct specifiers *s);
/* "(" parameters ")": of a probe or a function. */
struct ctype_param *parse_params(struct provider_parser *p, bool *variadic);

#endif
