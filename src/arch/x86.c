/* The AT&T operand syntax of x86_64 and i386: %eax, $42, -8+3+1(%rbp), (%rdx,%rsi,4),
 * 40+sym(%rip), sym@GOTOFF(%ebx), %fs:4+sym@tpoff. */
#include "arch/cpu.h"

static int scan_reg_name(const struct arch *arch, struct operand_scan *s, struct operand *o,
			 const struct arch_reg **out)
{
	struct str name;

	if (!scan_char(s, '%') || !scan_word(s, &name))
		return operand_refuse(o, "a register is missing");
	*out = arch_find_reg(arch, name);
	return *out ? 0 : operand_refuse(o, "unknown register");
}

static int scan_address_reg(const struct arch *arch, struct operand_scan *s, struct operand *o,
			    const struct arch_reg **out)
{
	return scan_reg_name(arch, s, o, out) ? -EINVAL : check_address_reg(arch, *out, o);
}

/* address = "(" [reg] ["," [reg] ["," [scale]]] ")" ; scale = 1 | 2 | 4 | 8 */
static int scan_address(const struct arch *arch, struct operand_scan *s, struct operand *o,
			struct x86_address *out)
{
	uint64_t scale = 1;

	*out = (struct x86_address){0};
	if (!scan_char(s, '('))
		return 0;
	if (scan_peek(s) == '%' && scan_address_reg(arch, s, o, &out->base))
		return -EINVAL;
	if (scan_char(s, ',')) {
		if (scan_peek(s) == '%' && scan_address_reg(arch, s, o, &out->index))
			return -EINVAL;
		if (scan_char(s, ',') && scan_peek(s) != ')' && scan_number(s, o, &scale))
			return -EINVAL;
		if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
			return operand_refuse(o, "the scale must be 1, 2, 4 or 8");
		out->scale_shift = (unsigned)__builtin_ctzll(scale);
	}
	if (!scan_char(s, ')'))
		return operand_refuse(o, "')' is missing after the address");
	if (!out->base && !out->index)
		return operand_refuse(o, "the address names no register");
	if (out->index && (out->index->id == arch->sp || out->index->id == arch->pc))
		return operand_refuse(o, "this register cannot be an index");
	return 0;
}

/* Does the way the symbol is used fit the registers around it? */
static int check_symbol(const struct arch *arch, struct operand *o)
{
	bool tls = o->base == arch->tls;
	bool no_reg = o->base == REG_NONE && o->index == REG_NONE;

	if (o->base == arch->pc) {
		if (!o->symbol.len || o->symbol_rule != SYMBOL_ADDRESS || o->index != REG_NONE)
			return operand_refuse(o, "%rip can only be used as 'symbol(%rip)'");
		o->symbol_rule = SYMBOL_PC;
		return 0;
	}
	if (!o->symbol.len)
		return 0;
	if (tls && o->symbol_rule != SYMBOL_TLS)
		return operand_refuse(o, "a thread-local symbol needs an operator like '@tpoff'");
	if (no_reg && o->symbol_rule != SYMBOL_ADDRESS)
		return operand_refuse(o, "an offset of a symbol needs the register it is added to");
	return 0;
}

int x86_set_memory(const struct arch *arch, const struct x86_address *address,
		   const struct operand_expr *e, struct operand *o)
{
	const struct arch_reg *base = address->base;

	if (!e->present && !base && !address->index)
		return operand_refuse(o, "not an operand of this CPU");
	if (address->tls && base && (address->index || base->id == arch->pc))
		return operand_refuse(o, "the address has more than two parts");
	o->kind = OPERAND_MEM;
	if (address->index)
		operand_set_index(o, arch, address->index, address->scale_shift);
	if (address->tls && base)
		operand_set_index(o, arch, base, 0);
	else if (base)
		operand_set_base(o, arch, base);
	if (address->tls)
		o->base = arch->tls;
	return operand_set_expr(o, arch, e) ?: check_symbol(arch, o);
}

/* memory = [segment] [expr] [address] */
static int parse_memory(const struct arch *arch, struct operand_scan *s, bool tls,
			struct operand *o)
{
	struct x86_address address;
	struct operand_expr e;

	if (scan_expr(s, o, &e) || scan_address(arch, s, o, &address))
		return -EINVAL;
	address.tls = tls;
	if (x86_set_memory(arch, &address, &e, o))
		return -EINVAL;
	return operand_end(s, o);
}

/* Compilers read thread-local variables of an executable through the thread pointer's segment.
 * segment = "%fs:" | "%gs:" */
static int scan_segment(const struct arch *arch, struct operand_scan *s, struct operand *o,
			bool *tls)
{
	struct operand_scan ahead = *s;
	struct str name;

	*tls = false;
	if (!scan_char(&ahead, '%') || !scan_word(&ahead, &name) || !scan_char(&ahead, ':'))
		return 0;
	if (!str_eq_text(name, arch->word == 8 ? "fs" : "gs"))
		return operand_refuse(o, "unknown segment base");
	*s = ahead;
	*tls = true;
	return 0;
}

/* operand = "$" expr | reg | memory */
int x86_parse(const struct arch *arch, struct str text, struct operand *o)
{
	struct operand_scan s = scan_of(text);
	const struct arch_reg *reg;
	bool tls;

	if (scan_char(&s, '$'))
		return scan_peek(&s) == '#' ? operand_refuse(o, "a number is missing")
					    : parse_constant(arch, &s, o);
	if (scan_segment(arch, &s, o, &tls))
		return -EINVAL;
	if (tls || scan_peek(&s) != '%')
		return parse_memory(arch, &s, tls, o);
	if (scan_reg_name(arch, &s, o, &reg))
		return -EINVAL;
	operand_set_reg(o, arch, reg);
	return operand_end(&s, o);
}
