/* powerpc, 32 bits: registers are bare numbers: 10 is r10 (paren.c). Register 0 in an address means
 * 0. */
#include "arch/cpu.h"

enum { R0, R1, TP, R3, F0 = 32, NIP = 64 };

/* clang-format off */
#define GENERAL(n) {"r" #n, n,      4, 0, true},
#define FLOAT(n)   {"f" #n, F0 + n, 8, 0, false},

static const struct arch_reg regs[] = {
	ROWS_32(GENERAL) ROWS_32(FLOAT)
	{"nip", NIP, 4, 0, true},
};

/* Power Architecture 32-bit ABI supplement, relocations: the low 16 bits, sign-extended. */
static const struct modifier modifiers[] = {
	{"l",       SYMBOL_ADDRESS, -16},
	{"tprel@l", SYMBOL_TLS,     -16},
	{NULL,      SYMBOL_NONE,      0},
};

static const struct paren_syntax parens = {.sigil = '%', .sigil_optional = true, .numbered = true};

/* The same supplement, parameter passing; the word above the stack pointer is for the callee. */
static const uint8_t call_regs[] = {3, 4, 5, 6, 7, 8, 9, 10};

static const struct str nops[] = {{"\x60\x00\x00\x00", 4}, {NULL, 0}};

const struct arch arch_powerpc = {
	.name = "powerpc", .machine = EM_PPC, .word = 4,
	.pc = NIP, .sp = R1, .tls = TP, .zero = REG_NONE, .zero_base = R0,
	.regs = regs, .reg_count = COUNT(regs),
	.parse_operand = parse_power, .modifiers = modifiers, .parens = &parens,
	.call_regs = call_regs, .call_reg_count = COUNT(call_regs), .call_ret = R3, .call_stack = 8,
	.nops = nops, .length = word_length,
#if defined(__powerpc__) && !defined(__powerpc64__)
	.is_host = true,
#endif
};
/* clang-format on */
