/* A clause is compiled once for each kind of attachment it has (a variant), which types its tree.
 */
#ifndef NOPAL_SCRIPT_VARIANT_H
#define NOPAL_SCRIPT_VARIANT_H

#include "script/parse/tree.h"

struct attachment;

/* A variable of one clause. */
struct variable {
	struct str name; /* "x" */
	bool is_typed;
	bool needs_zero;	/* may be read before it is written */
	unsigned pass;		/* of check.c: the last one that met an assignment, or its `let` */
	unsigned assigned;	/* the same, but an assignment only */
	const struct expr *let; /* what declares it; NULL: its first assignment */
	unsigned depth;		/* of blocks: where it was declared */
	bool is_over;		/* that block has ended */
	bool is_hidden;		/* ... and nothing after it means this variable */
	uint32_t most;		/* bytes with the NUL of a declared string[N]; 0: any number */
	struct shape shape;
	struct mark mark; /* the assignment that fixed the type */
	uint16_t reg, slot;
	struct variable *next;
};

/* The attachments of one clause that the same code serves. */
struct variant {
	struct tree_clause *clause;
	struct attachment **attachments;
	size_t count, cap;
	struct variable *variables;
	struct variant *next;
};

#endif
