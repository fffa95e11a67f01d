/* Productions of the grammar, each of which is above the function that parses it. They call each
 * other through this header. */
#ifndef NOPAL_SCRIPT_PARSE_H
#define NOPAL_SCRIPT_PARSE_H

#include "script/parse/parser.h"
#include "script/parse/probe_spec.h"
#include "script/parse/tree.h"

/* Text -> tree. `p` has lexer, options, builtins, arena and d set. */
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
/* What is after "let $x:". */
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
/* The type that is spelt from the current token on. */
const struct ctype *parse_type_name(struct parser *p);
/* c_scope.constant, with the parser as `self`: the value of a macro */
bool parse_macro_value(void *parser, struct str name, int64_t *value);

/* macro.c: a definition, from the token before its name on; the survey has put it into p->macros */
void parse_macro(struct parser *p);
/* function.c: of a function */
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
/* script_params.c: note the option that this call declares */
void parse_note_option(struct parser *p, const struct expr *e);
/* A block and the value of its last expression, and the token after it. */
struct expr *parse_block_value(struct parser *p);
/* parse_stmt.c: the statements of a block; the closing brace stays the current token */
struct stmt *parse_block(struct parser *p);
/* The end of a simple statement: ";", which may be left out before "}". */
void parse_semicolon(struct parser *p);

#endif
