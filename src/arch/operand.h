/* An operand: where one probe argument is when the site is hit. Made by operands_parse from the
 * argument string of a note, used by every engine. Plain data; two operands that compare equal by
 * operand_equal need the same code.
 *
 * Symbols. An operand that names a symbol is not complete before the probe module has resolved the
 * symbol: `symbol` is its name, `symbol_rule` says which number to compute from the symbol's value
 * S (its link-time address), and operand_resolve puts that number in. No other code writes to
 * `value` or `symbol`. When the symbol cannot be found, the operand becomes OPERAND_BAD with `why`.
 *
 *   written                rule            number to hand to operand_resolve
 *   $sym, sym, sym+4       SYMBOL_ADDRESS  S. Right for executables at a fixed address (ET_EXEC);
 *                                          refuse it in an image that is moved when loaded,
 *                                          unless low_bits is 12 or -12: images move by pages
 *   off+sym(%rip)          SYMBOL_PC       S - L, where L is site->location (adjusted, like the
 *                                          symbol table of a prelinked file); base is arch->pc,
 *                                          so the address is the site's own + value
 *   off+sym@GOTOFF(%ebx)   SYMBOL_GOT      S - G, where G is the link-time address of
 *                                          _GLOBAL_OFFSET_TABLE_: without that symbol the section
 *                                          .got.plt, or .got when there is none
 *   %fs:sym@tpoff          SYMBOL_TLS      the symbol's distance from the thread pointer. With S
 *   %gs:sym@ntpoff                         its offset in the PT_TLS segment, which has vaddr,
 *   %tprel_lo(sym)(a4)                     memsz, align, and `word` bytes to an address:
 *                                          x86_64, i386, s390x:
 *                                            S - memsz - ((-vaddr - memsz) & (align - 1))
 *                                          aarch64, arm:
 *                                            S + 2 * word + ((vaddr - 2 * word) & (align - 1))
 *                                          riscv64:  S + (vaddr & (align - 1))
 *                                          ppc64le, mips64: the same - 0x7000
 *                                          Known for the main executable only: refuse it in a
 *                                          shared library
 *
 * The displacement written beside the symbol is in `value` already and is kept by operand_resolve,
 * and so are the parts of an address that an operator takes (%lo, :lo12:, @l). */
#ifndef NOPAL_ARCH_OPERAND_H
#define NOPAL_ARCH_OPERAND_H

#include "arch/arch.h"
#include "base/arena.h"
#include "base/buf.h"

/* ORDER: what can be read comes before OPERAND_BAD; see operand_problem(). */
enum operand_kind {
	OPERAND_CONST,	 /* $42                        value                                     */
	OPERAND_REG,	 /* %eax                       reg, shift                                */
	OPERAND_MEM,	 /* -8(%rbp,%rcx,4)            *(base + (index << scale_shift) + value)  */
	OPERAND_ADDRESS, /* 24@-32(%rbp)               base + (index << scale_shift) + value: of
			  * bytes that are not a number, a struct or a long double, this is what
			  * scripts have                                                         */
	OPERAND_CONTEXT, /* (of the kernel's tracepoints) the word at `value`, of those that the
			  * kernel hands over                                                    */
	OPERAND_BAD,	 /* unknown form, or not readable; `why` says which             */
};

enum symbol_rule { SYMBOL_NONE, SYMBOL_ADDRESS, SYMBOL_PC, SYMBOL_GOT, SYMBOL_TLS };

/* More arguments than this are not looked at: the last operand is then OPERAND_BAD. */
#define OPERANDS_MAX 128

/* Small, because a file may have 100,000 sites: 64 bytes. */
struct operand {
	enum operand_kind kind : 8;
	enum symbol_rule symbol_rule : 8; /* what operand_resolve wants; kept afterwards */
	uint8_t size;			  /* bytes of the value: 1, 2, 4, 8 */
	bool is_signed;			  /* "-4@": sign-extend */
	uint32_t bytes;			  /* of the argument, as the note says: 24 */
	bool is_float;			  /* "8f@": IEEE bits of `size` bytes */
	uint8_t reg;			  /* OPERAND_REG: register id */
	uint8_t reg_shift;		  /* OPERAND_REG: 8 for %ah */
	uint8_t base, index; /* OPERAND_MEM: register ids or REG_NONE. base may be arch->pc: the
			      * displacement is then relative to the site's own address; or
			      * arch->tls: to the thread pointer */
	uint8_t scale_shift; /* OPERAND_MEM: 0..31; more than 3 only on arm */
	int8_t low_bits;   /* 12: only the low 12 bits of symbol + value count; -12: sign-extended;
			    * 0: all of them */
	int64_t value;	   /* the constant, cut to size and extended by its sign; or the
			    * displacement */
	struct str symbol; /* a symbol that still has to be resolved; empty once it is */
	struct str raw;	   /* the argument as the note has it: "-4@-8(%rbp)" */
	const char *why;   /* OPERAND_BAD: "unknown register" */
};

/* Read a note's whole argument string into `out`, which has room for OPERANDS_MAX; the number of
 * operands. Always one for each argument, so that numbers of arguments stay right: one that cannot
 * be understood is OPERAND_BAD. Their text borrows from `args`. */
unsigned operands_parse(const struct arch *arch, struct str args, struct operand *out);
/* Read one argument: "-4@-8(%rbp)", or "-8(%rbp)" as assembler files give it (its size is then the
 * register's, or a word). Never fails: see OPERAND_BAD. */
void operand_parse(const struct arch *arch, struct str raw, struct operand *out);
/* Put in the number that the symbol means (table above). */
void operand_resolve(struct operand *o, uint64_t number);

/* Same code reads both: kind, size, sign, registers and value are equal; raw text may differ. */
bool operand_equal(const struct operand *a, const struct operand *b);
/* Why no engine can read it; NULL: an engine that sees its registers can. */
const char *operand_problem(const struct operand *o);
/* In words: "signed 4-byte  -4(%rbp)", "unsigned 8-byte  register %r13", "signed 4-byte  constant
 * -1". Safe for a terminal. */
void operand_describe(const struct operand *o, const struct arch *arch, struct buf *out);

/* The n-th (from 0) integer argument of a function, at its first instruction, by the usual calling
 * convention; false when it has no fixed place. */
bool operand_call_arg(const struct arch *arch, unsigned n, struct operand *out);

#endif
