/* riscv64: a5, -24(s0), %lo(sym)(a5); constants bare. Registers go by ABI names and by number. */
#include "arch/cpu.h"

#if defined(__riscv) && __riscv_xlen == 64
#define IS_HOST true
#else
#define IS_HOST false
#endif

enum { ZERO, RA, SP, GP, TP, A0 = 10, PC = 32, F0 = 64 };

/* clang-format off */

/* ORDER: x1 to x31 have their numbers (engine/bpf/kernel/registers.c). */
#define NAMED(name, n)  {name, n, 8, 0, n != ZERO},
#define GENERAL(n)      NAMED("x" #n, n)
#define A(n)            NAMED("a" #n, A0 + n)
#define FNAMED(name, n) {name, F0 + n, 8, 0, false},
#define FLOAT(n)        FNAMED("f" #n, n)
#define FA(n)           FNAMED("fa" #n, 10 + n)
#define FT(n)           FNAMED("ft" #n, n)

static const struct arch_reg regs[] = {
	ROWS_0_7(A)
	NAMED("s0", 8)    NAMED("s1", 9)    NAMED("s2", 18)    NAMED("s3", 19)
	NAMED("s4", 20)   NAMED("s5", 21)   NAMED("s6", 22)    NAMED("s7", 23)
	NAMED("s8", 24)   NAMED("s9", 25)   NAMED("s10", 26)   NAMED("s11", 27)
	NAMED("t0", 5)    NAMED("t1", 6)    NAMED("t2", 7)     NAMED("t3", 28)
	NAMED("t4", 29)   NAMED("t5", 30)   NAMED("t6", 31)
	NAMED("sp", SP)   NAMED("fp", 8)    NAMED("ra", RA)    NAMED("gp", GP)
	NAMED("tp", TP)   NAMED("zero", ZERO)
	{"pc", PC, 8, 0, true},
	ROWS_32(GENERAL)
	ROWS_0_7(FA)
	FNAMED("fs0", 8)  FNAMED("fs1", 9)  FNAMED("fs2", 18)  FNAMED("fs3", 19)
	FNAMED("fs4", 20) FNAMED("fs5", 21) FNAMED("fs6", 22)  FNAMED("fs7", 23)
	FNAMED("fs8", 24) FNAMED("fs9", 25) FNAMED("fs10", 26) FNAMED("fs11", 27)
	ROWS_0_7(FT)
	FNAMED("ft8", 28) FNAMED("ft9", 29) FNAMED("ft10", 30) FNAMED("ft11", 31)
	ROWS_32(FLOAT)
};

/* RISC-V ELF psABI, relocations: the low 12 bits, sign-extended. */
static const struct modifier modifiers[] = {
	{"%lo",       SYMBOL_ADDRESS, -12},
	{"%tprel_lo", SYMBOL_TLS,     -12},
	{NULL,        SYMBOL_NONE,      0},
};

static const struct paren_syntax parens = {0};

static const uint8_t call_regs[] = {10, 11, 12, 13, 14, 15, 16, 17};

static const struct str nops[] = {
	{"\x13\x00\x00\x00", 4},
	{"\x01\x00",         2}, /* c.nop */
	{NULL, 0},
};
/* clang-format on */

/* RISC-V unprivileged ISA, 1.5: by the low bits; longer forms than 8 bytes are reserved. */
static unsigned riscv_length(struct str code)
{
	unsigned low = code.len ? (unsigned char)code.ptr[0] : 0;

	if ((low & 0x03) != 0x03)
		return length_within(code, 2);
	if ((low & 0x1f) != 0x1f)
		return length_within(code, 4);
	if ((low & 0x3f) == 0x1f)
		return length_within(code, 6);
	return (low & 0x7f) == 0x3f ? length_within(code, 8) : 0;
}

/* clang-format off */
const struct arch arch_riscv64 = {
	.name = "riscv64", .machine = EM_RISCV, .word = 8, .is_host = IS_HOST,
	.pc = PC, .sp = SP, .tls = TP, .zero = ZERO, .zero_base = ZERO,
	.regs = regs, .reg_count = COUNT(regs),
	.parse_operand = parse_paren, .modifiers = modifiers, .parens = &parens,
	.call_regs = call_regs, .call_reg_count = COUNT(call_regs), .call_ret = A0, .call_stack = 0,
	.nops = nops, .length = riscv_length,
};
/* clang-format on */
