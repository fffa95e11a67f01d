/* arm: r5, [r4, #84], [r3, r6, lsl #2], #42; clang prints a symbol's address bare. */
#include "arch/cpu.h"

enum { R0, SP = 13, LR = 14, PC = 15, TPIDR = 16, V0 = 32 };

/* clang-format off */
#define NAMED(name, n) {name, n, 4, 0, true},
#define GENERAL(n)     NAMED("r" #n, n)
/* Register classes of the floating-point unit overlap: q1 is d2 and d3 is s4 to s7. */
#define SINGLE(n)      {"s" #n, V0 + n / 2,  4, 0, false},
#define DOUBLED(n)     {"d" #n, V0 + n,      8, 0, false},
#define QUAD(n)        {"q" #n, V0 + n * 2, 16, 0, false},

static const struct arch_reg regs[] = {
	ROWS_16(GENERAL)
	NAMED("sp", SP) NAMED("lr", LR) NAMED("ip", 12) NAMED("fp", 11) NAMED("sl", 10) NAMED("sb", 9)
	NAMED("pc", PC)
	ROWS_32(SINGLE) ROWS_32(DOUBLED) ROWS_16(QUAD)
};

static const struct modifier modifiers[] = {{"tpoff", SYMBOL_TLS, 0}, {NULL, SYMBOL_NONE, 0}};

/* Procedure Call Standard for the Arm architecture, 6.5. */
static const uint8_t call_regs[] = {0, 1, 2, 3};

static const struct str nops[] = {
	{"\x00\xf0\x20\xe3", 4},
	{"\x00\x00\xa0\xe1", 4}, /* mov r0, r0 */
	{"\x00\xbf",         2}, /* Thumb */
	{"\xc0\x46",         2}, /* Thumb: mov r8, r8 */
	{"\xaf\xf3\x00\x80", 4}, /* Thumb: nop.w */
	{NULL, 0},
};

const struct arch arch_arm = {
	.name = "arm", .machine = EM_ARM, .word = 4,
	.pc = PC, .sp = SP, .tls = TPIDR, .zero = REG_NONE, .zero_base = REG_NONE,
	.regs = regs, .reg_count = COUNT(regs),
	.parse_operand = parse_bracket, .modifiers = modifiers,
	.call_regs = call_regs, .call_reg_count = COUNT(call_regs), .call_ret = R0, .call_stack = 0,
	.nops = nops, .length = word_length,
#ifdef __arm__
	.is_host = true,
#endif
};
/* clang-format on */
