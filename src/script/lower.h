/* Tree -> code: what the files that lower a clause share. The tree is typed (check.h).
 *
 * Registers hold numbers, slots hold texts and other values; those of a statement are free again
 * after it. The first error stays in lower->err: emitters then do nothing that matters, so that
 * nothing above them needs to ask before the end. */
#ifndef NOPAL_SCRIPT_LOWER_H
#define NOPAL_SCRIPT_LOWER_H

#include "script/inside.h"

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
};

int lower_variant(struct lower *l, struct variant *v, struct clause *out);
void lower_fail(struct lower *l, int err);

/* A value in a register (integers, floats and names): any, or the one given. */
uint16_t lower_word(struct lower *l, const struct expr *e);
void lower_word_to(struct lower *l, const struct expr *e, uint16_t reg);
/* Other values in a slot of type `t`, which may be a variable's own: read it only. */
uint16_t lower_memory(struct lower *l, const struct expr *e, const struct type *t);
void lower_memory_to(struct lower *l, const struct expr *e, uint16_t slot);
/* One or the other, as the type of `e` says. */
void lower_value_to(struct lower *l, const struct expr *e, uint16_t out);
/* For what it does, not for its value. */
void lower_effect(struct lower *l, const struct expr *e);
/* The key of @m[...] in a slot; SLOT_NO without a key. */
uint16_t lower_key(struct lower *l, const struct expr *map);
void lower_jump(struct lower *l, const struct expr *e, bool when, struct label *to);
/* p + n counts in what p points to: the register with what to add for `n`, which is in `reg`. */
uint16_t lower_scaled(struct lower *l, const struct expr *p, const struct expr *n, uint16_t reg);
/* Cut a declared variable's new value to the variable's size. */
void lower_fit(struct lower *l, const struct variable *v);

/* The kinds of expressions; `out` is the register or slot where the value goes. */
void lower_unary(struct lower *l, const struct expr *e, uint16_t out);	 /* -a */
void lower_binary(struct lower *l, const struct expr *e, uint16_t out);	 /* a + b */
void lower_index(struct lower *l, const struct expr *e, uint16_t out);	 /* p[n] */
void lower_step(struct lower *l, const struct expr *e, uint16_t out);	 /* a++; REG_NO: no value */
void lower_cast(struct lower *l, const struct expr *e, uint16_t out);	 /* (int32)a */
void lower_ternary(struct lower *l, const struct expr *e, uint16_t out); /* a ? b : c */

/* Instructions by shape: the letters are those of program/op.h, `i` is imm. */
struct insn *lower_op(struct lower *l, enum op op); /* never NULL; d a b s t are *_NO */
void emit_di(struct lower *l, enum op op, uint16_t d, uint64_t imm);
void emit_dai(struct lower *l, enum op op, uint16_t d, uint16_t a, uint64_t imm);
void emit_dab(struct lower *l, enum op op, uint16_t d, uint16_t a, uint16_t b);
void emit_si(struct lower *l, enum op op, uint16_t s, uint64_t imm);
void emit_sti(struct lower *l, enum op op, uint16_t s, uint16_t t, uint64_t imm);
void emit_strcmp(struct lower *l, uint16_t d, uint16_t s, uint16_t t, int64_t bytes);
void emit_load(struct lower *l, uint16_t d, uint16_t a, const struct type *t);
void emit_put(struct lower *l, uint16_t s, uint64_t offset, uint16_t a);
void emit_get(struct lower *l, uint16_t d, uint16_t s, uint64_t offset);
/* OP_STR or OP_BUF: what is at an address, at most `length` bytes (REG_NO: any number) and at most
 * `most`. Lengths are unsigned, so that a negative one is cut. */
void emit_read(struct lower *l, enum op op, uint16_t s, uint16_t a, uint16_t length, uint32_t most);
/* An operation on m[key]; the caller sets d, a or t. */
struct insn *emit_map(struct lower *l, enum op op, const struct map *m, uint16_t key);
void emit_operator(struct lower *l, enum operator op, bool is_signed, uint16_t a, uint16_t b,
		   uint16_t out);

uint16_t lower_reg(struct lower *l);
uint16_t lower_const(struct lower *l, uint64_t value);
uint16_t lower_slot(struct lower *l, const struct type *t);
uint32_t lower_text_number(struct lower *l, struct text_list *list, struct str text);
void lower_bind(struct lower *l, struct label *label);
void lower_goto(struct lower *l, enum op op, uint16_t reg, struct label *label);

#define EMIT_MAX_FIELDS 255 /* of one record */
/* A record of this format, which is interned; f->fields may be the caller's. */
void lower_emit(struct lower *l, const struct format *f, const struct field *fields);
/* Any value as a field of a record. */
struct field lower_field(struct lower *l, const struct expr *e);

#endif
