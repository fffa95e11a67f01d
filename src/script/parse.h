/* The parser from inside: what parse.c, parse_expr.c and parse_probe.c share. Every production of
 * the grammar stands above the function that parses it. The parser stops at the first error. */
#ifndef NOPAL_SCRIPT_PARSE_H
#define NOPAL_SCRIPT_PARSE_H

#include "script/lex.h"
#include "script/script.h"

#define PARSE_MAX_DEPTH 100    /* of blocks, parentheses and operators within each other */
#define PARSE_MAX_NODES 100000 /* in a whole script */
#define PARSE_MAX_TEXT	(4u << 20)

struct parser {
	struct lexer lexer;
	struct token token; /* the one being looked at */
	const struct script_options *options;
	struct arena *arena;
	struct diag *d;
	unsigned depth;
	unsigned nodes;
};

/* Text -> tree. `p` has lexer, options, arena and d set. */
int parse_tree(struct parser *p, struct tree *out);

int parse_expr(struct parser *p, struct expr **out);
/* The probes of one clause, up to the predicate or block. */
int parse_probes(struct parser *p, struct probe_spec **out);
/* One probe pattern and nothing behind it, for `-l`. */
int parse_pattern(struct parser *p, struct probe_spec **out);

int parse_advance(struct parser *p);
bool parse_is(const struct parser *p, enum token_kind kind);
/* Take a token of this kind or say that `what` was expected. */
int parse_expect(struct parser *p, enum token_kind kind, const char *what);
int parse_enter(struct parser *p); /* one level deeper; -E2BIG with a message */
void parse_leave(struct parser *p);
int parse_count_node(struct parser *p);
int parse_unexpected(struct parser *p, const char *wanted);
struct span parse_span(const struct parser *p, struct mark m);
/* The positional parameter `number`, or an empty str that sets *missing. */
struct str parse_param(const struct parser *p, uint64_t number, bool *missing);

#endif
