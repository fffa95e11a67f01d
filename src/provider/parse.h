/* What the parts of the parser share: token.c walks over tokens, pragma.c reads
 * pragmas, specifiers.c and declarator.c read C, parse.c the rest. */
#ifndef NOPAL_PROVIDER_PARSE_H
#define NOPAL_PROVIDER_PARSE_H

#include "provider/provider.h"
#include "provider/lex.h"

/* Types made of more levels, and brackets inside more brackets, are not declarations
 * but attacks. */
#define MAX_DEPTH 64

struct provider_parser {
	struct provider_lexer lexer;
	struct provider_file *file;
	struct provider_token tok, next; /* the current token and the one behind it */
	struct str last;		 /* the text of the token before */
	unsigned depth;			 /* brackets and braces the parser is inside of */
};

/* A declared name with its type; the name is empty when there is none. */
struct declarator {
	struct str name;
	const struct ctype *type;
	struct str at; /* all of its text */
};

/* What stands before a declarator: const unsigned long. */
struct specifiers {
	struct ctype *type;
	struct str storage; /* "typedef", "static", …; empty */
	struct str at;
};

int parser_advance(struct provider_parser *p);
bool parser_at(const struct provider_parser *p, const char *text); /* the current token */
bool parser_next_at(const struct provider_parser *p, const char *text);
bool parser_at_any(const struct provider_parser *p, const char *characters);
int parser_expect(struct provider_parser *p, const char *text, const char *why);
/* -EINVAL after "expected …, found …" at the current token. */
int parser_expected(struct provider_parser *p, const char *what);
int parser_fail(struct provider_parser *p, struct str at, const char *tag, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* From the start of `first` to the end of the last token that was taken. */
struct str parser_taken_since(const struct provider_parser *p, const char *first);
/* From the opening bracket at hand to behind its partner. */
int parser_skip_brackets(struct provider_parser *p);
/* Up to one of the characters `stops` outside of brackets; *text becomes what was passed. */
int parser_skip_to(struct provider_parser *p, const char *stops, struct str *text);

/* The text behind "#pragma D". */
int parse_pragma(struct provider_parser *p, struct str text);

/* Is it one of the words of C that specifiers are made of? */
bool is_specifier_word(struct str text);
struct ctype *parser_new_type(struct provider_parser *p, enum ctype_kind kind,
			      const struct ctype *to);
/* One level deeper; to be undone by p->depth--. -EINVAL: too deep. */
int parser_enter(struct provider_parser *p);
/* { "__attribute__" brackets } and the like */
int parse_attributes(struct provider_parser *p);
/* { "const" | "volatile" | "restrict" | attribute } */
int parse_qualifiers(struct provider_parser *p, unsigned *qualifiers);

/* Does a C declaration start here? */
bool parse_at_type(const struct provider_parser *p);
int parse_specifiers(struct provider_parser *p, struct specifiers *out);
int parse_declarator(struct provider_parser *p, const struct specifiers *s, struct declarator *out);
/* "(" arguments ")": of a probe or a function. */
int parse_args(struct provider_parser *p, struct ctype_param **out, bool *variadic);

#endif
