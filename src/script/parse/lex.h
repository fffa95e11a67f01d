/* Text -> tokens. One token at a time, never more than one ahead; a lexer is plain data, so a copy
 * of it is a place to come back to. */
#ifndef NOPAL_SCRIPT_LEX_H
#define NOPAL_SCRIPT_LEX_H

#include "base/diag.h"
#include "script/parse/script_options.h"
#include "script/parse/tree.h"

enum token_kind {
	TOKEN_END,
	TOKEN_INT,	     /* 42 0x2a 1e6 5ms             number */
	TOKEN_STRING,	     /* "text"                      text, escapes resolved */
	TOKEN_WORD,	     /* pid                         text */
	TOKEN_MAP,	     /* @lat                        text: without @ */
	TOKEN_VARIABLE,	     /* $x                          text: without $ */
	TOKEN_PARAM,	     /* $1                          number */
	TOKEN_PARAMS,	     /* $#  */
	TOKEN_END_PREDICATE, /* the / that is followed by { */
	/* Signs: see the table in lex.c. */
	TOKEN_SHL_ASSIGN,
	TOKEN_SHR_ASSIGN,
	TOKEN_OR,
	TOKEN_AND,
	TOKEN_EQ,
	TOKEN_NE,
	TOKEN_LE,
	TOKEN_GE,
	TOKEN_SHL,
	TOKEN_SHR,
	TOKEN_ADD_ASSIGN,
	TOKEN_SUB_ASSIGN,
	TOKEN_MUL_ASSIGN,
	TOKEN_DIV_ASSIGN,
	TOKEN_MOD_ASSIGN,
	TOKEN_BAND_ASSIGN,
	TOKEN_BOR_ASSIGN,
	TOKEN_XOR_ASSIGN,
	TOKEN_INC,
	TOKEN_DEC,
	TOKEN_ARROW,
	TOKEN_RANGE,
	TOKEN_LBRACE,
	TOKEN_RBRACE,
	TOKEN_LPAREN,
	TOKEN_RPAREN,
	TOKEN_LBRACKET,
	TOKEN_RBRACKET,
	TOKEN_SEMICOLON,
	TOKEN_COMMA,
	TOKEN_COLON,
	TOKEN_QUESTION,
	TOKEN_DOT,
	TOKEN_ASSIGN,
	TOKEN_LT,
	TOKEN_GT,
	TOKEN_ADD,
	TOKEN_SUB,
	TOKEN_MUL,
	TOKEN_DIV,
	TOKEN_MOD,
	TOKEN_BAND,
	TOKEN_BOR,
	TOKEN_XOR,
	TOKEN_NOT,
	TOKEN_BNOT,
};

struct token {
	enum token_kind kind;
	struct mark mark;
	struct str text;
	uint64_t number;
};

struct lexer {
	struct str text;
	struct str path; /* for messages */
	const struct script_options
		*options; /* where pieces of the text come from; NULL: nothing */
	size_t at;
	bool in_predicate; /* a / that is followed by { ends the predicate */
	struct arena *arena;
	struct diag *d;
};

/* Skip blanks and comments. -EINVAL for a comment without an end. */
int lex_blank(struct lexer *l);
/* The rest of the line, at whose end the lexer is then. */
struct str lex_line(struct lexer *l);
/* The next token. -EINVAL with a message, -ENOMEM. */
int lex_token(struct lexer *l, struct token *out);
/* A number with C prefix, exponent, digit separators and time unit; the whole of `s`. -EINVAL. */
int lex_number(struct str s, uint64_t *out);
/* For messages: the user's own text, where the script was made of such. */
struct span lex_span(const struct lexer *l, struct mark m);

#endif
