/* Sizes and signs where C and the machine's ABI fix them. */
#include "provider/meaning.h"

#include <elf.h>

#define WORD 255 /* a size: that of an address */

/* Arithmetic types by C's shortest name, and the standard names for them. */
static const struct {
	const char *name;
	enum arg_class type_class;
	bool is_signed;
	uint8_t size;
} arithmetic[] = {
	{"signed char", ARG_SIGNED, true, 1},
	{"unsigned char", ARG_UNSIGNED, false, 1},
	{"short", ARG_SIGNED, true, 2},
	{"unsigned short", ARG_UNSIGNED, false, 2},
	{"int", ARG_SIGNED, true, 4},
	{"unsigned int", ARG_UNSIGNED, false, 4},
	{"long", ARG_SIGNED, true, WORD},
	{"unsigned long", ARG_UNSIGNED, false, WORD},
	{"long long", ARG_SIGNED, true, 8},
	{"unsigned long long", ARG_UNSIGNED, false, 8},
	{"__int128", ARG_SIGNED, true, 16},
	{"unsigned __int128", ARG_UNSIGNED, false, 16},
	{"float", ARG_FLOAT, false, 4},
	{"double", ARG_FLOAT, false, 8},
	{"__float128", ARG_FLOAT, false, 16},
	{"int8_t", ARG_SIGNED, true, 1},
	{"uint8_t", ARG_UNSIGNED, false, 1},
	{"int16_t", ARG_SIGNED, true, 2},
	{"uint16_t", ARG_UNSIGNED, false, 2},
	{"int32_t", ARG_SIGNED, true, 4},
	{"uint32_t", ARG_UNSIGNED, false, 4},
	{"int64_t", ARG_SIGNED, true, 8},
	{"uint64_t", ARG_UNSIGNED, false, 8},
	{"intmax_t", ARG_SIGNED, true, 8},
	{"uintmax_t", ARG_UNSIGNED, false, 8},
	{"intptr_t", ARG_SIGNED, true, WORD},
	{"uintptr_t", ARG_UNSIGNED, false, WORD},
	{"ptrdiff_t", ARG_SIGNED, true, WORD},
	{"size_t", ARG_UNSIGNED, false, WORD},
	{"ssize_t", ARG_SIGNED, true, WORD},
};

/* The ABIs with a signed plain char, and the bytes of a long double. */
static const struct {
	uint16_t machine;
	bool char_is_signed;
	uint8_t long_double;
} abis[] = {
	{EM_X86_64, true, 16}, {EM_386, true, 12},    {EM_AARCH64, false, 16}, {EM_ARM, false, 8},
	{EM_RISCV, false, 16}, {EM_PPC64, false, 16}, {EM_S390, false, 16},    {EM_MIPS, true, 16},
};

static struct meaning arithmetic_meaning(struct str name, uint16_t machine, unsigned word)
{
	size_t abi = 0;

	for (size_t i = 0; i < sizeof(arithmetic) / sizeof(*arithmetic); i++)
		if (str_eq_text(name, arithmetic[i].name))
			return (struct meaning){arithmetic[i].type_class, arithmetic[i].is_signed,
						arithmetic[i].size == WORD ? (uint8_t)word
									   : arithmetic[i].size};
	while (abi < sizeof(abis) / sizeof(*abis) && abis[abi].machine != machine)
		abi++;
	if (abi < sizeof(abis) / sizeof(*abis) && str_eq_text(name, "char"))
		return (struct meaning){ARG_CHAR, abis[abi].char_is_signed, 1};
	if (abi < sizeof(abis) / sizeof(*abis) && str_eq_text(name, "long double"))
		return (struct meaning){ARG_FLOAT, false, abis[abi].long_double};
	return (struct meaning){ARG_BYTES, false, 0};
}

static bool is_char(const struct ctype *t)
{
	t = ctype_resolve(t);
	return t->kind == CTYPE_INTEGER && str_eq_text(t->name, "char");
}

struct meaning meaning_of(const struct ctype *t, uint16_t machine, unsigned word)
{
	t = ctype_resolve(t);
	switch (t->kind) {
	case CTYPE_BOOL: return (struct meaning){ARG_BOOL, false, 1};
	case CTYPE_INTEGER:
	case CTYPE_FLOAT:
	case CTYPE_NAMED: return arithmetic_meaning(t->name, machine, word);
	case CTYPE_ENUM: return (struct meaning){ARG_ENUM, false, 4};
	case CTYPE_STRING: return (struct meaning){ARG_STRING, false, (uint8_t)word};
	case CTYPE_POINTER:
	case CTYPE_ARRAY:
		return (struct meaning){is_char(t->to) ? ARG_STRING : ARG_POINTER, false,
					(uint8_t)word};
	case CTYPE_FUNCTION: return (struct meaning){ARG_POINTER, false, (uint8_t)word};
	default: return (struct meaning){ARG_BYTES, false, 0};
	}
}
