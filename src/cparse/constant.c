/* Constant expressions of C: bounds of arrays, widths of bit-fields, values of enumerators. They
 * are computed in 64 bits with sign, and wrap. */
#include "base/array.h"
#include "cparse/cparse.h"

struct c_operator {
	const char *text;
	int precedence;
};

/* clang-format off */

/* ORDER: of two that begin alike the longer comes first */
static const struct c_operator operators[] = {
	{ "||", 1 }, { "&&", 2 }, { "==", 6 }, { "!=", 6 }, { "<<", 8 }, { ">>", 8 }, { "<=", 7 },
	{ ">=", 7 }, { "|",  3 }, { "^",  4 }, { "&",  5 }, { "<",  7 }, { ">",  7 }, { "+",  9 },
	{ "-",  9 }, { "*", 10 }, { "/", 10 }, { "%", 10 },
};

/* clang-format on */

/* The operator here; tokens of it are characters that follow each other directly. */
static const struct c_operator *operator_here(const struct c_parser *p)
{
	char pair[3] = "";

	if (p->tok.kind != C_PUNCT)
		return NULL;
	pair[0] = p->tok.text.ptr[0];
	if (p->next.kind == C_PUNCT && p->next.text.ptr == p->tok.text.ptr + 1)
		pair[1] = p->next.text.ptr[0];
	for (size_t i = 0; i < COUNT(operators); i++)
		if (!strncmp(operators[i].text, pair, strlen(operators[i].text)))
			return &operators[i];
	return NULL;
}

static int64_t shift_bits(int64_t a, int64_t by, bool left)
{
	return left ? (int64_t)((uint64_t)a << (by & 63)) : a >> (by & 63);
}

static int64_t divide_numbers(struct c_parser *p, int64_t a, int64_t b, bool wants_rest)
{
	if (!b)
		parser_fail(p, p->last, "division-by-zero", "division by zero in a constant");
	if (!b || b == -1)
		return wants_rest ? 0 : (int64_t)(0 - (uint64_t)a);
	return wants_rest ? a % b : a / b;
}

static int64_t compute_binary(struct c_parser *p, const struct c_operator *op, int64_t a, int64_t b)
{
	switch (op->text[0]) {
	case '|': return op->text[1] ? a || b : a | b;
	case '&': return op->text[1] ? a && b : a & b;
	case '^': return a ^ b;
	case '=': return a == b;
	case '!': return a != b;
	case '<': return op->text[1] == '<' ? shift_bits(a, b, true) : op->text[1] ? a <= b : a < b;
	case '>':
		return op->text[1] == '>' ? shift_bits(a, b, false) : op->text[1] ? a >= b : a > b;
	case '+': return (int64_t)((uint64_t)a + (uint64_t)b);
	case '-': return (int64_t)((uint64_t)a - (uint64_t)b);
	case '*': return (int64_t)((uint64_t)a * (uint64_t)b);
	default: return divide_numbers(p, a, b, op->text[0] == '%');
	}
}

bool c_number(struct str text, int64_t *out)
{
	uint64_t value = 0, base = 10;
	size_t i = 0;

	while (text.len && strchr("uUlL", text.ptr[text.len - 1]))
		text.len--;
	if (text.len > 1 && text.ptr[0] == '0') {
		base = (text.ptr[1] | 32) == 'x' ? 16 : (text.ptr[1] | 32) == 'b' ? 2 : 8;
		i = base == 8 ? 1 : 2;
	}
	if (i == text.len)
		return false;
	for (; i < text.len; i++) {
		uint64_t digit = hex_digit(text.ptr[i]);

		if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*out = (int64_t)value;
	return true;
}

/* sizeof = "sizeof" "(" type ")" */
static int64_t parse_sizeof(struct c_parser *p)
{
	struct specifiers s;
	struct declarator d;
	uint64_t size;

	parser_advance(p);
	parser_expect(p, "(", "after 'sizeof'");
	s = parser_specifiers(p);
	d = parser_declarator(p, &s);
	size = p->err || !p->machine ? 0 : ctype_layout(d.type, p->machine).size;
	if (!size)
		parser_fail(p, s.at, "incomplete-type", "the size of '%.*s' is not known",
			    STR_FMT(s.at));
	parser_expect(p, ")", "after the type");
	return (int64_t)size;
}

/* operand = "(" constant ")" | number | name | sizeof | ("-" | "+" | "~" | "!") operand */
static int64_t parse_operand(struct c_parser *p)
{
	char c = p->tok.kind == C_PUNCT ? p->tok.text.ptr[0] : ' ';
	int64_t value = 0;

	parser_enter(p);
	if (parser_take(p, "(")) {
		value = parser_constant(p);
		parser_expect(p, ")", "after the expression");
	} else if (parser_at_any(p, "-+~!")) {
		parser_advance(p);
		value = parse_operand(p);
		value = c == '-'   ? (int64_t)(0 - (uint64_t)value)
			: c == '~' ? ~value
			: c == '!' ? !value
				   : value;
	} else if (parser_at(p, "sizeof")) {
		value = parse_sizeof(p);
	} else if (p->tok.kind == C_STRING && p->tok.text.len == 3 && p->tok.text.ptr[0] == '\'') {
		value = p->tok.text.ptr[1];
		parser_advance(p);
	} else if (p->tok.kind == C_NUMBER && c_number(p->tok.text, &value)) {
		parser_advance(p);
	} else if (p->tok.kind == C_WORD && p->names.constant &&
		   p->names.constant(p->names.self, p->tok.text, &value)) {
		parser_advance(p);
	} else if (p->tok.kind == C_WORD) {
		parser_fail(p, p->tok.text, "unknown-constant", "'%.*s' is not a known constant",
			    STR_FMT(p->tok.text));
	} else {
		parser_expected(p, "a constant");
	}
	p->depth--;
	return value;
}

static int64_t parse_binary(struct c_parser *p, int precedence)
{
	int64_t a = parse_operand(p);
	const struct c_operator *op;

	while ((op = operator_here(p)) && op->precedence >= precedence) {
		parser_advance(p);
		if (op->text[1])
			parser_advance(p);
		a = compute_binary(p, op, a, parse_binary(p, op->precedence + 1));
	}
	return a;
}

/* constant = operand { operator operand } [ "?" constant ":" constant ] */
int64_t parser_constant(struct c_parser *p)
{
	int64_t value = parse_binary(p, 1), yes, no;

	if (!parser_take(p, "?"))
		return value;
	parser_enter(p);
	yes = parser_constant(p);
	parser_expect(p, ":", "after a value of '?'");
	no = parser_constant(p);
	p->depth--;
	return value ? yes : no;
}
