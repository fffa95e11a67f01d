/* The scanner that all operand syntaxes share: words, numbers, sums, and the small steps that put
 * what was read into an operand. The text is untrusted: every byte is looked at once, nothing
 * recurses, and what is not understood is refused with a reason. */
#include "arch/cpu.h"

#include <strings.h>

struct operand_scan scan_of(struct str text)
{
	return (struct operand_scan){text.ptr, text.ptr + text.len};
}

char scan_peek(struct operand_scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
		s->at++;
	return s->at < s->end ? *s->at : '\0';
}

bool scan_at_end(struct operand_scan *s)
{
	scan_peek(s);
	return s->at == s->end;
}

bool scan_char(struct operand_scan *s, char c)
{
	if (scan_peek(s) != c || s->at == s->end)
		return false;
	s->at++;
	return true;
}

/* Symbols may hold any byte beyond ASCII, and $ after their first letter. */
static bool is_word(char c)
{
	return char_is_word(c) || c == '.';
}

static bool is_symbol_start(char c)
{
	return is_word(c) || (unsigned char)c >= 0x80;
}

bool scan_word(struct operand_scan *s, struct str *out)
{
	const char *start;

	scan_peek(s);
	start = s->at;
	while (s->at < s->end && is_word(*s->at))
		s->at++;
	*out = str_of(start, (size_t)(s->at - start));
	return out->len > 0;
}

int operand_refuse(struct operand *o, const char *why)
{
	o->why = why;
	return -EINVAL;
}

int operand_end(struct operand_scan *s, struct operand *o)
{
	return scan_at_end(s) ? 0 : operand_refuse(o, "text after the operand");
}

int scan_number(struct operand_scan *s, struct operand *o, uint64_t *out)
{
	struct str digits;
	int err;

	if (!scan_word(s, &digits) || !char_is_digit(digits.ptr[0]))
		return operand_refuse(o, "a number is missing");
	err = str_to_u64(digits, out);
	if (err == -ERANGE)
		return operand_refuse(o, "a number has more than 64 bits");
	return err ? operand_refuse(o, "malformed number") : 0;
}

/* symbol = letters, digits, _ . $ | '"' anything '"' */
static int scan_symbol(struct operand_scan *s, struct operand *o, struct str *out)
{
	const char *start = s->at;

	*out = str_of(start, 0);
	if (scan_char(s, '"')) {
		const char *quote = memchr(s->at, '"', (size_t)(s->end - s->at));

		if (!quote)
			return operand_refuse(o, "unterminated quoted symbol");
		*out = str_of(s->at, (size_t)(quote - s->at));
		s->at = quote + 1;
	} else if (s->at < s->end && is_symbol_start(*s->at)) {
		while (s->at < s->end && (is_symbol_start(*s->at) || *s->at == '$'))
			s->at++;
		*out = str_of(start, (size_t)(s->at - start));
	}
	return out->len ? 0 : operand_refuse(o, "a number or a symbol is missing");
}

/* modifier = "@" word { "@" word } */
static void scan_modifier(struct operand_scan *s, struct str *out)
{
	const char *start;

	if (s->at == s->end || *s->at != '@')
		return;
	start = ++s->at;
	while (s->at < s->end && (is_word(*s->at) || *s->at == '@'))
		s->at++;
	*out = str_of(start, (size_t)(s->at - start));
	if (!out->len)
		*out = STR("@");
}

int scan_term(struct operand_scan *s, struct operand *o, bool negative, struct operand_expr *out)
{
	uint64_t number;

	if (char_is_digit(scan_peek(s))) {
		if (scan_number(s, o, &number))
			return -EINVAL;
		if (negative && number > (uint64_t)INT64_MAX + 1)
			return operand_refuse(o, "a number has more than 64 bits");
		if (negative)
			number = 0 - number;
		out->value = (int64_t)((uint64_t)out->value + number);
		return 0;
	}
	if (scan_peek(s) != '"' && !is_symbol_start(scan_peek(s)))
		return operand_refuse(o, "a number or a symbol is missing");
	if (negative || out->symbol.len)
		return operand_refuse(o,
				      "only one symbol can be used, and it cannot be subtracted");
	if (scan_symbol(s, o, &out->symbol))
		return -EINVAL;
	scan_modifier(s, &out->modifier);
	return 0;
}

int scan_expr(struct operand_scan *s, struct operand *o, struct operand_expr *out)
{
	char c = scan_peek(s);

	*out = (struct operand_expr){0};
	if (c != '+' && c != '-' && c != '"' && !is_symbol_start(c))
		return 0;
	out->present = true;
	do {
		bool negative = false;

		while (scan_peek(s) == '+' || scan_peek(s) == '-')
			negative ^= *s->at++ == '-';
		if (scan_term(s, o, negative, out))
			return -EINVAL;
	} while (scan_peek(s) == '+' || scan_peek(s) == '-');
	return 0;
}

bool reg_holds_address(const struct arch *arch, const struct arch_reg *reg)
{
	return reg->size == arch->word && (reg->is_general || reg->id == arch->zero_base);
}

int check_address_reg(const struct arch *arch, const struct arch_reg *reg, struct operand *o)
{
	return reg_holds_address(arch, reg)
		       ? 0
		       : operand_refuse(o, "the register cannot hold an address");
}

void operand_set_reg(struct operand *o, const struct arch *arch, const struct arch_reg *reg)
{
	if (reg->id == arch->zero) {
		o->kind = OPERAND_CONST;
		return;
	}
	o->kind = OPERAND_REG;
	o->reg = reg->id;
	o->reg_shift = reg->shift;
}

void operand_set_base(struct operand *o, const struct arch *arch, const struct arch_reg *reg)
{
	o->kind = OPERAND_MEM;
	if (reg->id == arch->zero_base)
		return;
	o->base = reg->id;
}

void operand_set_index(struct operand *o, const struct arch *arch, const struct arch_reg *reg,
		       unsigned shift)
{
	o->kind = OPERAND_MEM;
	if (reg->id == arch->zero_base)
		return;
	o->index = reg->id;
	o->scale_shift = (uint8_t)shift;
}

int operand_set_expr(struct operand *o, const struct arch *arch, const struct operand_expr *e)
{
	const struct modifier *m = arch->modifiers;

	o->value = e->value;
	o->symbol = e->symbol;
	if (!e->symbol.len)
		return e->modifier.len ? operand_refuse(o, "a symbol is missing") : 0;
	o->symbol_rule = SYMBOL_ADDRESS;
	if (!e->modifier.len)
		return 0;
	while (m->name && (strlen(m->name) != e->modifier.len ||
			   strncasecmp(m->name, e->modifier.ptr, e->modifier.len)))
		m++;
	if (!m->name)
		return operand_refuse(o, "unknown symbol operator");
	o->symbol_rule = m->rule;
	o->low_bits = m->low_bits;
	return 0;
}

int parse_constant(const struct arch *arch, struct operand_scan *s, struct operand *o)
{
	struct operand_expr e;

	scan_char(s, '#');
	if (scan_expr(s, o, &e))
		return -EINVAL;
	if (!e.present)
		return operand_refuse(o, "not an operand of this CPU");
	o->kind = OPERAND_CONST;
	if (operand_set_expr(o, arch, &e))
		return -EINVAL;
	return operand_end(s, o);
}
