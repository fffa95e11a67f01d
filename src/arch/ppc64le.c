/* ppc64le: registers are bare numbers: 10 is r10 (paren.c). Register 0 in an address means 0. */
#include "arch/cpu.h"

enum { R0, R1, R3 = 3, TP = 13, F0 = 32, VS0 = 64, NIP = 128 };

/* clang-format off */
#define GENERAL(n) {"r" #n,  n,             8, 0, true},
#define FLOAT(n)   {"f" #n,  F0 + n,        8, 0, false},
#define VECTOR(n)  {"v" #n,  VS0 + 32 + n, 16, 0, false},
#define SCALAR(n)  {"vs" #n, VS0 + n,      16, 0, false},

static const struct arch_reg regs[] = {
	ROWS_32(GENERAL) ROWS_32(FLOAT) ROWS_32(VECTOR) ROWS_32(SCALAR)
	{"nip", NIP, 8, 0, true},
};

/* 64-bit ELF V2 ABI, relocations: the low 16 bits, sign-extended. */
static const struct modifier modifiers[] = {
	{"l",       SYMBOL_ADDRESS, -16},
	{"tprel@l", SYMBOL_TLS,     -16},
	{NULL,      SYMBOL_NONE,      0},
};
/* clang-format on */

static const struct paren_syntax parens = {.sigil = '%', .sigil_optional = true, .numbered = true};

static const uint8_t call_regs[] = {3, 4, 5, 6, 7, 8, 9, 10};

static const struct str nops[] = {{"\x00\x00\x00\x60", 4}, {NULL, 0}};

/* Power ISA 3.1, 1.6: primary opcode 1 is a prefix. */
static unsigned ppc64le_length(struct str code)
{
	if (code.len < 4)
		return 0;
	return length_within(code, (unsigned char)code.ptr[3] >> 2 == 1 ? 8 : 4);
}

/* clang-format off */
const struct arch arch_ppc64le = {
	.name = "ppc64le", .machine = EM_PPC64, .word = 8,
	.pc = NIP, .sp = R1, .tls = TP, .zero = REG_NONE, .zero_base = R0,
	.regs = regs, .reg_count = COUNT(regs),
	.parse_operand = parse_power, .modifiers = modifiers, .parens = &parens,
	.call_regs = call_regs, .call_reg_count = COUNT(call_regs), .call_ret = R3, .call_stack = -1,
	.nops = nops, .length = ppc64le_length,
#ifdef __powerpc64__
	.is_host = true,
#endif
};
/* clang-format on */
