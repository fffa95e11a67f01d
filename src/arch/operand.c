/* From the text of one argument to an operand, and what can be asked of an operand. The syntax of
 * the part after '@' is the CPU's own (x86.c, intel.c, bracket.c, paren.c); sizes, refusals and
 * words are the same for all and are here. */
#include "arch/operand.h"

#include "arch/cpu.h"

/* What precedes an operand: "-4f@" */
struct head {
	bool present, is_signed, is_float;
	unsigned size; /* 0 for an absurd number */
	size_t len;
};

/* head = ["-"] digit { digit } ["f"] "@" */
static struct head scan_head(struct str text)
{
	struct head h = {0};
	size_t i = 0, digits;

	if (i < text.len && text.ptr[i] == '-') {
		h.is_signed = true;
		i++;
	}
	digits = i;
	for (; i < text.len && char_is_digit(text.ptr[i]); i++)
		if (h.size < 100 * 1000 * 1000)
			h.size = h.size * 10 + (unsigned)(text.ptr[i] - '0');
	if (i == digits)
		return h;
	if (i < text.len && text.ptr[i] == 'f') {
		h.is_float = true;
		i++;
	}
	h.present = i < text.len && text.ptr[i] == '@';
	h.len = i + 1;
	if (h.size >= 100 * 1000 * 1000)
		h.size = 0;
	return h;
}

/* Length of the argument that text starts with. After a head, everything up to the next head
 * belongs to it, because operands like "[sp, 132]" contain blanks; without a head it ends at a
 * blank outside of brackets. */
static size_t argument_len(struct str text)
{
	bool has_head = scan_head(text).present;
	size_t i = 0;
	int depth = 0;

	for (; i < text.len; i++) {
		char c = text.ptr[i];

		depth += c == '(' || c == '[';
		depth -= c == ')' || c == ']';
		if (c != ' ' && c != '\t')
			continue;
		if (!has_head && depth <= 0)
			break;
		if (scan_head(str_of(text.ptr + i + 1, text.len - i - 1)).present)
			break;
	}
	return i;
}

/* The value of a constant as its size and sign make it: 4@$-1 is 4294967295. */
static int64_t fit_constant(const struct operand *o, int64_t value)
{
	unsigned drop = 64 - 8 * o->size;

	if (o->kind != OPERAND_CONST || o->size == 0 || o->size >= 8)
		return value;
	if (o->is_signed)
		return (int64_t)((uint64_t)value << drop) >> drop;
	return (int64_t)((uint64_t)value << drop >> drop);
}

/* Without a head the size is the register's, or a word. */
static uint8_t natural_size(const struct arch *arch, struct str text, const struct operand *o)
{
	struct operand_scan s = scan_of(text);
	const struct arch_reg *reg;
	struct str name;

	if (o->kind != OPERAND_REG)
		return arch->word;
	if (scan_peek(&s) == '%' || scan_peek(&s) == '$')
		s.at++;
	reg = scan_word(&s, &name) ? arch_find_reg(arch, name) : NULL;
	return reg ? reg->size : arch->word;
}

/* The number of bytes a register holds. */
static unsigned reg_width(const struct arch *arch, uint8_t id)
{
	const struct arch_reg *reg = arch_find_reg(arch, str_from(arch_reg_name(arch, id)));

	return reg ? reg->size : 0;
}

static bool is_number_size(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* Why a well-written operand of this size cannot be had; NULL: it can. */
static const char *size_refusal(const struct operand *o, const struct arch *arch)
{
	if (o->kind == OPERAND_ADDRESS)
		return NULL;
	if (o->bytes == 16 && !o->is_float)
		return "16-byte values can be read in memory only";
	if (o->is_float && o->bytes != 4 && o->bytes != 8)
		return "only floats of 4 and 8 bytes can be read";
	if (!is_number_size(o->bytes))
		return "only values of 1, 2, 4 and 8 bytes can be read";
	if (o->kind == OPERAND_REG && o->size > arch->word && o->size > reg_width(arch, o->reg))
		return "the other half is in a register that the note does not name";
	if (o->kind == OPERAND_REG && o->reg_shift && o->size != 1)
		return "the register is narrower than the value";
	return NULL;
}

static void clear_operand(struct operand *o, struct str raw)
{
	*o = (struct operand){
		.reg = REG_NONE,
		.base = REG_NONE,
		.index = REG_NONE,
		.raw = raw,
	};
}

static void set_size(struct operand *o, uint32_t bytes)
{
	o->bytes = bytes;
	o->size = bytes <= UINT8_MAX ? (uint8_t)bytes : 0;
}

/* Nothing that was half understood may be used. */
static void refuse_all(struct operand *o, struct head head, const char *why)
{
	clear_operand(o, o->raw);
	o->kind = OPERAND_BAD;
	set_size(o, head.size);
	o->is_signed = head.is_signed;
	o->is_float = head.is_float;
	o->why = why;
}

typedef int operand_parser(const struct arch *arch, struct str text, struct operand *out);

static operand_parser *parser_of(const struct arch *arch, struct str args)
{
	return arch->is_other && arch->is_other(args) ? arch->parse_other : arch->parse_operand;
}

static void parse_one(const struct arch *arch, operand_parser *parse, struct str raw,
		      struct operand *out)
{
	struct str text = raw;
	struct head head = scan_head(raw);
	const char *refusal;

	clear_operand(out, raw);
	if (head.present)
		text = str_of(raw.ptr + head.len, raw.len - head.len);
	else
		head = (struct head){0};
	if (parse(arch, text, out)) {
		refuse_all(out, head, out->why);
		return;
	}
	set_size(out, head.present ? head.size : natural_size(arch, text, out));
	out->is_signed = head.is_signed;
	out->is_float = head.is_float;
	/* What is in memory and no number is reached by its address. */
	if (out->kind == OPERAND_MEM && out->bytes && !is_number_size(out->bytes)) {
		out->kind = OPERAND_ADDRESS;
		out->size = arch->word;
		out->is_signed = out->is_float = false;
	}
	if (!out->symbol.len)
		out->value = fit_constant(out, out->value);
	refusal = size_refusal(out, arch);
	if (refusal) {
		out->kind = OPERAND_BAD;
		out->symbol = str_of("", 0);
		out->why = refusal;
	}
}

void operand_parse(const struct arch *arch, struct str raw, struct operand *out)
{
	parse_one(arch, parser_of(arch, raw), raw, out);
}

unsigned operands_parse(const struct arch *arch, struct str args, struct operand *out)
{
	operand_parser *parse = parser_of(arch, args);
	struct str rest = str_trim(args);
	unsigned n = 0;

	if (str_eq_text(rest, ":")) /* as assemblers write that there are none */
		return 0;
	for (; rest.len && n < OPERANDS_MAX; n++) {
		size_t len = argument_len(rest);

		parse_one(arch, parse, str_trim(str_of(rest.ptr, len)), &out[n]);
		rest = str_trim(str_of(rest.ptr + len, rest.len - len));
	}
	if (rest.len)
		refuse_all(&out[n - 1], (struct head){0},
			   "there are too many arguments from here on");
	return n;
}

void operand_resolve(struct operand *o, uint64_t number)
{
	uint64_t sum = (uint64_t)o->value + number;
	unsigned bits = o->low_bits < 0 ? (unsigned)-o->low_bits : (unsigned)o->low_bits;

	if (bits && o->low_bits < 0)
		sum = (uint64_t)((int64_t)(sum << (64 - bits)) >> (64 - bits));
	else if (bits)
		sum &= (UINT64_C(1) << bits) - 1;
	o->value = fit_constant(o, (int64_t)sum);
	o->symbol = str_of("", 0);
}

bool operand_equal(const struct operand *a, const struct operand *b)
{
	if (a->kind != b->kind || a->bytes != b->bytes || a->is_signed != b->is_signed ||
	    a->is_float != b->is_float)
		return false;
	if (a->kind == OPERAND_BAD)
		return a->why == b->why;
	return a->reg == b->reg && a->reg_shift == b->reg_shift && a->base == b->base &&
	       a->index == b->index && a->scale_shift == b->scale_shift && a->value == b->value &&
	       a->symbol_rule == b->symbol_rule && a->low_bits == b->low_bits &&
	       str_eq(a->symbol, b->symbol);
}

const char *operand_problem(const struct operand *o)
{
	if (o->kind >= OPERAND_BAD) /* ORDER */
		return o->why ? o->why : "its operand has an unknown form";
	if (o->symbol.len)
		return "its symbol could not be found";
	if (!is_number_size(o->size) || o->reg_shift > 63 || o->scale_shift > 63)
		return "only values of up to 8 bytes can be read";
	return o->is_float && o->size < 4 ? "it is a float of unknown format" : NULL;
}

void operand_describe(const struct operand *o, const struct arch *arch, struct buf *out)
{
	struct head head = scan_head(o->raw);
	size_t skip = head.present ? head.len : 0;
	struct str text = str_trim(str_of(o->raw.ptr + skip, o->raw.len - skip));

	if (!o->bytes)
		buf_text(out, "unknown size");
	else if (o->kind == OPERAND_ADDRESS)
		buf_printf(out, "%u bytes at", o->bytes);
	else if (o->is_float)
		buf_printf(out, "%u-byte float", o->bytes);
	else
		buf_printf(out, "%s %u-byte", o->is_signed ? "signed" : "unsigned", o->bytes);
	buf_text(out, "  ");
	if (o->kind == OPERAND_CONST && !o->symbol.len) {
		buf_text(out, "constant ");
		if (o->is_signed)
			buf_s64(out, o->value);
		else
			buf_u64(out, (uint64_t)o->value);
	} else if (o->kind == OPERAND_REG) {
		buf_text(out, "register ");
		if (o->reg_shift)
			buf_printf(out, "%s bits %u to %u", arch_reg_name(arch, o->reg),
				   o->reg_shift, o->reg_shift + 8 * o->size - 1);
		else if (text.len)
			buf_escaped(out, text);
		else
			buf_text(out, arch_reg_name(arch, o->reg));
	} else {
		buf_escaped(out, text);
	}
	if (o->kind == OPERAND_BAD)
		buf_printf(out, "  (%s)", o->why);
}

/* A register or a slot of the stack, a word wide and unsigned. */
static void set_call_operand(const struct arch *arch, struct operand *o, enum operand_kind kind,
			     uint8_t id)
{
	const struct arch_reg *reg = arch_find_reg(arch, str_from(arch_reg_name(arch, id)));

	clear_operand(o, str_of("", 0));
	set_size(o, arch->word);
	if (kind == OPERAND_REG)
		operand_set_reg(o, arch, reg);
	else
		operand_set_base(o, arch, reg);
}

bool operand_call_arg(const struct arch *arch, unsigned n, struct operand *out)
{
	if (n < arch->call_reg_count) {
		set_call_operand(arch, out, OPERAND_REG, arch->call_regs[n]);
		return true;
	}
	if (arch->call_stack < 0 || n >= 64)
		return false;
	set_call_operand(arch, out, OPERAND_MEM, arch->sp);
	out->value = arch->call_stack + (int64_t)(n - arch->call_reg_count) * arch->word;
	return true;
}
