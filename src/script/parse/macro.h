/* What macros and functions of a script share: both are a name for a block, which is parsed again
 * wherever the name is used. */
#ifndef NOPAL_SCRIPT_MACRO_H
#define NOPAL_SCRIPT_MACRO_H

#include "script/parse/parse.h"

#define MACRO_PARAMS 16

struct macro_param {
	enum expr_kind kind; /* EXPR_VARIABLE $x, EXPR_MAP @x, EXPR_NAME: any expression */
	struct str name;
};

struct macro {
	struct str name;
	struct mark mark; /* of the name */
	struct macro_param params[MACRO_PARAMS];
	unsigned count;
	bool is_standard;  /* a builtin's */
	bool is_function;  /* fn: its parameters are values, and it returns one */
	struct lexer body; /* before its brace; of a function before its "(" */
	struct macro *next;
};

/* A use whose block is being parsed. */
struct macro_call {
	const struct macro *macro;
	struct expr **args;
	unsigned number; /* of the use, for names of variables */
	unsigned depth;
	struct expr *result; /* of a function: the variable that it returns; NULL: void */
	bool has_returned;   /* ... there is a return with a value */
	struct macro_call *outer;
};

/* A definition, for later uses; an error when there is one like it. `m` may be NULL. */
void macro_add(struct parser *p, struct macro *m);
bool macro_same_params(const struct macro *a, const struct macro *b);
/* function.c: the block of a use, from the "(" of the definition on. Never NULL. */
struct expr *function_block(struct parser *p, struct macro_call *call);

#endif
