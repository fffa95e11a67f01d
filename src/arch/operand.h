/* An operand: where one probe argument is when the site is hit. Made by arch_parse from the text of
 * the note, used by every engine. Plain data; two operands that compare equal by operand_equal need
 * the same code. */
#ifndef NOPAL_ARCH_OPERAND_H
#define NOPAL_ARCH_OPERAND_H

#include "arch/arch.h"

enum operand_kind {
	OPERAND_CONST, /* $42                        value                                       */
	OPERAND_REG,   /* %eax                       reg, shift                                  */
	OPERAND_MEM,   /* -8(%rbp,%rcx,4)            *(base + (index << scale_shift) + value)    */
	OPERAND_BAD,   /* could not be understood, or cannot be had; `why` says it               */
};

#define REG_NONE 0xff

struct operand {
	enum operand_kind kind;
	uint8_t size;	     /* bytes of the value: 1, 2, 4, 8, 16 */
	bool is_signed;	     /* "-4@": sign-extend */
	bool is_float;	     /* "8f@": IEEE bits of `size` bytes */
	uint8_t reg;	     /* OPERAND_REG: register id */
	uint8_t reg_shift;   /* OPERAND_REG: 8 for %ah */
	uint8_t base, index; /* OPERAND_MEM: register ids or REG_NONE. base may be arch->pc: the
			      * displacement is then relative to the site's own address; or
			      * arch->tls: to the thread pointer */
	uint8_t scale_shift; /* OPERAND_MEM: 0..3 */
	int16_t reg_at, base_at, index_at; /* offsets in the host's pt_regs; REG_NOT_SAVED where a
					    * kernel tracer cannot see the register */
	int64_t value;			   /* the constant, or the displacement */
	struct str symbol; /* a symbol that still has to be resolved; empty once it is */
	struct str raw;	   /* the argument as the note has it: "-4@-8(%rbp)" */
	const char *why;   /* OPERAND_BAD, or a kernel-mode refusal: "xmm registers are not ...";
			      static text */
};

/* Same code reads both: kind, size, sign, registers and value are equal; raw text may differ. */
bool operand_equal(const struct operand *a, const struct operand *b);
/* Is it readable by a kernel uprobe on this host? When not, *why says what is missing (static
 * text). */
bool operand_in_kernel(const struct operand *o, const char **why);

#endif
