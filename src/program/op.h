/* The table of operations: the one place that knows which operands each has. It drives the checker,
 * the printer and the readers of dumps.
 *
 * `results` and `operands` name them with one letter each, in the order of the dump
 * `results = name operands`:
 *
 *   d a b   register d, a, b                    D A B  the same, may be REG_NO
 *   s t     all of slot s, t                    p      part of slot s from byte imm on:  s1[8]
 *   g       8 bytes of slot s at imm: s1[8]     q      part of t at imm, as large as s:  s2[8]
 *   k       map and key slot: m0[s1], m0        i      imm, any number
 *   E       map, all its entries: m0
 *   w       imm, bytes: 1, 2, 4                 f      imm, bytes of a float: 4, 8
 *   x       size and is_signed: i32, u8         h      size, 0..255
 *   j       imm, an instruction further down    l      target, an instruction
 *   z       imm, bytes of the value in s, from 1
 *   n       imm, rounds                         o      imm, enum builtin
 *   y       imm, millionths: 1..1000000         F      imm, enum of struct run_fault
 *   u       imm, a probe argument               r      imm, a register id of the arch
 *   c       imm, offset in a tracepoint's bytes v      imm, a literal
 *   e       imm, a format, with its fields: 2(r0, s1)
 *   m       imm, bytes of s to use at most; 0, all of them, is not in dumps */
#ifndef NOPAL_PROGRAM_OP_H
#define NOPAL_PROGRAM_OP_H

#include "program/program.h"

struct op_info {
	const char *name;
	const char *results;
	const char *operands;
	uint32_t slots;	 /* 1 << kind for each type slots s and t may have; 0: any */
	uint32_t values; /* of the map's value; 0: any */
};

/* NULL when there is no such operation. */
const struct op_info *op_info(unsigned op);
/* Does it have a map, and a key or the key's slot (letters k, E)? */
bool op_uses_map(unsigned op);
/* Does it begin a loop? */
bool op_is_loop(unsigned op);
/* ... over the entries of a map? */
bool op_is_each(unsigned op);
/* "pid"; NULL when there is no such builtin. */
const char *builtin_name(unsigned builtin);
/* "printf" */
const char *format_name(enum format_kind kind);
/* "uprobe" */
const char *attach_name(enum attach_kind kind);
bool attach_has(enum attach_kind kind, unsigned parts); /* any of these parts: enum attach_part */

#endif
