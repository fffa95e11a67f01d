/* The parser from inside: what the files parse*.c share. Every production of the grammar is above
 * the function that parses it.
 *
 * The parser stops at the first error, which stays in parser->err: the token is then TOKEN_END for
 * good, and what is returned is of no use but can be looked at. Only loops need to ask. */
#ifndef NOPAL_SCRIPT_PARSE_H
#define NOPAL_SCRIPT_PARSE_H

#include "script/lex.h"
#include "script/script.h"

#define PARSE_MAX_DEPTH	     100    /* of blocks, parentheses and operators within each other */
#define PARSE_MAX_NODES	     100000 /* in a whole script */
#define PARSE_MAX_TEXT	     (4u << 20)
#define PARSE_MAX_EXPANSIONS 16 /* macros in macros */

enum { RETURNS_NOTHING = 1, RETURNS_VALUE = 2 };

struct parser {
	struct lexer lexer;
	struct token token; /* the one being looked at */
	const struct script_options *options;
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

/* Text -> tree. `p` has lexer, options, arena and d set. */
int parse_tree(struct parser *p, struct tree *out);

struct expr *parse_expr(struct parser *p); /* never NULL */
/* A node over `args`; their array is copied. Never NULL. */
struct expr *expr_new(struct parser *p, enum expr_kind kind, struct mark mark, struct expr **args,
		      unsigned count);
/* parse_type.c: a cast, if one is here; NULL: none is. */
struct expr *parse_cast(struct parser *p);
bool parse_at_typeof(const struct parser *p);
/* Either the type that it names, or the expression whose type it is. */
struct expr *parse_typeof(struct parser *p, const struct ctype **named);
/* What is after "let $x:", likewise. */
struct expr *parse_variable_type(struct parser *p, const struct ctype **named);
/* ... as an argument of a macro */
struct expr *parse_type_arg(struct parser *p);
struct expr *parse_container(struct parser *p);
struct expr *parse_unary(struct parser *p);
/* An operand with what follows its name: a.b, a[i], f(a). */
struct expr *parse_postfix(struct parser *p);
struct expr *parse_sizeof(struct parser *p);
struct expr *parse_offsetof(struct parser *p);
/* The probes of one clause, up to the predicate or block. */
void parse_probes(struct parser *p, struct probe_spec **out);
struct pattern;
/* parse_file_probe.c: the probe that the parts name */
void parse_usdt(struct parser *p, const struct pattern *parts, struct probe_spec *s);
void parse_uprobe(struct parser *p, const struct pattern *parts, struct probe_spec *s);
void parse_bad_probe(struct parser *p, const struct pattern *parts, const char *form);
/* One probe pattern and nothing after it, for `-l`. */
int parse_pattern(struct parser *p, struct probe_spec **out);

/* directive.c: a line that starts with #; what a condition leaves out is skipped. */
void parse_directive(struct parser *p);
/* What a script includes that has these headers, one a line, before its own. */
struct str parse_include_lines(struct parser *p, struct str headers);
struct define *parse_find_define(const struct parser *p, struct str name);
/* Is this the name of a value or function of the language, or of a constant? */
bool parse_known_name(const struct tree *t, struct str name);
/* Is this a builtin that is written without parentheses, such as pid? */
bool parse_is_value(struct str name);
/* The type that is spelt from the current token on. */
const struct ctype *parse_type_name(struct parser *p);
/* c_scope.constant, with the parser as `self`: the value of a macro */
bool parse_macro_value(void *parser, struct str name, int64_t *value);

/* standard.c: definition `number` of a builtin that is a macro, "(a, b) { a + b }"; NULL: there are
 * no more. */
const char *parse_standard_macro(struct str name, unsigned number);
/* macro.c: a definition, from the token before its name on; the survey has put it into p->macros */
void parse_macro(struct parser *p);
/* function.c: likewise, of a function */
void parse_function(struct parser *p);
/* `return` in a function: what it sets and leaves; false: it is in none. */
bool function_return(struct parser *p, struct stmt *s);
/* Skip the block whose "{" is the current token; the last "}" is then the current one. */
void parse_skip_block(struct parser *p);
/* name(args) as the block of a macro; NULL: there is none of this name. Errors are reported. */
struct expr *parse_macro_use(struct parser *p, struct str name, struct mark mark,
			     struct expr **args, unsigned count);
/* Inside of a macro: a variable or map as the caller knows it, a parameter's expression (or NULL).
 */
void parse_macro_variable(struct parser *p, struct expr *e);
void parse_macro_map(struct parser *p, struct expr *e);
const struct expr *parse_macro_arg(const struct parser *p, struct str name);
bool parse_in_macro(const struct parser *p);
/* getopt.c: note the option that this call declares */
void parse_note_option(struct parser *p, const struct expr *e);
/* A block and the value of its last expression, and the token after it. */
struct expr *parse_block_value(struct parser *p);
/* parse_stmt.c: the statements of a block; the closing brace stays the current token */
struct stmt *parse_block(struct parser *p);
/* The end of a simple statement: ";", which may be left out before "}". */
void parse_semicolon(struct parser *p);

/* parse_token.c */
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
