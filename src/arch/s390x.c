/* s390x: %r2, 164(%r15), 0(%r4,%r1) with the index first; constants bare. Register 0 in an address
 * means 0. Big-endian. */
#include "arch/cpu.h"

enum { R0, R2 = 2, SP = 15, F0 = 16, V0 = 32, A0 = 64, PSW = 80 };

/* clang-format off */
#define GENERAL(n) {"r" #n, n,       8, 0, true},
#define FLOAT(n)   {"f" #n, F0 + n,  8, 0, false},
#define VECTOR(n)  {"v" #n, V0 + n, 16, 0, false},
#define ACCESS(n)  {"a" #n, A0 + n,  4, 0, false},

static const struct arch_reg regs[] = {
	ROWS_16(GENERAL) ROWS_16(FLOAT) ROWS_32(VECTOR) ROWS_16(ACCESS)
	{"psw", PSW, 8, 0, true},
};

static const struct modifier modifiers[] = {{"ntpoff", SYMBOL_TLS, 0}, {NULL, SYMBOL_NONE, 0}};

static const struct paren_syntax parens = {.sigil = '%', .index_first = true};

static const uint8_t call_regs[] = {2, 3, 4, 5, 6};

static const struct str nops[] = {
	{"\x47\x00\x00\x00",         4},
	{"\x07\x00",                 2}, /* nopr */
	{"\x07\x07",                 2}, /* nopr %r7 */
	{"\xc0\x04\x00\x00\x00\x00", 6}, /* jgnop */
	{NULL, 0},
};
/* clang-format on */

/* z/Architecture Principles of Operation, chapter 5, "Instruction formats": by the high bits. */
static unsigned s390x_length(struct str code)
{
	static const unsigned char lengths[] = {2, 4, 4, 6};

	return code.len ? length_within(code, lengths[(unsigned char)code.ptr[0] >> 6]) : 0;
}

/* clang-format off */
const struct arch arch_s390x = {
	.name = "s390x", .machine = EM_S390, .word = 8,
	.pc = PSW, .sp = SP, .tls = A0, .zero = REG_NONE, .zero_base = R0,
	.regs = regs, .reg_count = COUNT(regs),
	.parse_operand = parse_paren, .modifiers = modifiers, .parens = &parens,
	.call_regs = call_regs, .call_reg_count = COUNT(call_regs), .call_ret = R2, .call_stack = 160,
	.nops = nops, .length = s390x_length,
#ifdef __s390x__
	.is_host = true,
#endif
};
/* clang-format on */
