/* What the two halves of the parser share: parse.c reads the file, type.c reads C
 * declarations. */
#ifndef NOPAL_PROVIDER_PARSE_H
#define NOPAL_PROVIDER_PARSE_H

#include "provider/provider.h"
#include "provider/lex.h"

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
int parser_expect(struct provider_parser *p, const char *text, const char *why);
/* -EINVAL after "expected …, found …" at the current token. */
int parser_expected(struct provider_parser *p, const char *what);
int parser_fail(struct provider_parser *p, struct str at, const char *tag, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* From the opening bracket at hand to behind its partner. */
int parser_skip_brackets(struct provider_parser *p);
/* Up to one of the characters `stops` outside of brackets; *text becomes what was passed. */
int parser_skip_to(struct provider_parser *p, const char *stops, struct str *text);

/* Does a C declaration start here? */
bool parse_at_type(const struct provider_parser *p);
int parse_specifiers(struct provider_parser *p, struct specifiers *out);
int parse_declarator(struct provider_parser *p, const struct specifiers *s, struct declarator *out);
/* "(" arguments ")": of a probe or a function. */
int parse_args(struct provider_parser *p, struct carg **out, bool *variadic);

#endif
