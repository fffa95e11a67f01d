/* A script from inside: what the files of this module share. The tree says what was written, the
 * symbols what the names stand for, the places where clauses run, and the lists what has been
 * interned for programs so far. Everything lives in the script's arena. */
#ifndef NOPAL_SCRIPT_INSIDE_H
#define NOPAL_SCRIPT_INSIDE_H

#include "script/script.h"
#include "script/tree.h"

/* A map, as the script uses it. Types grow until check.c finds nothing new. */
struct map {
	struct str name; /* "@lat" */
	uint32_t index;
	bool has_key, has_value; /* the type is known */
	bool is_fixed;		 /* code of a program uses it: its type can grow no more */
	bool is_read;		 /* by an expression */
	struct type key, value;
	struct mark key_mark, value_mark; /* the use that fixed the type */
	struct map *next;
};

/* A variable of one clause. */
struct variable {
	struct str name; /* "x" */
	bool is_typed;
	bool is_loop;	 /* for $i: cannot be assigned */
	bool needs_zero; /* may be read before it is written */
	unsigned pass;	 /* of check.c: the last one that met an assignment */
	struct shape shape;
	struct mark mark; /* the assignment that fixed the type */
	uint16_t reg, slot;
	struct variable *next;
};

/* What a clause asks of its places, found by looking at its tree. */
struct uses {
	uint64_t args[2];   /* bit n: argN */
	uint64_t floats[2]; /* bit n: printf shows argN as a float, if it is one */
	struct str *fields; /* args.x: tracepoint formats must be read */
	size_t field_count, field_cap;
	unsigned needs; /* enum builtin_need */
};

/* One place of a clause. */
struct place {
	const struct script *script;
	const struct probe_spec *spec;
	struct attach attach;
	const void *image;		 /* usdt: which file it is in; NULL for other places */
	const struct trace_event *event; /* tracepoints, when fields are used */
	const struct argument *args; /* usdt: of each operand, when fields are used; else NULL */
	bool is_done;		     /* a program has it, or it was given up */
};

struct place_list {
	struct place **items;
	size_t count, cap;
};

/* Numbered things that programs refer to. They only ever grow. */
struct text_list {
	struct str *items;
	size_t count, cap;
};

struct format_list {
	struct format *items;
	size_t count, cap;
};

struct span_list {
	struct span *items;
	size_t count, cap;
};

struct script {
	struct arena arena;
	struct str text, path;
	struct script_options options; /* params are copied */
	struct script_facts facts;
	struct script_source source; /* of script_resolve() */
	struct tree tree;
	struct map *maps;
	uint32_t map_count;
	struct text_list literals, names;
	struct format_list formats;
	struct span_list spans;
	unsigned place_count;
	bool has_program;	  /* there is a program: what is compiled now comes in addition */
	const struct place *only; /* compile the places of its image; NULL: all */
	struct file **files;	  /* held for the places */
	size_t file_count, file_cap;
};

/* The places of one clause that the same code serves. */
struct variant {
	struct tree_clause *clause;
	struct place **places;
	size_t count, cap;
	struct variable *variables;
	struct variant *next;
};

/* Group the clause's places that no program has yet. A clause without any place gets one variant
 * without places, so that its text is checked all the same. */
int variants_make(struct script *s, struct tree_clause *clause, struct variant **out);

bool type_is_word(const struct type *t); /* lives in a register */

struct span script_span(const struct script *s, struct mark m);
/* Number of a text in a list; added when it is new. -ENOMEM. */
int text_number(struct script *s, struct text_list *list, struct str text, uint32_t *out);

/* Number a piece of the script among the places of errors, unless *place (its number + 1) is set.
 * -ENOMEM. */
int place_number(struct script *s, struct mark m, uint32_t *place);

/* script.c: is the probe watched for in images that are mapped later, since it may be in any, or in
 * any of a process that matches a pattern? */
bool probe_may_come_later(const struct script *s, const struct probe_spec *p);

/* uses.c */
int uses_find(struct arena *a, const struct tree_clause *c, struct uses *out); /* -ENOMEM */
/* resolve.c */
int resolve_places(struct script *s, const struct script_source *source, struct diag *d);
/* compile.c: the code of all places that no program has yet */
int compile_program(struct script *s, struct program **out, struct diag *d);

/* config.c: defaults, then the config block, then the environment. */
int config_apply(struct script *s, struct diag *d);

#endif
