/* Code in the making: instructions, registers and slots, jumps, records (lower_code.c). */
#ifndef NOPAL_SCRIPT_EMIT_H
#define NOPAL_SCRIPT_EMIT_H

#include "script/lower/lower.h"

struct map;

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
struct insn *emit_ds(struct lower *l, enum op op, uint16_t d, uint16_t s, uint64_t imm);
/* OP_STR, OP_BUF and so on: what is at an address, at most `length` bytes (REG_NO: any number) and
 * at most `most`. Lengths are unsigned, so that a negative one is cut. */
void emit_read(struct lower *l, enum op op, uint16_t s, uint16_t a, uint16_t length, uint32_t most);
/* An operation on m[key]; the caller sets d, a or t. */
struct insn *emit_map(struct lower *l, enum op op, const struct map *m, uint16_t key);
void emit_operator(struct lower *l, enum operator op, bool is_signed, uint16_t a, uint16_t b,
		   uint16_t out);

uint16_t lower_reg(struct lower *l);
uint16_t lower_const(struct lower *l, uint64_t value);
uint16_t lower_slot(struct lower *l, const struct type *t);
uint16_t lower_slot_like(struct lower *l, uint16_t slot); /* another one of its type */
void lower_free_slot(struct lower *l, uint16_t slot);	  /* before its statement ends */
uint32_t lower_intern(struct lower *l, struct text_list *list, struct str text);
void lower_bind(struct lower *l, struct label *label);
void lower_goto(struct lower *l, enum op op, uint16_t reg, struct label *label);

#define EMIT_MAX_FIELDS 255 /* of one record */
/* A record of this format, which is interned; f->fields may be the caller's. */
void lower_emit(struct lower *l, const struct format *f, const struct field *fields);
/* Any value as a field of a record. */
struct field lower_field(struct lower *l, const struct expr *e);

#endif
