/* The parts of program_check, and what they share. check_defs.c checks what a program defines,
 * check.c each operand alone, flow.c the order of instructions: jumps, loops, what is written
 * before it is read. */
#ifndef NOPAL_PROGRAM_CHECK_H
#define NOPAL_PROGRAM_CHECK_H

#include "program/op.h"

struct checker {
	const struct program *p;
	struct diag *d;
	const struct clause *clause;
	uint32_t clause_number;
};

/* The message for an instruction: "clause 0, instruction 7 (load): ..."; returns -EINVAL. */
int check_fail(const struct checker *c, uint32_t insn, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ... for anything else. */
int check_refuse(struct diag *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* check_defs.c: 0 or -EINVAL with a message. `what` number `number` has the type. */
int check_type(struct diag *d, const struct type *t, const char *what, uint32_t number);
int check_map_def(const struct program *p, uint32_t number, struct diag *d);
int check_format(const struct program *p, uint32_t number, struct diag *d);
int check_attach(const struct checker *c, uint32_t number);

/* 1, 2, 4 or 8 bytes */
bool check_is_width(int64_t n);
/* Registers of the interrupted thread. */
/* Of the registers that scripts have, what a function returned is the only one. */
bool check_has_result(const struct attach *a, int64_t reg);

/* Parts: the pieces of a slot that are written at once: each 8-byte word, each text, each stack. */
unsigned type_parts(const struct type *t);
/* The part that byte `offset` of a value lies in; *word says whether it is an 8-byte word that
 * starts there and may be written alone. -EINVAL after the end. */
int type_part_at(const struct type *t, uint64_t offset, unsigned *part, bool *word);
/* Does a value that can be copied to and from `part` start at `offset` of `t`? */
bool type_holds(const struct type *t, uint64_t offset, const struct type *part);

/* Operands of the clause in c->clause are in range. Jumps and loops are sound, registers and slots
 * are written before they are read. 0, -EINVAL, -ENOMEM. */
int check_flow(const struct checker *c);

#endif
