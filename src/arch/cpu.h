/* What the file of a CPU is made of: the rows of its tables. A CPU is one file, NAME.c, which
 * defines arch_NAME, and one row of CPUS. Its file says how operands are written by naming one of
 * the syntaxes below, or has a parser of its own. */
#ifndef NOPAL_ARCH_CPU_H
#define NOPAL_ARCH_CPU_H

#include <elf.h>
#include <errno.h>

#include "arch/operand.h"
#include "base/array.h"

#define CPUS(ROW)    \
	ROW(x86_64)  \
	ROW(i386)    \
	ROW(aarch64) \
	ROW(arm)     \
	ROW(riscv64) \
	ROW(ppc64le) \
	ROW(powerpc) \
	ROW(s390x)   \
	ROW(mips64)  \
	ROW(loongarch64)

#define DECLARE_CPU(name) extern const struct arch arch_##name;
CPUS(DECLARE_CPU)

/* clang-format off */

/* ROW(0) ROW(1) ... for registers that are numbered; a row ends in its own comma. */
#define ROWS_0_7(ROW)	ROW(0)  ROW(1)  ROW(2)  ROW(3)  ROW(4)  ROW(5)  ROW(6)  ROW(7)
#define ROWS_8_15(ROW)	ROW(8)  ROW(9)  ROW(10) ROW(11) ROW(12) ROW(13) ROW(14) ROW(15)
#define ROWS_16_23(ROW) ROW(16) ROW(17) ROW(18) ROW(19) ROW(20) ROW(21) ROW(22) ROW(23)
#define ROWS_24_30(ROW) ROW(24) ROW(25) ROW(26) ROW(27) ROW(28) ROW(29) ROW(30)
#define ROWS_16(ROW)	ROWS_0_7(ROW) ROWS_8_15(ROW)
#define ROWS_31(ROW)	ROWS_16(ROW) ROWS_16_23(ROW) ROWS_24_30(ROW)
#define ROWS_32(ROW)	ROWS_31(ROW) ROW(31)
/* clang-format on */

/* ---- parse.c, bracket.c, paren.c: what the operand syntaxes share: a scanner over one argument's
 * text, sums of numbers and a symbol, and the two ways to write memory, off(base) and [base, off].
 * Every function that can refuse text returns 0 or -EINVAL and says why in operand->why. */

struct operand_scan {
	const char *at, *end;
};

/* "40+CheckpointStats@GOTOFF" */
struct operand_expr {
	bool present;
	int64_t value;	     /* the sum of the numbers, wrapping at 64 bits as in assemblers */
	struct str symbol;   /* empty: none */
	struct str modifier; /* "GOTOFF": what follows the symbol's @ */
};

/* What an assembler writes at a symbol to take another number than its address: a row of
 * arch->modifiers, which ends with a row without name. */
struct modifier {
	const char *name; /* "tpoff" of sym@tpoff, "lo12" of :lo12:sym, "%lo" of %lo(sym) */
	enum symbol_rule rule;
	int8_t low_bits;
};

struct operand_scan scan_of(struct str text);
bool scan_at_end(struct operand_scan *s); /* only blanks are left */
char scan_peek(struct operand_scan *s);	  /* the next byte after blanks; 0 at the end */
bool scan_char(struct operand_scan *s, char c);
/* Letters, digits, _ and . ; false when there are none. */
bool scan_word(struct operand_scan *s, struct str *out);
int scan_number(struct operand_scan *s, struct operand *o, uint64_t *out);
/* term = number | symbol ["@" modifier]: added to `out`. */
int scan_term(struct operand_scan *s, struct operand *o, bool negative, struct operand_expr *out);
/* expr = [sign] term { sign term }. Absent is fine. */
int scan_expr(struct operand_scan *s, struct operand *o, struct operand_expr *out);

int operand_refuse(struct operand *o, const char *why); /* -EINVAL */
/* The whole rest of the text must have been read. */
int operand_end(struct operand_scan *s, struct operand *o);
/* A general register, under its full-width name. */
bool reg_holds_address(const struct arch *arch, const struct arch_reg *reg);
/* The same, refusing others. */
int check_address_reg(const struct arch *arch, const struct arch_reg *reg, struct operand *o);
void operand_set_reg(struct operand *o, const struct arch *arch, const struct arch_reg *reg);
void operand_set_base(struct operand *o, const struct arch *arch, const struct arch_reg *reg);
void operand_set_index(struct operand *o, const struct arch *arch, const struct arch_reg *reg,
		       unsigned shift);
/* The number and the symbol of `e` become the constant or displacement of `o`. */
int operand_set_expr(struct operand *o, const struct arch *arch, const struct operand_expr *e);

/* constant = ["#"] expr */
int parse_constant(const struct arch *arch, struct operand_scan *s, struct operand *o);
/* The operands of arm and aarch64: operand = reg | ["#"] expr | "[" address "]" ;
 * address = reg [ "," (["#"] [":" op ":"] expr | reg ["," "lsl" ["#"] number]) ] */
int parse_bracket(const struct arch *arch, struct str text, struct operand *o);

/* How the CPUs that write off(base) differ: arch->parens. */
struct paren_syntax {
	char sigil; /* before a register: '%', '$', or 0 */
	bool sigil_optional;
	bool numbered;	  /* registers may be given as a number after the sigil */
	bool index_first; /* off(index,base) */
};
/* reg = sigil word | sigil number, as arch->parens has it (NULL: no sigil, no numbers); anything
 * else is left unread. */
bool scan_reg(const struct arch *arch, struct operand_scan *s, const struct arch_reg **out);
/* operand = reg | expr | op "(" expr ")" , either followed by "(" reg ["," reg] ")" */
int parse_paren(const struct arch *arch, struct str text, struct operand *o);
/* operand = "i" expr | reg "," reg | what parse_paren() reads, without bare constants */
int parse_power(const struct arch *arch, struct str text, struct operand *o);

/* x86.c and x86_length.c: what both x86 CPUs share. */
int x86_parse(const struct arch *arch, struct str text, struct operand *o); /* AT&T syntax */
/* What an address is made of, in either syntax; `e` is its displacement. */
struct x86_address {
	const struct arch_reg *base, *index;
	unsigned scale_shift;
	bool tls; /* from the thread pointer */
};
/* Make it the operand, when all of it fits together. */
int x86_set_memory(const struct arch *arch, const struct x86_address *address,
		   const struct operand_expr *e, struct operand *o);
/* intel.c */
int intel_parse(const struct arch *arch, struct str text, struct operand *o);
bool intel_is_used(struct str args);
extern const struct str x86_nops[];
unsigned x86_64_length(struct str code);
unsigned i386_length(struct str code);

#endif
