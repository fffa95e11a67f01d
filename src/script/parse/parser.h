/* The parser: the token that it looks at, and what every production needs of it.
 *
 * It stops at the first error, which stays in parser->err: the token is then TOKEN_END for good,
 * and what is returned is of no use but can be looked at. Only loops need to ask. */
#ifndef NOPAL_SCRIPT_PARSER_H
#define NOPAL_SCRIPT_PARSER_H

#include "script/parse/declarations.h"
#include "script/parse/lex.h"

struct builtins;
struct macro;
struct macro_call;

#define PARSE_MAX_DEPTH	     100    /* of blocks, parentheses and operators within each other */
#define PARSE_MAX_NODES	     100000 /* in a whole script */
#define PARSE_MAX_TEXT	     (4u << 20)
#define PARSE_MAX_EXPANSIONS 16 /* macros in macros */

enum { RETURNS_NOTHING = 1, RETURNS_VALUE = 2 };

struct parser {
	struct lexer lexer;
	struct token token; /* the one being looked at */
	const struct script_options *options;
	const struct builtins *builtins;
	struct arena *arena;
	struct diag *d;
	int err;
	unsigned depth;
	unsigned nodes;
	bool is_pattern; /* one probe is parsed, for `-l` */
	bool is_survey;	 /* before all else: what macros are there? Clauses are skipped */
	struct tree *tree;
	const struct import_part *parts; /* of the text, the script last; NULL: it is one */
	unsigned part_count;
	const size_t *block_imports; /* the places of imports in blocks that were read */
	unsigned block_import_count;
	/* Macros and their arguments that are being expanded, the innermost last; where each was
	 * used. */
	struct expansion {
		struct define *define; /* NULL: an argument */
		size_t at, len;	       /* of the lexer: to go on from, and its text's length */
		int outer; /* the expansion in whose text this one is written; -1: none */
		struct mark args[DEFINE_PARAMS]; /* the macro's */
	} expansions[PARSE_MAX_EXPANSIONS];
	unsigned expansion_count;
	struct mark used;	  /* of the outermost one */
	struct macro_call *macro; /* whose block is being parsed; NULL: none */
	bool is_standard;	  /* ... and it is one of ours: not the script's text */
	struct mark standard_use; /* where the script uses it */
	unsigned macro_uses;	  /* so far */
	struct macro *macros;	  /* of the whole text, newest first */
	unsigned loops;		  /* that are being parsed, of the clause or of the macro */
	unsigned fors;		  /* ... loops over a range or map, of both */
	uint8_t returned;	  /* in these: RETURNS_NOTHING, RETURNS_VALUE, or both */
	struct expr no_expr;	  /* given after an error */
	struct stmt no_stmt;
};

void parse_advance(struct parser *p);
void parse_blank(struct parser *p); /* skip blanks and comments */
bool parse_is(const struct parser *p, enum token_kind kind);
bool parse_is_word(const struct parser *p, const char *word);
/* Take a token of this kind: if it is there, or else say that `what` was expected. */
bool parse_take(struct parser *p, enum token_kind kind);
void parse_expect(struct parser *p, enum token_kind kind, const char *what);
void parse_enter(struct parser *p); /* one level deeper */
void parse_leave(struct parser *p);
void parse_count_node(struct parser *p);
/* Where a piece of the script's text is; from `a` to the end of `b`. */
struct mark parse_mark_of(const struct parser *p, struct str text);
struct mark parse_join(struct mark a, struct mark b);
void parse_unexpected(struct parser *p, const char *wanted);
/* Stop here with this error; true when it is the first one, so that a hint may follow. */
bool parse_fail(struct parser *p, int err);
bool parse_error(struct parser *p, struct mark m, const char *tag, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
