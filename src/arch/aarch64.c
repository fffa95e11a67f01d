/* aarch64: x21, [sp, 132], [x21, #:lo12:sym]; constants bare or after '#'. */
#include "arch/cpu.h"

enum { X0, FP = 29, LR = 30, SP = 31, PC = 32, ZR = 33, TPIDR = 34, V0 = 64 };

/* clang-format off */

/* ORDER: numbers up to PC are those of struct user_pt_regs (engine/bpf/kernel/registers.c). */
#define GENERAL(n) {"x" #n, n, 8, 0, true}, {"w" #n, n, 4, 0, true},
#define VECTOR(n) \
	{"v" #n, V0 + n, 16, 0, false}, {"q" #n, V0 + n, 16, 0, false}, \
	{"d" #n, V0 + n,  8, 0, false}, {"s" #n, V0 + n,  4, 0, false}, \
	{"h" #n, V0 + n,  2, 0, false}, {"b" #n, V0 + n,  1, 0, false},

static const struct arch_reg regs[] = {
	ROWS_31(GENERAL)
	{"sp",  SP, 8, 0, true},
	{"wsp", SP, 4, 0, true},
	{"x31", SP, 8, 0, true},
	{"fp",  FP, 8, 0, true},
	{"lr",  LR, 8, 0, true},
	{"pc",  PC, 8, 0, true},
	{"xzr", ZR, 8, 0, false},
	{"wzr", ZR, 4, 0, false},
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
