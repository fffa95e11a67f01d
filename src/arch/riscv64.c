/* riscv64: a5, -24(s0), %lo(sym)(a5); constants bare. Registers go by ABI names and by number. */
#include "arch/instruction.h"
#include "arch/parse.h"
#include "arch/regs.h"

#include <elf.h>

enum { ZERO, RA, SP, GP, TP, A0 = 10, PC = 32, F0 = 64 };

/* struct user_regs_struct: pc, then x1 to x31. */
#define GENERAL(n) {"x" #n, n, 8, 0, n == ZERO ? REG_NOT_SAVED : ON_RISCV64(8 * n)},
#define NAMED(name, n)                           \
	{                                        \
		name, n, 8, 0, ON_RISCV64(8 * n) \
	}
#define FLOAT(n) {"f" #n, F0 + n, 8, 0, REG_NOT_SAVED},
#define FNAMED(name, n)                           \
	{                                         \
		name, F0 + n, 8, 0, REG_NOT_SAVED \
	}

static const struct arch_reg regs[] = {NAMED("a0", 10),
				       NAMED("a1", 11),
				       NAMED("a2", 12),
				       NAMED("a3", 13),
				       NAMED("a4", 14),
				       NAMED("a5", 15),
				       NAMED("a6", 16),
				       NAMED("a7", 17),
				       NAMED("s0", 8),
				       NAMED("s1", 9),
				       NAMED("s2", 18),
				       NAMED("s3", 19),
				       NAMED("s4", 20),
				       NAMED("s5", 21),
				       NAMED("s6", 22),
				       NAMED("s7", 23),
				       NAMED("s8", 24),
				       NAMED("s9", 25),
				       NAMED("s10", 26),
				       NAMED("s11", 27),
				       NAMED("t0", 5),
				       NAMED("t1", 6),
				       NAMED("t2", 7),
				       NAMED("t3", 28),
				       NAMED("t4", 29),
				       NAMED("t5", 30),
				       NAMED("t6", 31),
				       NAMED("sp", SP),
				       NAMED("fp", 8),
				       NAMED("ra", RA),
				       NAMED("gp", GP),
				       NAMED("tp", TP),
				       {"zero", ZERO, 8, 0, REG_NOT_SAVED},
				       {"pc", PC, 8, 0, ON_RISCV64(0)},
				       ROWS_32(GENERAL) FNAMED("fa0", 10),
				       FNAMED("fa1", 11),
				       FNAMED("fa2", 12),
				       FNAMED("fa3", 13),
				       FNAMED("fa4", 14),
				       FNAMED("fa5", 15),
				       FNAMED("fa6", 16),
				       FNAMED("fa7", 17),
				       FNAMED("fs0", 8),
				       FNAMED("fs1", 9),
				       FNAMED("fs2", 18),
				       FNAMED("fs3", 19),
				       FNAMED("fs4", 20),
				       FNAMED("fs5", 21),
				       FNAMED("fs6", 22),
				       FNAMED("fs7", 23),
				       FNAMED("fs8", 24),
				       FNAMED("fs9", 25),
				       FNAMED("fs10", 26),
				       FNAMED("fs11", 27),
				       FNAMED("ft0", 0),
				       FNAMED("ft1", 1),
				       FNAMED("ft2", 2),
				       FNAMED("ft3", 3),
				       FNAMED("ft4", 4),
				       FNAMED("ft5", 5),
				       FNAMED("ft6", 6),
				       FNAMED("ft7", 7),
				       FNAMED("ft8", 28),
				       FNAMED("ft9", 29),
				       FNAMED("ft10", 30),
				       FNAMED("ft11", 31),
				       ROWS_32(FLOAT)};

/* RISC-V ELF psABI, relocations: the low 12 bits, sign-extended. */
static const struct modifier modifiers[] = {
	{"%lo", SYMBOL_ADDRESS, -12},
	{"%tprel_lo", SYMBOL_TLS, -12},
	{NULL, SYMBOL_NONE, 0},
};

static const struct paren_syntax parens = {0};

static const uint8_t call_regs[] = {10, 11, 12, 13, 14, 15, 16, 17};

static const struct str nops[] = {
	{"\x13\x00\x00\x00", 4},
	{"\x01\x00", 2}, /* c.nop */
	{NULL, 0},
};

const struct arch arch_riscv64 = {
	.name = "riscv64",
	.machine = EM_RISCV,
	.word = 8,
	.pc = PC,
	.sp = SP,
	.tls = TP,
	.zero = ZERO,
	.zero_base = ZERO,
	.regs = regs,
	.reg_count = sizeof(regs) / sizeof(regs[0]),
	.parse_operand = parse_paren,
	.modifiers = modifiers,
	.parens = &parens,
	.call_regs = call_regs,
	.call_reg_count = sizeof(call_regs),
	.call_ret = A0,
	.call_stack = 0,
	.nops = nops,
	.length = riscv_length,
};
