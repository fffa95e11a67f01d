/* Tree + places -> program: what check*.c, lower*.c and the rows of builtins.c share. A clause is
 * compiled once for each kind of place it has (a variant): check_variant types the tree for these
 * places, lower_variant makes the code. Types of maps and variables grow from check to check; code
 * is made when they have stopped growing. */
#ifndef NOPAL_SCRIPT_COMPILE_H
#define NOPAL_SCRIPT_COMPILE_H

#include "script/inside.h"

/* The places of one clause that the same code serves. */
struct variant {
	struct tree_clause *clause;
	struct str signature;
	struct place **places;
	size_t count, cap;
	struct variable *variables;
	struct variant *next;
};

/* Group the clause's places that no program has yet. A clause without any place gets one variant
 * without places, so that its text is checked all the same. */
int variants_make(struct script *s, struct tree_clause *clause, struct variant **out);

/* The state of one check. Passes with d NULL are quiet: they find types, the last one speaks. */
struct check {
	struct script *s;
	struct variant *v;
	struct diag *d;
	unsigned pass; /* from 1 */
	unsigned block_depth, loop_depth;
	bool is_repeated; /* another variant of the clause was checked: warnings are known */
	bool changed;	  /* a type has grown: check again */
};

/* Type the whole clause for the places of `v`. -EINVAL after all its errors were told. */
int check_variant(struct check *c, struct variant *v);
int check_expr(struct check *c, struct expr *e);
/* `e` must be an integer; `what` says of what in the message. */
int check_int(struct check *c, const struct expr *e, const char *what);
/* `e` must have a value that can be kept or sent. */
int check_storable(struct check *c, const struct expr *e, const char *what);
int check_error(const struct check *c, const struct expr *e, const char *tag, const char *format,
		...) __attribute__((format(printf, 4, 5)));
/* "string[16]" for messages; lives in the script's arena. */
const char *check_type_text(const struct check *c, const struct type *t);
/* Let strings that `e` takes from variables and maps be as large as `t` says. */
void check_widen(struct check *c, struct expr *e, const struct type *t);
/* A lasting type takes in type `t`; -EINVAL when they differ in kind. */
int check_merge(struct check *c, struct type *known, const struct type *t);
/* The map of this name, made when it is new; NULL without memory. */
struct map *check_map(struct check *c, struct str name);
/* The keys of @m[...]. */
int check_map_key(struct check *c, struct expr *e);
struct variable *check_find_variable(const struct check *c, struct str name);
struct shape shape_int(bool is_signed); /* 8 bytes */
struct shape shape_of(struct type t);
struct shape shape_open(void);
/* In a clause without places: may `e` be of any type yet? */
bool check_is_open(const struct check *c, const struct expr *e);
/* A string or buffer of at least so many bytes. */
struct type type_text(enum type_kind kind, uint64_t bytes);
bool type_is_word(const struct type *t); /* lives in a register */

/* Jumps that wait for their target: number + 1 of the last of them; each holds the one before it in
 * imm until lower_bind. */
struct label {
	uint32_t last;
};

struct lower_slot {
	struct type type;
	bool is_busy;
	unsigned owner; /* depth of the statement that uses it */
};

/* The code of one variant in the making. */
struct lower {
	struct script *s;
	struct variant *v;
	struct diag *d;
	struct arena *arena;
	struct insn *code;
	size_t count, cap;
	struct insn spare; /* where instructions go when there is no room */
	struct lower_slot *slots;
	size_t slot_count, slot_cap;
	uint32_t next_reg, most_regs;
	unsigned depth;		     /* of statements */
	uint32_t place;		     /* of the expression being lowered */
	bool copy_reads;	     /* the statement changes variables: what was read is copied */
	uint64_t rounds;	     /* of the loops around, multiplied */
	struct label *leave, *again; /* of the innermost loop: break, continue */
	bool failed;		     /* out of memory, or too large: told at the end */
};

int lower_variant(struct lower *l, struct variant *v, struct clause *out);
/* A value in a register: integers, floats and names. */
int lower_word(struct lower *l, const struct expr *e, uint16_t *reg);
int lower_word_to(struct lower *l, const struct expr *e, uint16_t reg);
/* Other values in a slot of type `t`, which may be a variable's own: read it only. */
int lower_memory(struct lower *l, const struct expr *e, const struct type *t, uint16_t *slot);
int lower_memory_to(struct lower *l, const struct expr *e, uint16_t slot);
/* For what it does, not for its value. */
int lower_effect(struct lower *l, const struct expr *e);
/* The key of @m[...] in a slot; SLOT_NO without a key. */
int lower_key(struct lower *l, const struct expr *map, uint16_t *slot);
int lower_jump(struct lower *l, const struct expr *e, bool when, struct label *to);
void lower_binary_op(struct lower *l, enum operator op, bool is_signed, uint16_t a, uint16_t b,
		     uint16_t out);
/* p + n counts in what p points to: the register with what to add for `n`, which is in `reg`. */
uint16_t lower_scaled(struct lower *l, const struct expr *p, const struct expr *n, uint16_t reg);
/* Cut a declared variable's new value to the variable's size. */
void lower_fit(struct lower *l, const struct variable *v);
struct insn *lower_op(struct lower *l, enum op op); /* never NULL; d a b s t are *_NO */
uint16_t lower_reg(struct lower *l);
uint16_t lower_const(struct lower *l, uint64_t value);
uint16_t lower_slot(struct lower *l, const struct type *t);
void lower_bind(struct lower *l, struct label *label);
void lower_goto(struct lower *l, enum op op, uint16_t reg, struct label *label);
#define EMIT_MAX_FIELDS 255 /* of one record */
/* A record of this format, which gets a number. `types` of f->fields may be the caller's. */
int lower_emit(struct lower *l, const struct format *f, const struct field *fields);
/* Any value as a field of a record. */
int lower_field(struct lower *l, const struct expr *e, struct field *out);

#endif
