/* Arguments for people: "const char *word", "int = n + 1". */
#include "base/buf.h"
#include "probe/describe.h"

const char *arg_class_name(enum arg_class type_class)
{
	static const char *const names[] = {
		[ARG_BYTES] = "bytes",	 [ARG_UNSIGNED] = "unsigned", [ARG_SIGNED] = "signed",
		[ARG_BOOL] = "bool",	 [ARG_FLOAT] = "float",	      [ARG_POINTER] = "pointer",
		[ARG_STRING] = "string", [ARG_ENUM] = "enum",	      [ARG_CHAR] = "char",
	};

	return (size_t)type_class < sizeof(names) / sizeof(names[0]) ? names[type_class] : NULL;
}

/* C's names for a class and a size. */
static const char *type_name(const struct described_arg *arg)
{
	static const struct {
		uint8_t size;
		const char *is_signed, *is_unsigned;
	} integers[] = {
		{1, "signed char", "unsigned char"},
		{2, "short", "unsigned short"},
		{4, "int", "unsigned int"},
		{8, "long long", "unsigned long long"},
		{16, "__int128", "unsigned __int128"},
	};

	switch (arg->type_class) {
	case ARG_BOOL: return "bool";
	case ARG_FLOAT: return arg->size == 4 ? "float" : arg->size == 8 ? "double" : "long double";
	case ARG_POINTER: return "void *";
	case ARG_STRING: return "char *";
	case ARG_ENUM: return "enum";
	case ARG_CHAR:
		if (arg->size == 1)
			return "char";
		break;
	case ARG_UNSIGNED:
	case ARG_SIGNED: break;
	default: return "bytes";
	}
	for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++)
		if (integers[i].size == arg->size)
			return arg->is_signed ? integers[i].is_signed : integers[i].is_unsigned;
	return "bytes";
}

static bool is_identifier(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (!(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (i && c >= '0' && c <= '9')))
			return false;
	}
	return s.len;
}

void described_arg_show(const struct described_arg *arg, struct buf *out)
{
	struct str type = arg->type.len ? arg->type : str_from(type_name(arg));
	struct str name = arg->name.len ? arg->name : arg->source;

	buf_escaped(out, type);
	if (!name.len)
		return;
	if (!is_identifier(name))
		buf_text(out, " = ");
	else if (type.len && type.ptr[type.len - 1] != '*')
		buf_char(out, ' ');
	buf_escaped(out, name);
}
