/* The Intel operand syntax of x86_64 and i386, which notes have when the compiler writes it for the
 * assembler (-masm=intel): eax, 42, DWORD PTR -4[rbp], [rsp - 12], QWORD PTR 8[rdi+rcx*4],
 * sym[rip+4], [rip + offset sym], sym@GOTOFF[edx], fs:sym@tpoff, OFFSET FLAT:sym.
 *
 * One compiler writes all operands of a note, so that the note decides: AT&T syntax has % before
 * each register and $ before each constant. A note with neither has constants, and no addresses
 * that are a mere number, which no program uses. */
#include "arch/cpu.h"

#include <strings.h>

bool intel_is_used(struct str args)
{
	for (size_t i = 0; i < args.len; i++) {
		char before = i ? args.ptr[i - 1] : '@';

		if (args.ptr[i] == '%' || (args.ptr[i] == '$' && before == '@'))
			return false;
	}
	return true;
}

/* What was read of an operand. */
struct intel {
	struct x86_address address;
	struct operand_expr expr;
	bool is_memory; /* it has brackets, a size, or a segment */
	bool is_offset; /* the symbol's address is meant, not its value */
	unsigned parts;
};

/* Is the next word this one, in any case? It is then read. */
static bool scan_keyword(struct operand_scan *s, const char *word)
{
	struct operand_scan ahead = *s;
	struct str found;

	if (!scan_word(&ahead, &found) || found.len != strlen(word) ||
	    strncasecmp(found.ptr, word, found.len) != 0)
		return false;
	*s = ahead;
	return true;
}

/* size = ("BYTE" | "WORD" | "DWORD" | ...) "PTR"; the note says the size itself */
static bool scan_size(struct operand_scan *s)
{
	struct operand_scan ahead = *s;
	struct str size;

	if (!scan_word(&ahead, &size) || !scan_keyword(&ahead, "PTR"))
		return false;
	*s = ahead;
	return true;
}

/* segment = word ":"; those of data and the stack are all memory */
static int scan_segment(const struct arch *arch, struct operand_scan *s, struct operand *o,
			struct intel *i)
{
	struct operand_scan ahead = *s;
	struct str name;

	if (!scan_word(&ahead, &name) || !scan_char(&ahead, ':'))
		return 0;
	*s = ahead;
	i->is_memory = true;
	i->address.tls = str_eq_text(name, arch->word == 8 ? "fs" : "gs");
	if (!i->address.tls && !str_eq_text(name, "ds") && !str_eq_text(name, "ss") &&
	    !str_eq_text(name, "es") && !str_eq_text(name, "cs"))
		return operand_refuse(o, "unknown segment base");
	return 0;
}

static bool scan_register(const struct arch *arch, struct operand_scan *s,
			  const struct arch_reg **out)
{
	struct operand_scan ahead = *s;
	struct str name;

	*out = scan_word(&ahead, &name) ? arch_find_reg(arch, name) : NULL;
	if (!*out)
		return false;
	*s = ahead;
	return true;
}

static int add_index(struct operand *o, struct intel *i, const struct arch_reg *reg, uint64_t scale)
{
	struct x86_address *a = &i->address;

	if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
		return operand_refuse(o, "the scale must be 1, 2, 4 or 8");
	if (a->index && (a->base || a->scale_shift))
		return operand_refuse(o, "the address has more than two parts");
	if (a->index)
		a->base = a->index;
	a->index = reg;
	a->scale_shift = (unsigned)__builtin_ctzll(scale);
	return 0;
}

static int add_register(const struct arch *arch, struct operand *o, struct intel *i,
			const struct arch_reg *reg)
{
	struct x86_address *a = &i->address;

	if (!a->base) {
		a->base = reg;
		return 0;
	}
	/* The stack pointer is never an index, and which of two is the base says nothing. */
	if (reg->id == arch->sp) {
		const struct arch_reg *other = a->base;

		a->base = reg;
		reg = other;
	}
	return add_index(o, i, reg, 1);
}

/* term = ["offset"] symbol | number ["*" reg] | reg ["*" number] */
static int scan_part(const struct arch *arch, struct operand_scan *s, struct operand *o,
		     bool negative, struct intel *i)
{
	const struct arch_reg *reg;
	struct operand_scan ahead = *s;
	uint64_t scale = 1;

	i->parts++;
	if (scan_register(arch, s, &reg)) {
		if (negative)
			return operand_refuse(o, "a register cannot be subtracted");
		if (!scan_char(s, '*'))
			return add_register(arch, o, i, reg);
		return scan_number(s, o, &scale) ?: add_index(o, i, reg, scale);
	}
	if (char_is_digit(scan_peek(&ahead)) && !scan_number(&ahead, o, &scale) &&
	    scan_char(&ahead, '*')) {
		*s = ahead;
		if (negative || !scan_register(arch, s, &reg))
			return operand_refuse(o, "a register is missing");
		return add_index(o, i, reg, scale);
	}
	if (scan_keyword(s, "OFFSET")) {
		i->is_offset = true;
		if (scan_keyword(s, "FLAT"))
			scan_char(s, ':');
	}
	i->expr.present = true;
	return scan_term(s, o, negative, &i->expr);
}

/* sum = [sign] term { sign term } */
static int scan_sum(const struct arch *arch, struct operand_scan *s, struct operand *o,
		    struct intel *i)
{
	do {
		bool negative = false;

		while (scan_peek(s) == '+' || scan_peek(s) == '-')
			negative ^= *s->at++ == '-';
		if (scan_part(arch, s, o, negative, i))
			return -EINVAL;
	} while (scan_peek(s) == '+' || scan_peek(s) == '-');
	return 0;
}

/* memory = [sum] { "[" sum "]" } ; parentheses are those of our header, around a register */
static int scan_parts(const struct arch *arch, struct operand_scan *s, struct operand *o,
		      struct intel *i)
{
	while (!scan_at_end(s)) {
		bool is_square = scan_char(s, '['), is_round = !is_square && scan_char(s, '(');

		i->is_memory |= is_square || is_round;
		if (scan_sum(arch, s, o, i))
			return -EINVAL;
		if (is_square && !scan_char(s, ']'))
			return operand_refuse(o, "']' is missing after the address");
		if (is_round && !scan_char(s, ')'))
			return operand_refuse(o, "')' is missing after the address");
		if (!is_square && !is_round && !scan_at_end(s) && scan_peek(s) != '[' &&
		    scan_peek(s) != '(')
			return operand_end(s, o);
	}
	return 0;
}

static int set_memory(const struct arch *arch, const struct intel *i, struct operand *o)
{
	const struct x86_address *a = &i->address;

	if ((a->base && check_address_reg(arch, a->base, o)) ||
	    (a->index && check_address_reg(arch, a->index, o)))
		return -EINVAL;
	if (a->index && (a->index->id == arch->sp || a->index->id == arch->pc))
		return operand_refuse(o, "this register cannot be an index");
	return x86_set_memory(arch, a, &i->expr, o);
}

/* operand = [size] [segment] memory | ["OFFSET" ["FLAT:"]] sum | reg */
int intel_parse(const struct arch *arch, struct str text, struct operand *o)
{
	struct intel i = {.parts = 0};
	struct operand_scan s = scan_of(text);

	i.is_memory = scan_size(&s);
	if (scan_segment(arch, &s, o, &i) || scan_parts(arch, &s, o, &i))
		return -EINVAL;
	if (!i.parts)
		return operand_refuse(o, "not an operand of this CPU");
	if (!i.is_memory && i.parts == 1 && i.address.base) {
		operand_set_reg(o, arch, i.address.base);
		return 0;
	}
	if (i.is_memory || i.address.base || i.address.index || (i.expr.symbol.len && !i.is_offset))
		return set_memory(arch, &i, o);
	o->kind = OPERAND_CONST;
	return operand_set_expr(o, arch, &i.expr);
}
