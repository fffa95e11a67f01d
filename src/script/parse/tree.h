/* The tree of a script: what the text says, before its meaning is known. Nodes live in the script's
 * arena and carry the piece of text they came from. */
#ifndef NOPAL_SCRIPT_TREE_H
#define NOPAL_SCRIPT_TREE_H

#include "base/arena.h"
#include "base/buf.h"
#include "script/parse/expr.h"

struct attachment_list;
struct declared_option;
struct define;
struct map_size;
struct probe_spec;
struct setting;
struct uses;

enum stmt_kind {
	STMT_EXPR,   /* f(x);                      value                        */
	STMT_ASSIGN, /* @x += 1;                   target, op, value            */
	STMT_LET,    /* let $x = 1;                target, value or NULL        */
	STMT_IF,     /* if (value) body else other                              */
	STMT_UNROLL, /* unroll (value) body                                     */
	STMT_WHILE,  /* while (value) body                                      */
	STMT_FOR,    /* for target : value..to body; over a map: to is NULL     */
	STMT_BLOCK,  /* { body }                                                */
	STMT_BREAK,
	STMT_CONTINUE,
	STMT_RETURN,
};

struct stmt {
	enum stmt_kind kind;
	enum operator op;
	struct mark mark;
	struct expr *target, *value, *to;
	struct stmt *body, *other;
	struct stmt *next;
	bool leaves_function; /* STMT_RETURN: `target` is what it sets, if there is a value */
	bool is_discard;      /* STMT_EXPR: _ = value */
	bool is_last;  /* STMT_EXPR, _IF, _BLOCK without a semicolon before "}": a block's value */
	uint32_t span; /* as of an expression */
};

struct tree_clause {
	struct mark mark; /* probes, predicate and body */
	struct probe_spec *probes;
	struct expr *predicate; /* NULL: none */
	struct stmt *body;
	struct tree_clause *next;
	struct attachment_list *attachments; /* resolve.c: where it runs */
	struct uses *uses;		     /* uses.c: what it asks of its attachments */
	uint32_t span;			     /* as of an expression */
};

struct tree {
	struct setting *settings;
	struct tree_clause *clauses;
	struct c_scope types;
	struct define *defines; /* newest first */
	struct map_size *sizes; /* the same */
	struct declared_option *declared;
	struct mark block_import; /* the first import inside of a block; without length: none */
	struct str includes;	  /* lines of #include, one after the other; empty: none */
};

/* Fill in the names of integers that scripts have without a definition: "uint8", "u32". -ENOMEM. */
int tree_open(struct tree *t, struct arena *a);

/* The text of --dump=tree. */
void tree_print(const struct tree *t, struct buf *out);

#endif
