/* A CPU: its registers, how its assembler writes operands, its nops. Constant tables and small pure
 * functions. Every CPU is compiled into every build, so that a file for any machine can be read on
 * any. */
#ifndef NOPAL_ARCH_ARCH_H
#define NOPAL_ARCH_ARCH_H

#include "base/str.h"

#define REG_NONE 0xff /* no register, where an id is wanted */

struct arch_reg {
	const char *name; /* as operands write it, without %: "eax", "x0", "sp" */
	uint8_t id;	  /* the same for all names of one register: al, ax, eax, rax */
	uint8_t size;	  /* bytes the name stands for: 1, 2, 4, 8, 16 */
	uint8_t shift;	  /* bits to shift right before use: 8 for %ah */
	bool is_general; /* addresses are computed with it: not xmm0, f3, or one that is always 0 */
};

struct operand;
struct modifier;     /* cpu.h */
struct paren_syntax; /* cpu.h */

struct arch {
	const char *name; /* "x86_64" */
	uint16_t machine; /* EM_X86_64 */
	uint8_t word;	  /* bytes of an address: 4 or 8 */
	bool is_host;	  /* this build runs on it */
	/* Register ids; tls is the pseudo register that holds the thread pointer. */
	uint8_t pc, sp, tls;
	uint8_t zero;	   /* the register that always reads 0; REG_NONE: there is none */
	uint8_t zero_base; /* the register that means 0 in an address; REG_NONE: there is none */
	const struct arch_reg *regs;
	size_t reg_count;
	/* Parse the part of an argument after '@' into base, index, displacement, register or
	 * constant. 0, or -EINVAL with operand->why set; symbols are left as text in
	 * operand->symbol for `probe` to resolve. */
	int (*parse_operand)(const struct arch *arch, struct str text, struct operand *out);
	/* Another syntax, and whether all operands of a note are written in it; NULL: there is
	 * none.
	 */
	int (*parse_other)(const struct arch *arch, struct str text, struct operand *out);
	bool (*is_other)(struct str args);
	const struct modifier *modifiers;  /* operators that a symbol can have */
	const struct paren_syntax *parens; /* NULL: memory is not written off(base) */
	/* The calling convention: where integer arguments are at a function's first instruction. */
	const uint8_t *call_regs; /* ids of the registers of the first arguments, in order */
	uint8_t call_reg_count;
	uint8_t call_ret;   /* id of the register of the result */
	int16_t call_stack; /* the next argument is at sp + this, the others a word apart; -1: no */
	const struct str *nops; /* what a probe may be made of; an empty one ends the table */
	unsigned (*length)(struct str code); /* of its first instruction; see below */
};

/* NULL: an unknown machine. `word` is 4 or 8 (ELFCLASS32, ELFCLASS64). */
const struct arch *arch_for(uint16_t machine, unsigned word);
const struct arch *arch_by_name(struct str name);
const struct arch *arch_host(void);
/* Does this machine run programs for that CPU? 32-bit ones of its own kind, too. */
bool arch_runs_here(const struct arch *arch);
const struct arch_reg *arch_find_reg(const struct arch *arch, struct str name);
/* The widest name of a register id, for dumps; "?": the CPU has no such id. */
const char *arch_reg_name(const struct arch *arch, uint8_t id);

/* Where instructions begin, and which of them are nops: what is looked at before a probe goes into
 * a program's code. Nothing here reads outside the bytes it is given. */
#define INSTRUCTION_LONGEST 15 /* bytes, on any CPU */

/* Bytes of the first instruction of `code`; 0: it is not known, or goes on past the end. */
unsigned instruction_length(const struct arch *arch, struct str code);
/* Bytes of the nop that `code` begins with; 0: it begins with none. */
unsigned instruction_nop(const struct arch *arch, struct str code);
/* Walk over `code` from its first instruction, until one begins at or after `target`. *start is
 * where the last one looked at begins: `target` itself, or the instruction that has `target` in its
 * middle. -EILSEQ: no instruction is known at *start. */
int instruction_walk(const struct arch *arch, struct str code, size_t target, size_t *start);

/* For the tables of CPUs: `length` when that many bytes are in `code`, else 0. */
unsigned length_within(struct str code, unsigned length);
/* Of CPUs all of whose instructions have 4 bytes. */
unsigned word_length(struct str code);

#endif
