/* Operands as riscv, ppc64, s390x and mips write them: registers, memory as -24(s0), 0(9),
 * 0(%r4,%r1) or %lo(sym)($2), and bare constants. POWER writes registers bare instead: 10 is r10,
 * 0(9) is memory at r9, 9,6 is memory at r9 + r6; a constant is i42. */
#include "arch/cpu.h"

static const struct arch_reg *numbered_reg(const struct arch *arch, struct str word)
{
	uint64_t number;

	if (word.ptr[0] < '0' || word.ptr[0] > '9' || str_to_u64(word, &number) || number > 31)
		return NULL;
	for (size_t i = 0; i < arch->reg_count; i++)
		if (arch->regs[i].id == number)
			return &arch->regs[i];
	return NULL;
}

bool scan_reg(const struct arch *arch, struct operand_scan *s, const struct arch_reg **out)
{
	static const struct paren_syntax plain = {0};
	const struct paren_syntax *syntax = arch->parens ? arch->parens : &plain;
	struct operand_scan ahead = *s;
	struct str word;

	if (syntax->sigil && !scan_char(&ahead, syntax->sigil) && !syntax->sigil_optional)
		return false;
	if (!scan_word(&ahead, &word))
		return false;
	*out = arch_find_reg(arch, word);
	if (!*out && syntax->numbered)
		*out = numbered_reg(arch, word);
	if (!*out)
		return false;
	*s = ahead;
	return true;
}

/* displacement = expr | "%" op "(" expr ")" */
static int parse_displacement(struct operand_scan *s, struct operand *o, struct operand_expr *e)
{
	const char *start;
	struct str op;

	if (scan_peek(s) != '%')
		return scan_expr(s, o, e);
	start = s->at++;
	if (!scan_word(s, &op) || !scan_char(s, '('))
		return operand_refuse(o, "unknown register, or an operator without '('");
	op = str_of(start, (size_t)(op.ptr + op.len - start));
	if (scan_expr(s, o, e))
		return -EINVAL;
	if (!e->symbol.len || e->modifier.len || !scan_char(s, ')'))
		return operand_refuse(o, "an operator like '%lo' needs a symbol and ')'");
	e->modifier = op;
	return 0;
}

/* address = "(" reg ["," reg] ")" ; 0 in place of a register: none */
static int parse_address(const struct arch *arch, struct operand_scan *s, struct operand *o)
{
	bool index_first = arch->parens->index_first;
	const struct arch_reg *first, *second = NULL;
	uint64_t zero;

	if (!scan_reg(arch, s, &first)) {
		if (!index_first || scan_number(s, o, &zero) || zero != 0)
			return operand_refuse(o, "unknown base register");
		first = NULL;
	}
	if (index_first && scan_char(s, ',') && !scan_reg(arch, s, &second))
		return operand_refuse(o, "unknown base register");
	if (!scan_char(s, ')'))
		return operand_refuse(o, "')' is missing after the address");
	if ((first && check_address_reg(arch, first, o)) ||
	    (second && check_address_reg(arch, second, o)))
		return -EINVAL;
	o->kind = OPERAND_MEM;
	if (second) {
		operand_set_base(o, arch, second);
		if (first)
			operand_set_index(o, arch, first, 0);
	} else if (first) {
		operand_set_base(o, arch, first);
	}
	return 0;
}

int parse_paren(const struct arch *arch, struct str text, struct operand *o)
{
	struct operand_scan s = scan_of(text), ahead = s;
	const struct arch_reg *reg;
	struct operand_expr e;

	if (scan_reg(arch, &ahead, &reg) && scan_at_end(&ahead)) {
		operand_set_reg(o, arch, reg);
		return 0;
	}
	if (parse_displacement(&s, o, &e))
		return -EINVAL;
	o->kind = OPERAND_CONST;
	if (scan_char(&s, '(')) {
		if (parse_address(arch, &s, o))
			return -EINVAL;
	} else if (!e.present) {
		return operand_refuse(o, "not an operand of this CPU");
	}
	if (operand_set_expr(o, arch, &e))
		return -EINVAL;
	if (o->kind == OPERAND_MEM && o->symbol.len && !e.modifier.len)
		return operand_refuse(o, "a symbol as displacement needs an operator like '%lo'");
	return operand_end(&s, o);
}

/* indexed = reg "," reg */
static int parse_indexed(const struct arch *arch, struct operand_scan *s,
			 const struct arch_reg *base, struct operand *o)
{
	const struct arch_reg *index;

	if (!scan_reg(arch, s, &index) || !reg_holds_address(arch, base) ||
	    !reg_holds_address(arch, index))
		return operand_refuse(o, "unknown index register");
	operand_set_base(o, arch, base);
	/* Only the first of the two means 0 when it is register 0. */
	o->index = index->id;
	return operand_end(s, o);
}

int parse_power(const struct arch *arch, struct str text, struct operand *o)
{
	struct operand_scan s = scan_of(text), ahead = s;
	const struct arch_reg *reg;

	if (scan_char(&ahead, 'i')) {
		char next = ahead.at < ahead.end ? *ahead.at : '\0';

		if (next == '-' || char_is_digit(next))
			return parse_constant(arch, &ahead, o);
		ahead = s;
	}
	if (scan_reg(arch, &ahead, &reg) && scan_char(&ahead, ','))
		return parse_indexed(arch, &ahead, reg, o);
	if (parse_paren(arch, text, o))
		return -EINVAL;
	if (o->kind == OPERAND_CONST && !o->symbol.len)
		return operand_refuse(o, "registers are 0 to 31; a constant is written like 'i42'");
	return 0;
}
