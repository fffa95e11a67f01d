/* loongarch64: $r12 or $t0; memory as gcc writes it, $r22,-24 and $r4,$r12, or 0($r12) as our
 * header does; constants bare. */
#include "arch/cpu.h"

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif

enum { ZERO, RA, TP, SP, A0, T0 = 12, FP = 22, S0, F0 = 32, PC = 64 };

/* clang-format off */
#define NAMED(name, n) {name, n, 8, 0, true},
#define GENERAL(n)     NAMED("r" #n, n)
#define A(n)           NAMED("a" #n, A0 + n)
#define S(n)           NAMED("s" #n, S0 + n)
#define T(n)           NAMED("t" #n, T0 + n)
#define FLOAT(n)       {"f" #n, F0 + n, 8, 0, false},

static const struct arch_reg regs[] = {
	ROWS_32(GENERAL)
	ROWS_0_7(A) ROWS_0_7(S) ROWS_0_7(T) S(8) T(8)
	NAMED("zero", ZERO) NAMED("ra", RA) NAMED("tp", TP) NAMED("sp", SP) NAMED("fp", FP)
	NAMED("s9", FP)     NAMED("pc", PC)
	ROWS_32(FLOAT)
};
/* clang-format on */

static const struct modifier modifiers[] = {{NULL, SYMBOL_NONE, 0}};

static const struct paren_syntax parens = {.sigil = '$'};

/* LoongArch ELF psABI, procedure calling convention. */
static const uint8_t call_regs[] = {4, 5, 6, 7, 8, 9, 10, 11};

static const struct str nops[] = {
	{"\x00\x00\x40\x03", 4}, /* andi $r0, $r0, 0 */
	{NULL, 0},
};

/* operand = reg "," (reg | expr) | what parse_paren() reads */
static int parse_operand(const struct arch *arch, struct str text, struct operand *o)
{
	struct operand_scan s = scan_of(text);
	const struct arch_reg *base, *index;
	struct operand_expr e;

	if (!scan_reg(arch, &s, &base) || !scan_char(&s, ','))
		return parse_paren(arch, text, o);
	if (check_address_reg(arch, base, o))
		return -EINVAL;
	o->kind = OPERAND_MEM;
	operand_set_base(o, arch, base);
	if (scan_reg(arch, &s, &index)) {
		if (check_address_reg(arch, index, o))
			return -EINVAL;
		operand_set_index(o, arch, index, 0);
		return operand_end(&s, o);
	}
	if (scan_expr(&s, o, &e))
		return -EINVAL;
	if (!e.present || e.symbol.len)
		return operand_refuse(o, "an offset or a register is missing");
	return operand_set_expr(o, arch, &e) ? -EINVAL : operand_end(&s, o);
}

/* clang-format off */
const struct arch arch_loongarch64 = {
	.name = "loongarch64", .machine = EM_LOONGARCH, .word = 8,
	.pc = PC, .sp = SP, .tls = TP, .zero = ZERO, .zero_base = ZERO,
	.regs = regs, .reg_count = COUNT(regs),
	.parse_operand = parse_operand, .modifiers = modifiers, .parens = &parens,
	.call_regs = call_regs, .call_reg_count = COUNT(call_regs), .call_ret = A0, .call_stack = 0,
	.nops = nops, .length = word_length,
#if defined(__loongarch__) && __loongarch_grlen == 64
	.is_host = true,
#endif
};
/* clang-format on */
