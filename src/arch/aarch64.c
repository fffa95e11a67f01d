/* aarch64: x21, [sp, 132], [x21, #:lo12:sym]; constants bare or after '#'. */
#include "arch/cpu.h"

enum { X0, FP = 29, LR = 30, SP = 31, PC = 32, ZR = 33, TPIDR = 34, V0 = 64 };

/* clang-format off */

/* struct user_pt_regs: regs[31], sp, pc, pstate. */
#define GENERAL(n) {"x" #n, n, 8, 0, ON_AARCH64(8 * n)}, {"w" #n, n, 4, 0, ON_AARCH64(8 * n)},
#define VECTOR(n) \
	{"v" #n, V0 + n, 16, 0, REG_NOT_SAVED}, {"q" #n, V0 + n, 16, 0, REG_NOT_SAVED}, \
	{"d" #n, V0 + n,  8, 0, REG_NOT_SAVED}, {"s" #n, V0 + n,  4, 0, REG_NOT_SAVED}, \
	{"h" #n, V0 + n,  2, 0, REG_NOT_SAVED}, {"b" #n, V0 + n,  1, 0, REG_NOT_SAVED},

static const struct arch_reg regs[] = {
	ROWS_31(GENERAL)
	{"sp",  SP, 8, 0, ON_AARCH64(248)},
	{"wsp", SP, 4, 0, ON_AARCH64(248)},
	{"x31", SP, 8, 0, ON_AARCH64(248)},
	{"fp",  FP, 8, 0, ON_AARCH64(8 * FP)},
	{"lr",  LR, 8, 0, ON_AARCH64(8 * LR)},
	{"pc",  PC, 8, 0, ON_AARCH64(256)},
	{"xzr", ZR, 8, 0, REG_NOT_SAVED},
	{"wzr", ZR, 4, 0, REG_NOT_SAVED},
	ROWS_32(VECTOR)
};

/* ELF for the Arm 64-bit architecture, static relocations: the low 12 bits, unsigned. */
static const struct modifier modifiers[] = {
	{"lo12",          SYMBOL_ADDRESS, 12},
	{"tprel_lo12",    SYMBOL_TLS,     12},
	{"tprel_lo12_nc", SYMBOL_TLS,     12},
	{NULL,            SYMBOL_NONE,     0},
};

/* Procedure Call Standard for the Arm 64-bit architecture, 6.8. */
static const uint8_t call_regs[] = {0, 1, 2, 3, 4, 5, 6, 7};

static const struct str nops[] = {{"\x1f\x20\x03\xd5", 4}, {NULL, 0}};

const struct arch arch_aarch64 = {
	.name = "aarch64", .machine = EM_AARCH64, .word = 8,
	.pc = PC, .sp = SP, .tls = TPIDR, .zero = ZR, .zero_base = ZR,
	.regs = regs, .reg_count = COUNT(regs),
	.parse_operand = parse_bracket, .modifiers = modifiers,
	.call_regs = call_regs, .call_reg_count = COUNT(call_regs), .call_ret = X0, .call_stack = 0,
	.nops = nops, .length = word_length,
#ifdef __aarch64__
	.is_host = true,
#endif
};
/* clang-format on */
