/* Values: what a type of argument is called in Ruby, and how a Ruby value becomes the 64 bits that
 * a tracer finds in a register. Nothing is cut silently: an Integer that its type cannot hold is a
 * RangeError. nil is NULL, or zero. */
#include "native.h"

#include <ruby/encoding.h>
#include <string.h>

/* All types, some with the Ruby class that denotes them. */
static const struct spec {
	const char *symbol;
	enum nopal_type type;
	VALUE *class; /* may be NULL */
} specs[] = {
	{"int8", NOPAL_INT8, NULL},
	{"uint8", NOPAL_UINT8, NULL},
	{"int16", NOPAL_INT16, NULL},
	{"uint16", NOPAL_UINT16, NULL},
	{"int32", NOPAL_INT32, NULL},
	{"uint32", NOPAL_UINT32, NULL},
	{"int64", NOPAL_INT64, &rb_cInteger},
	{"uint64", NOPAL_UINT64, NULL},
	{"bool", NOPAL_BOOL, &rb_cTrueClass},
	{"pointer", NOPAL_POINTER, NULL},
	{"string", NOPAL_STRING, &rb_cString},
	{"bytes", NOPAL_COUNTED, NULL},
	{"float", NOPAL_FLOAT, NULL},
	{"double", NOPAL_DOUBLE, &rb_cFloat},
	{"string", NOPAL_STRING, &rb_cSymbol},
	{"bool", NOPAL_BOOL, &rb_cFalseClass},
};
#define SPECS (sizeof(specs) / sizeof(specs[0]))

enum nopal_type type_of_spec(VALUE spec)
{
	for (size_t i = 0; i < SPECS; i++)
		if (SYMBOL_P(spec) ? rb_intern(specs[i].symbol) == SYM2ID(spec)
				   : specs[i].class && *specs[i].class == spec)
			return specs[i].type;
	rb_raise(rb_eArgError,
		 "unknown type %" PRIsVALUE
		 " (Integer, Float, String, Symbol, TrueClass, :bool, :int8, "
		 ":uint8 ... :uint64, :float, :double, :string, :bytes or :pointer)",
		 rb_inspect(spec));
}

VALUE type_symbol(enum nopal_type type)
{
	for (size_t i = 0; i < SPECS; i++)
		if (specs[i].type == type)
			return ID2SYM(rb_intern(specs[i].symbol));
	return Qnil;
}

/* An integer as its sign and its low 64 bits; -2 and 2 when there are more. */
static int split_integer(VALUE value, uint64_t *bits)
{
	if (FIXNUM_P(value)) {
		long number = FIX2LONG(value);

		*bits = (uint64_t)number;
		return number < 0 ? -1 : number > 0;
	}
	return rb_integer_pack(value, bits, 1, sizeof(*bits), 0,
			       INTEGER_PACK_2COMP | INTEGER_PACK_NATIVE_BYTE_ORDER |
				       INTEGER_PACK_LSWORD_FIRST);
}

/* How many bits an integer type has, and whether one is the sign. */
static unsigned bits_of_type(enum nopal_type type, bool *is_signed)
{
	*is_signed = type <= NOPAL_INT64 && (type - NOPAL_INT8) % 2 == 0;
	return type >= NOPAL_BOOL ? 64 : 8u << (type - NOPAL_INT8) / 2;
}

static bool fits(int sign, uint64_t bits, enum nopal_type type)
{
	bool is_signed;
	unsigned width = bits_of_type(type, &is_signed);
	uint64_t greatest = UINT64_MAX >> (64 - width + is_signed);

	if (sign < -1 || sign > 1)
		return false;
	if (sign >= 0)
		return bits <= greatest;
	return is_signed && (int64_t)bits < 0 && ~bits <= greatest;
}

static uint64_t word_of_integer(VALUE value, enum nopal_type type)
{
	uint64_t bits = 0;
	int sign;

	if (value == Qtrue || value == Qfalse)
		return value == Qtrue;
	if (!RB_INTEGER_TYPE_P(value))
		rb_raise(rb_eTypeError, "wrong argument type %" PRIsVALUE " (expected Integer)",
			 rb_obj_class(value));
	sign = split_integer(value, &bits);
	if (!fits(sign, bits, type))
		rb_raise(rb_eRangeError, "%" PRIsVALUE " does not fit into %" PRIsVALUE, value,
			 rb_sym2str(type_symbol(type)));
	return bits;
}

/* A string as text for tracers, which know UTF-8: text of another encoding is converted, and what
 * has no character there becomes U+FFFD. Binary strings stay as they are. */
static VALUE text_of_string(VALUE string)
{
	int encoding = rb_enc_get_index(string);
	rb_encoding *utf8 = rb_utf8_encoding();

	if (encoding == rb_utf8_encindex() || encoding == rb_usascii_encindex() ||
	    encoding == rb_ascii8bit_encindex())
		return string;
	return rb_str_conv_enc_opts(string, rb_enc_from_index(encoding), utf8,
				    ECONV_INVALID_REPLACE | ECONV_UNDEF_REPLACE, Qnil);
}

static VALUE string_of_value(VALUE value, enum nopal_type type)
{
	VALUE string = SYMBOL_P(value) ? rb_sym2str(value) : rb_check_string_type(value);

	if (NIL_P(string))
		rb_raise(rb_eTypeError,
			 "wrong argument type %" PRIsVALUE " (expected String, Symbol or nil)",
			 rb_obj_class(value));
	return type == NOPAL_STRING ? text_of_string(string) : string;
}

static uint64_t word_of_double(VALUE value, enum nopal_type type)
{
	double number = NUM2DBL(value);

	return type == NOPAL_FLOAT ? nopal_bits_of_float((float)number)
				   : nopal_bits_of_double(number);
}

/* A value that is not a string. */
static uint64_t word_of_number(VALUE value, enum nopal_type type)
{
	if (type == NOPAL_BOOL)
		return RTEST(value);
	if (NIL_P(value))
		return 0;
	if (type == NOPAL_FLOAT || type == NOPAL_DOUBLE)
		return word_of_double(value, type);
	return word_of_integer(value, type);
}

/* The bytes of a string and a NUL. Nearly always Ruby has the NUL there. */
static uint64_t address_of_text(VALUE *kept)
{
	if (RSTRING_PTR(*kept)[RSTRING_LEN(*kept)])
		*kept = rb_str_new(RSTRING_PTR(*kept), RSTRING_LEN(*kept));
	return (uint64_t)RSTRING_PTR(*kept);
}

/* First all that may run Ruby code, and might change a string that came before; then addresses. */
unsigned words_of_values(const struct probe *p, const VALUE *values, uint64_t *words, VALUE *kept)
{
	unsigned count = 0;

	for (unsigned i = 0; i < p->count; i++) {
		bool is_string = p->types[i] == NOPAL_STRING || p->types[i] == NOPAL_COUNTED;

		kept[i] = Qnil;
		if (is_string && !NIL_P(values[i]))
			kept[i] = string_of_value(values[i], p->types[i]);
		words[count++] = is_string ? 0 : word_of_number(values[i], p->types[i]);
		if (p->types[i] == NOPAL_COUNTED)
			words[count++] = 0;
	}
	for (unsigned i = 0, at = 0; i < p->count; i++, at++) {
		bool is_counted = p->types[i] == NOPAL_COUNTED;

		if (!NIL_P(kept[i])) {
			words[at] = is_counted ? (uint64_t)RSTRING_PTR(kept[i])
					       : address_of_text(&kept[i]);
			if (is_counted)
				words[at + 1] = (uint64_t)RSTRING_LEN(kept[i]);
		}
		at += is_counted;
	}
	return count;
}
