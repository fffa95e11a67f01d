/* Tree -> code. Registers hold numbers, slots hold texts and other values; those of a statement are
 * free again after it. The first error stays in lower->err: emitters then do nothing that matters,
 * so that nothing above them needs to ask before the end. */
#ifndef NOPAL_SCRIPT_LOWER_H
#define NOPAL_SCRIPT_LOWER_H

#include "program/op.h"
#include "program/program.h"
#include "script/check/variant.h"
#include "script/parse/script_state.h"

struct saved_args;
struct map;

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
	int err; /* the first one; its message is written */
	struct insn *code;
	size_t count, cap;
	struct insn spare; /* what is emitted after an error */
	struct lower_slot *slots;
	size_t slot_count, slot_cap;
	uint32_t next_reg, most_regs;
	unsigned depth;		     /* of statements */
	uint32_t span;		     /* of the expression being lowered */
	bool copy_reads;	     /* the statement changes variables: what was read is copied */
	uint64_t rounds;	     /* of the loops around, multiplied */
	struct label *leave, *again; /* of the innermost loop: break, continue */
	struct label *end_function;  /* of the innermost function: return */
	struct label *outside;	  /* of the place that is read: an index was outside of its array */
	struct saved_args *saved; /* the variant is of returns, and uses arguments */
};

int lower_variant(struct lower *l, struct variant *v, struct clause *out);
/* Its code is complete: what the clause has of it. */
int lower_finish(struct lower *l, struct clause *out);
void lower_fail(struct lower *l, int err);

/* A value in a register (integers, floats and names): any, or the one given. */
uint16_t lower_word(struct lower *l, const struct expr *e);
void lower_word_to(struct lower *l, const struct expr *e, uint16_t reg);
/* Other values in a slot of type `t`, which may be a variable's own: read it only. */
uint16_t lower_memory(struct lower *l, const struct expr *e, const struct type *t);
void lower_memory_to(struct lower *l, const struct expr *e, uint16_t slot);
/* One or the other, as the type of `e` says. */
void lower_value_to(struct lower *l, const struct expr *e, uint16_t out);
/* @t = tseries(...) */
void lower_series(struct lower *l, const struct stmt *s);
/* has_key(@t, key), delete(@t, key) */
void lower_series_find(struct lower *l, const struct expr *map, bool removes, uint16_t found);
/* Unless `found` is set, a fault of this kind is counted. */
void lower_missing(struct lower *l, uint16_t found, int kind);
/* With -k, a read of m[key] counts when there is no such key. */
void lower_lookup(struct lower *l, const struct map *m, uint16_t key);
/* Statements, one after the other. */
void lower_body(struct lower *l, const struct stmt *s);
/* For what it does, not for its value. */
void lower_effect(struct lower *l, const struct expr *e);
/* The key of @m[...] in a slot; SLOT_NO without a key. */
uint16_t lower_key(struct lower *l, const struct expr *map);
/* ... its parts at the beginning of a slot of a tuple */
void lower_key_parts(struct lower *l, const struct expr *map, const struct type *tuple,
		     uint16_t slot);
void lower_jump(struct lower *l, const struct expr *e, bool when, struct label *to);
/* p + n counts in what p points to: the register with what to add for `n`, which is in `reg`. */
uint16_t lower_scaled(struct lower *l, const struct expr *p, const struct expr *n, uint16_t reg);
/* Cut a declared variable's new value to the variable's size. */
void lower_fit(struct lower *l, const struct variable *v);

/* The kinds of expressions; `out` is the register or slot where the value goes. */
void lower_unary(struct lower *l, const struct expr *e, uint16_t out);	 /* -a */
void lower_binary(struct lower *l, const struct expr *e, uint16_t out);	 /* a + b */
void lower_step(struct lower *l, const struct expr *e, uint16_t out);	 /* a++; REG_NO: no value */
void lower_cast(struct lower *l, const struct expr *e, uint16_t out);	 /* (int32)a */
void lower_ternary(struct lower *l, const struct expr *e, uint16_t out); /* a ? b : c */

/* The text of a value that is kept as a number; false: it has none. */
bool lower_enum_text(struct lower *l, const struct expr *e, uint16_t out);

#endif
