/* Operands as arm and aarch64 write them: r5, #42, and memory as [base], [base, 132],
 * [base, #:lo12:sym], [base, index, lsl 2]. These are the operands with blanks inside. */
#include "arch/cpu.h"

/* displacement = ["#"] [":" op ":"] expr */
static int parse_displacement(const struct arch *arch, struct operand_scan *s, struct operand *o)
{
	struct str op = {"", 0};
	struct operand_expr e;

	scan_char(s, '#');
	if (scan_char(s, ':') && (!scan_word(s, &op) || !scan_char(s, ':')))
		return operand_refuse(o, "unterminated operator like ':lo12:'");
	if (scan_expr(s, o, &e))
		return -EINVAL;
	if (!e.present)
		return operand_refuse(o, "the displacement is missing");
	if (op.len) {
		if (!e.symbol.len || e.modifier.len)
			return operand_refuse(o, "an operator like ':lo12:' needs a symbol");
		e.modifier = op;
	} else if (e.symbol.len) {
		return operand_refuse(o, "a symbol as displacement needs ':lo12:'");
	}
	return operand_set_expr(o, arch, &e);
}

/* index = reg ["," "lsl" ["#"] number] */
static int parse_index(const struct arch *arch, struct operand_scan *s, const struct arch_reg *reg,
		       struct operand *o)
{
	uint64_t shift = 0;
	struct str word;

	if (!reg_holds_address(arch, reg))
		return operand_refuse(o, "the index register is narrower than an address");
	if (scan_char(s, ',')) {
		if (!scan_word(s, &word) || !str_eq(word, STR("lsl")))
			return operand_refuse(o, "an index can only be shifted by 'lsl'");
		scan_char(s, '#');
		if (scan_number(s, o, &shift))
			return -EINVAL;
		if (shift > 31)
			return operand_refuse(o, "an index can be shifted by 31 bits at most");
	}
	operand_set_index(o, arch, reg, (unsigned)shift);
	return 0;
}

/* memory = "[" reg [ "," (displacement | index) ] "]" */
static int parse_memory(const struct arch *arch, struct operand_scan *s, struct operand *o)
{
	const struct arch_reg *base, *index;
	int err = 0;

	if (!scan_reg(arch, s, &base) || !reg_holds_address(arch, base))
		return operand_refuse(o, "the base register must be as wide as an address");
	if (base->id == arch->pc)
		return operand_refuse(o, "an address relative to pc is meaningless in a note");
	operand_set_base(o, arch, base);
	if (scan_char(s, ',')) {
		err = scan_reg(arch, s, &index) ? parse_index(arch, s, index, o)
						: parse_displacement(arch, s, o);
	}
	if (err)
		return err;
	if (!scan_char(s, ']'))
		return operand_refuse(o, "']' is missing after the address");
	return operand_end(s, o);
}

/* operand = reg | memory | constant */
int parse_bracket(const struct arch *arch, struct str text, struct operand *o)
{
	struct operand_scan s = scan_of(text);
	const struct arch_reg *reg;

	if (scan_char(&s, '['))
		return parse_memory(arch, &s, o);
	if (!scan_reg(arch, &s, &reg))
		return parse_constant(arch, &s, o);
	operand_set_reg(o, arch, reg);
	return operand_end(&s, o);
}
