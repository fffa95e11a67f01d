/* Sizes, alignments and signs, where C and the machine's ABI fix them; and members of structs. */
#include "ctype/ctype.h"

#include <elf.h>
#include <errno.h>

#include "base/array.h"

#define WORD	    STANDARD_WORD
#define LONG_DOUBLE STANDARD_LONG_DOUBLE

/* clang-format off */

/* The arithmetic types by C's shortest name, and standard names for them. ORDER: of two that are
 * alike the first gives its name to types without one (ctype_standard_name). */
static const struct ctype_standard standard_types[] = {
	{ "char",               CTYPE_CHAR,    1,           false, NULL               },
	{ "signed char",        CTYPE_INTEGER, 1,           true,  NULL               },
	{ "unsigned char",      CTYPE_INTEGER, 1,           false, NULL               },
	{ "short",              CTYPE_INTEGER, 2,           true,  NULL               },
	{ "unsigned short",     CTYPE_INTEGER, 2,           false, NULL               },
	{ "int",                CTYPE_INTEGER, 4,           true,  NULL               },
	{ "unsigned int",       CTYPE_INTEGER, 4,           false, NULL               },
	{ "long",               CTYPE_INTEGER, WORD,        true,  NULL               },
	{ "unsigned long",      CTYPE_INTEGER, WORD,        false, NULL               },
	{ "long long",          CTYPE_INTEGER, 8,           true,  NULL               },
	{ "unsigned long long", CTYPE_INTEGER, 8,           false, NULL               },
	{ "__int128",           CTYPE_INTEGER, 16,          true,  NULL               },
	{ "unsigned __int128",  CTYPE_INTEGER, 16,          false, NULL               },
	{ "float",              CTYPE_FLOAT,   4,           false, NULL               },
	{ "double",             CTYPE_FLOAT,   8,           false, NULL               },
	{ "long double",        CTYPE_FLOAT,   LONG_DOUBLE, false, NULL               },
	{ "__float128",         CTYPE_FLOAT,   16,          false, NULL               },
	{ "int8_t",             CTYPE_INTEGER, 1,           true,  "__INT8_TYPE__"    },
	{ "uint8_t",            CTYPE_INTEGER, 1,           false, "__UINT8_TYPE__"   },
	{ "int16_t",            CTYPE_INTEGER, 2,           true,  "__INT16_TYPE__"   },
	{ "uint16_t",           CTYPE_INTEGER, 2,           false, "__UINT16_TYPE__"  },
	{ "int32_t",            CTYPE_INTEGER, 4,           true,  "__INT32_TYPE__"   },
	{ "uint32_t",           CTYPE_INTEGER, 4,           false, "__UINT32_TYPE__"  },
	{ "int64_t",            CTYPE_INTEGER, 8,           true,  "__INT64_TYPE__"   },
	{ "uint64_t",           CTYPE_INTEGER, 8,           false, "__UINT64_TYPE__"  },
	{ "intmax_t",           CTYPE_INTEGER, 8,           true,  "__INTMAX_TYPE__"  },
	{ "uintmax_t",          CTYPE_INTEGER, 8,           false, "__UINTMAX_TYPE__" },
	{ "intptr_t",           CTYPE_INTEGER, WORD,        true,  "__INTPTR_TYPE__"  },
	{ "uintptr_t",          CTYPE_INTEGER, WORD,        false, "__UINTPTR_TYPE__" },
	{ "ptrdiff_t",          CTYPE_INTEGER, WORD,        true,  "__PTRDIFF_TYPE__" },
	{ "size_t",             CTYPE_INTEGER, WORD,        false, "__SIZE_TYPE__"    },
	{ "ssize_t",            CTYPE_INTEGER, WORD,        true,  NULL               },
};

/* The ABIs. Numbers in memory are aligned to their size, but to no more than `most_align`. */
static const struct {
	uint16_t machine;
	bool char_is_signed;
	uint8_t long_double, most_align;
} abis[] = {
	{ EM_X86_64,    true,  16, 16 },
	{ EM_386,       true,  12, 4  },
	{ EM_AARCH64,   false, 16, 16 },
	{ EM_ARM,       false, 8,  8  },
	{ EM_RISCV,     false, 16, 16 },
	{ EM_PPC64,     false, 16, 16 },
	{ EM_S390,      false, 16, 8  },
	{ EM_MIPS,      true,  16, 16 },
	{ EM_LOONGARCH, true,  16, 16 },
};

/* clang-format on */

const struct ctype_standard *ctype_standard(struct str name)
{
	for (size_t i = 0; i < COUNT(standard_types); i++)
		if (str_eq_text(name, standard_types[i].name))
			return &standard_types[i];
	return NULL;
}

const char *ctype_standard_name(enum ctype_kind kind, uint64_t size, bool is_signed)
{
	for (size_t i = 0; i < COUNT(standard_types); i++) {
		const struct ctype_standard *s = &standard_types[i];

		if (s->kind == kind && s->size == size && size < LONG_DOUBLE &&
		    (s->is_signed == is_signed || kind != CTYPE_INTEGER))
			return s->name;
	}
	return NULL;
}

struct str ctype_compiler_name(struct str name)
{
	/* clang-format off */
	static const char *const names[][2] = {
		{ "unsigned long",          "long unsigned int"      },
		{ "unsigned long int",      "long unsigned int"      },
		{ "unsigned long long",     "long long unsigned int" },
		{ "unsigned long long int", "long long unsigned int" },
		{ "long",                   "long int"               },
		{ "long long",              "long long int"          },
		{ "short",                  "short int"              },
		{ "unsigned short",         "short unsigned int"     },
		{ "unsigned short int",     "short unsigned int"     },
		{ "unsigned",               "unsigned int"           },
		{ "signed",                 "int"                    },
		{ "bool",                   "_Bool"                  },
	};
	/* clang-format on */

	for (size_t i = 0; i < COUNT(names); i++)
		if (str_eq_text(name, names[i][0]))
			return str_from(names[i][1]);
	return name;
}

struct ctype_machine ctype_machine_of(uint16_t elf_machine, unsigned word)
{
	for (size_t i = 0; i < COUNT(abis); i++)
		if (abis[i].machine == elf_machine)
			return (struct ctype_machine){.word = (uint8_t)word,
						      .is_known = true,
						      .char_is_signed = abis[i].char_is_signed,
						      .long_double = abis[i].long_double,
						      .most_align = abis[i].most_align};
	return (struct ctype_machine){.word = (uint8_t)word, .most_align = (uint8_t)word};
}

/* A number of `size` bytes, or something else that is moved as one. */
static struct ctype_layout number_layout(uint64_t size, bool is_signed,
					 const struct ctype_machine *m)
{
	unsigned align = size < m->most_align ? (unsigned)size : m->most_align;

	return (struct ctype_layout){.size = size, .align = align, .is_signed = is_signed};
}

struct ctype_layout ctype_layout(const struct ctype *t, const struct ctype_machine *m)
{
	struct ctype_layout out = {.size = 0};
	const struct ctype_standard *s;
	uint64_t count;

	t = ctype_resolve(t);
	switch (t->kind) {
	case CTYPE_POINTER:
	case CTYPE_STRING: return number_layout(t->size ? t->size : m->word, false, m);
	case CTYPE_BOOL: return number_layout(t->size ? t->size : 1, false, m);
	case CTYPE_ENUM: return number_layout(t->size ? t->size : 4, t->is_signed, m);
	case CTYPE_CHAR:
	case CTYPE_INTEGER:
	case CTYPE_FLOAT:
	case CTYPE_NAMED:
		if (t->size)
			return number_layout(t->size, t->is_signed, m);
		s = ctype_standard(t->name);
		if (!s)
			return out;
		if (s->kind == CTYPE_CHAR)
			return number_layout(m->is_known, m->char_is_signed, m);
		if (s->size == LONG_DOUBLE)
			return number_layout(m->long_double, false, m);
		return number_layout(s->size == WORD ? m->word : s->size, s->is_signed, m);
	case CTYPE_ARRAY:
		out = ctype_layout(t->to, m);
		if (!ctype_count(t, &count) || __builtin_mul_overflow(out.size, count, &out.size))
			out.size = 0;
		out.is_signed = false;
		return out;
	case CTYPE_STRUCT:
	case CTYPE_UNION:
	case CTYPE_BYTES: /* The size was filled in with the members; the strictest one aligns it.
			   */
		ctype_complete(t);
		out = (struct ctype_layout){.size = t->size, .align = t->align ? t->align : 1};
		for (unsigned i = 0; i < t->member_count && !t->align; i++) {
			unsigned align = ctype_layout(t->members[i].type, m).align;

			out.align = align > out.align ? align : out.align;
		}
		return out;
	default: return out;
	}
}

/* What a member has inside: the struct of an array of structs. */
static const struct ctype *type_inside(const struct ctype *t)
{
	t = ctype_resolve(t);
	while (t->kind == CTYPE_ARRAY)
		t = ctype_resolve(t->to);
	return t;
}

void ctype_place_bits(struct ctype_member *m, uint64_t bit, uint64_t width, bool big_endian,
		      const struct ctype_machine *machine)
{
	uint64_t size = ctype_layout(m->type, machine).size, first;

	m->offset = bit / 8;
	if (!size || size > 8 || width > size * 8)
		return;
	first = bit / (size * 8) * size;
	if (bit + width > (first + size) * 8)
		first = bit / 8;
	m->offset = first;
	bit -= first * 8;
	if (bit + width > size * 8)
		return;
	m->bit_offset = (uint8_t)(big_endian ? size * 8 - bit - width : bit);
	m->bit_width = (uint8_t)width;
}

int ctype_finish(struct ctype *t, const struct ctype_member *members, unsigned count,
		 const struct ctype_machine *m)
{
	unsigned align = 1;
	bool is_packed = false;
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++) {
		const struct ctype *part = type_inside(members[i].type);
		unsigned wants;

		if (part->kind == CTYPE_STRUCT || part->kind == CTYPE_UNION) {
			err = ctype_complete(part);
			/* Without an alignment it is being completed itself. */
			if (!err && !part->align && !part->is_declaration)
				err = -EBADMSG;
		}
		wants = ctype_layout(members[i].type, m).align;
		if (!wants || members[i].bit_width)
			continue;
		is_packed |= members[i].offset % wants != 0;
		align = wants > align ? wants : align;
	}
	t->align = (uint16_t)(err || is_packed || t->size % align ? 1 : align);
	if (err)
		return err;
	t->members = members;
	t->member_count = count;
	return 0;
}

enum ctype_kind ctype_kind(const struct ctype *t)
{
	const struct ctype_standard *standard;

	t = ctype_resolve(t);
	standard = t->kind == CTYPE_NAMED ? ctype_standard(t->name) : NULL;
	return standard ? standard->kind : t->kind;
}

bool ctype_is_address(const struct ctype *t)
{
	t = ctype_resolve(t);
	return t->kind == CTYPE_POINTER || t->kind == CTYPE_STRING || t->kind == CTYPE_ARRAY ||
	       t->kind == CTYPE_FUNCTION;
}

bool ctype_is_text(const struct ctype *t)
{
	t = ctype_resolve(t);
	if (t->kind == CTYPE_STRING)
		return true;
	if (t->kind != CTYPE_POINTER && t->kind != CTYPE_ARRAY)
		return false;
	t = ctype_resolve(t->to);
	return t->kind == CTYPE_CHAR && t->size <= 1;
}

struct ctype_layout ctype_layout_passed(const struct ctype *t, const struct ctype_machine *m)
{
	t = ctype_resolve(t);
	if (t->kind == CTYPE_ARRAY || t->kind == CTYPE_FUNCTION)
		return number_layout(m->word, false, m);
	return ctype_layout(t, m);
}

/* `*steps`: how many members may still be looked at. */
static bool find_member(const struct ctype *t, struct str name, unsigned *steps,
			struct ctype_member *out)
{
	t = ctype_resolve(t);
	if ((t->kind != CTYPE_STRUCT && t->kind != CTYPE_UNION) || ctype_complete(t))
		return false;
	for (unsigned i = 0; i < t->member_count && *steps; i++, --*steps) {
		const struct ctype_member *m = &t->members[i];

		if (str_eq(m->name, name)) {
			*out = *m;
			return true;
		}
		if (!m->name.len && find_member(m->type, name, steps, out)) {
			out->offset += m->offset;
			return true;
		}
	}
	return false;
}

bool ctype_member(const struct ctype *t, struct str name, struct ctype_member *out)
{
	unsigned steps = 1000000;

	return name.len && find_member(t, name, &steps, out);
}

bool ctype_constant(const struct ctype *t, struct str name, int64_t *value)
{
	t = ctype_resolve(t);
	if (ctype_complete(t))
		return false;
	for (unsigned i = 0; i < t->constant_count; i++)
		if (str_eq(t->constants[i].name, name)) {
			*value = t->constants[i].value;
			return true;
		}
	return false;
}

struct str ctype_constant_name(const struct ctype *t, int64_t value)
{
	t = ctype_resolve(t);
	if (ctype_complete(t))
		return STR("");
	for (unsigned i = 0; i < t->constant_count; i++)
		if (t->constants[i].value == value)
			return t->constants[i].name;
	return STR("");
}

bool ctype_count(const struct ctype *t, uint64_t *count)
{
	t = ctype_resolve(t);
	return t->kind == CTYPE_ARRAY && !str_to_u64(t->bound, count);
}
