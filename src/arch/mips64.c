/* mips64 (n64): $2 is register 2, 4($sp) memory; constants bare. */
#include "arch/cpu.h"

enum { ZERO, V0 = 2, A0 = 4, GP = 28, SP = 29, FP = 30, RA = 31, F0 = 32, PC = 64, TP = 65 };

/* clang-format off */
#define NAMED(name, n) {name, n, 8, 0, true},
#define GENERAL(n)     NAMED("r" #n, n)
#define A(n)           NAMED("a" #n, A0 + n)
#define FLOAT(n)       {"f" #n, F0 + n, 8, 0, false},

static const struct arch_reg regs[] = {
	ROWS_32(GENERAL)
	NAMED("zero", 0) NAMED("at", 1)  NAMED("v0", 2)  NAMED("v1", 3)
	ROWS_0_7(A)
	NAMED("t0", 12)  NAMED("t1", 13) NAMED("t2", 14) NAMED("t3", 15)
	NAMED("s0", 16)  NAMED("s1", 17) NAMED("s2", 18) NAMED("s3", 19)
	NAMED("s4", 20)  NAMED("s5", 21) NAMED("s6", 22) NAMED("s7", 23)
	NAMED("t8", 24)  NAMED("t9", 25) NAMED("k0", 26) NAMED("k1", 27)
	NAMED("gp", GP)  NAMED("sp", SP) NAMED("fp", FP) NAMED("s8", FP)
	NAMED("ra", RA)  NAMED("pc", PC)
	ROWS_32(FLOAT)
};

/* The low 16 bits, sign-extended. */
static const struct modifier modifiers[] = {
	{"%lo",       SYMBOL_ADDRESS, -16},
	{"%tprel_lo", SYMBOL_TLS,     -16},
	{NULL,        SYMBOL_NONE,      0},
};

static const struct paren_syntax parens = {.sigil = '$', .numbered = true};

static const uint8_t call_regs[] = {4, 5, 6, 7, 8, 9, 10, 11};

static const struct str nops[] = {{"\x00\x00\x00\x00", 4}, {NULL, 0}};

const struct arch arch_mips64 = {
	.name = "mips64", .machine = EM_MIPS, .word = 8,
	.pc = PC, .sp = SP, .tls = TP, .zero = ZERO, .zero_base = ZERO,
	.regs = regs, .reg_count = COUNT(regs),
	.parse_operand = parse_paren, .modifiers = modifiers, .parens = &parens,
	.call_regs = call_regs, .call_reg_count = COUNT(call_regs), .call_ret = V0, .call_stack = 0,
	.nops = nops, .length = word_length,
#ifdef __mips64
	.is_host = true,
#endif
};
/* clang-format on */
