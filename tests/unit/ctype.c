/* C types: what they measure on each machine, how they are written, what is the same, members. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/array.h"
#include "provider/provider.h"

/* The type that C writes so, as a provider file has it. */
static const struct ctype *parse(struct provider_file *file, const char *written)
{
	struct buf text = BUF_INIT;
	struct str kept;

	provider_open(file);
	buf_printf(&text, "typedef unsigned short port_t; provider p { probe a(%s); };", written);
	kept = arena_str(&file->arena, buf_as_str(&text));
	buf_free(&text);
	assert_int_equal(provider_parse(file, STR("p.d"), kept, NULL), 0);
	return file->providers->probes->args->type;
}

/* clang-format off */
static const struct {
	const char *type;
	uint16_t machine;
	unsigned word, size, align;
	bool is_signed;
} layouts[] = {
	{ "char",          EM_X86_64,  8, 1,  1,  true  },
	{ "char",          EM_AARCH64, 8, 1,  1,  false },
	{ "int",           EM_X86_64,  8, 4,  4,  true  },
	{ "unsigned",      EM_X86_64,  8, 4,  4,  false },
	{ "long",          EM_X86_64,  8, 8,  8,  true  },
	{ "long",          EM_X86_64,  4, 4,  4,  true  }, /* x32 */
	{ "long",          EM_ARM,     4, 4,  4,  true  },
	{ "long long",     EM_386,     4, 8,  4,  true  },
	{ "long long",     EM_ARM,     4, 8,  8,  true  },
	{ "double",        EM_386,     4, 8,  4,  false },
	{ "long double",   EM_386,     4, 12, 4,  false },
	{ "long double",   EM_X86_64,  8, 16, 16, false },
	{ "long double",   EM_S390,    8, 16, 8,  false },
	{ "long double",   EM_ARM,     4, 8,  8,  false },
	{ "size_t",        EM_RISCV,   8, 8,  8,  false },
	{ "ssize_t",       EM_ARM,     4, 4,  4,  true  },
	{ "bool",          EM_X86_64,  8, 1,  1,  false },
	{ "enum color",    EM_X86_64,  8, 4,  4,  false },
	{ "string",        EM_386,     4, 4,  4,  false },
	{ "struct node *", EM_X86_64,  8, 8,  8,  false },
	{ "port_t",        EM_X86_64,  8, 2,  2,  false },
	{ "int x[3]",      EM_X86_64,  8, 12, 4,  false },
	{ "int x[N]",      EM_X86_64,  8, 0,  4,  false },
	{ "struct node n", EM_X86_64,  8, 0,  1,  false },
	{ "zone_t z",      EM_X86_64,  8, 0,  0,  false },
	{ "char",          EM_SPARC,   4, 0,  0,  false }, /* whatever its sign is there */
};
/* clang-format on */

static void types_measure_what_the_abi_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(layouts); i++) {
		struct provider_file file;
		struct ctype_machine m = ctype_machine_of(layouts[i].machine, layouts[i].word);
		struct ctype_layout is = ctype_layout(parse(&file, layouts[i].type), &m);

		if (is.size != layouts[i].size || is.align != layouts[i].align ||
		    is.is_signed != layouts[i].is_signed)
			fail_msg("%s: %u bytes, aligned to %u, signed %d", layouts[i].type,
				 (unsigned)is.size, is.align, is.is_signed);
		provider_free(&file);
	}
}

static void arrays_and_functions_are_passed_as_addresses(void **state)
{
	static const char *const types[] = {"int x[3]", "int x[]", "int x(void)", "struct s *x"};
	struct ctype_machine m = ctype_machine_of(EM_X86_64, 8);

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++) {
		struct provider_file file;
		const struct ctype *t = parse(&file, types[i]);

		assert_int_equal(ctype_layout_passed(t, &m).size, 8);
		assert_true(ctype_is_address(t));
		provider_free(&file);
	}
}

static void text_is_an_address_of_plain_characters(void **state)
{
	static const struct {
		const char *type;
		bool is_text;
	} cases[] = {
		{"char *", true},  {"const char s[8]", true},  {"string", true},
		{"char", false},   {"unsigned char *", false}, {"char **", false},
		{"void *", false}, {"wchar_t *", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct provider_file file;

		assert_int_equal(ctype_is_text(parse(&file, cases[i].type)), cases[i].is_text);
		provider_free(&file);
	}
}

static void types_without_a_name_have_that_of_their_size(void **state)
{
	static const struct ctype to_void = {.kind = CTYPE_VOID};
	static const struct {
		struct ctype type;
		const char *text;
	} cases[] = {
		{{.kind = CTYPE_INTEGER, .size = 4, .is_signed = true}, "int x"},
		{{.kind = CTYPE_INTEGER, .size = 8}, "unsigned long long x"},
		{{.kind = CTYPE_INTEGER, .size = 3}, "bytes x"},
		{{.kind = CTYPE_INTEGER, .size = STANDARD_WORD}, "bytes x"},
		{{.kind = CTYPE_CHAR, .size = 1}, "char x"},
		{{.kind = CTYPE_CHAR, .size = 4, .is_signed = true}, "int x"},
		{{.kind = CTYPE_FLOAT, .size = 8}, "double x"},
		{{.kind = CTYPE_FLOAT, .size = 12}, "long double x"},
		{{.kind = CTYPE_BOOL, .size = 1}, "bool x"},
		{{.kind = CTYPE_ENUM, .size = 4}, "enum x"},
		{{.kind = CTYPE_BYTES, .size = 24}, "bytes x"},
		{{.kind = CTYPE_POINTER, .to = &to_void}, "void *x"},
		{{.kind = CTYPE_STRUCT}, "struct {...} x"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct buf text = BUF_INIT;

		ctype_print(&text, &cases[i].type, STR("x"));
		buf_char(&text, '\0');
		assert_string_equal(text.ptr, cases[i].text);
		buf_free(&text);
	}
}

/* ---- Structs ---- */

static const struct ctype u8 = {.kind = CTYPE_INTEGER, .size = 1},
			  u32 = {.kind = CTYPE_INTEGER, .size = 4},
			  u64 = {.kind = CTYPE_INTEGER, .size = 8};

/* struct { union { u64 wide; u32 narrow; }; u8 low : 3, high : 5; struct list *next; } */
static const struct ctype_member either[] = {{.name = {"wide", 4}, .type = &u64},
					     {.name = {"narrow", 6}, .type = &u32}};
static const struct ctype either_type = {
	.kind = CTYPE_UNION, .size = 8, .members = either, .member_count = 2};
static const struct ctype list, to_list = {.kind = CTYPE_POINTER, .to = &list};
static const struct ctype_member list_members[] = {
	{.type = &either_type, .offset = 8},
	{.name = {"low", 3}, .type = &u8, .offset = 16, .bit_width = 3},
	{.name = {"high", 4}, .type = &u8, .offset = 16, .bit_offset = 3, .bit_width = 5},
	{.name = {"next", 4}, .type = &to_list, .offset = 24},
};
static const struct ctype list = {.kind = CTYPE_STRUCT,
				  .name = {"list", 4},
				  .size = 32,
				  .members = list_members,
				  .member_count = 4};

static void members_are_found_also_in_nameless_ones(void **state)
{
	const struct ctype named = {.kind = CTYPE_NAMED, .name = STR("list_t"), .to = &list};
	struct ctype_member m;

	(void)state;
	assert_true(ctype_member(&named, STR("narrow"), &m));
	assert_int_equal(m.offset, 8);
	assert_ptr_equal(m.type, &u32);
	assert_true(ctype_member(&list, STR("high"), &m));
	assert_int_equal(m.offset, 16);
	assert_int_equal(m.bit_offset, 3);
	assert_int_equal(m.bit_width, 5);
	assert_false(ctype_member(&list, STR("nowhere"), &m));
	assert_false(ctype_member(&u8, STR("low"), &m));
}

static void a_struct_is_aligned_as_its_strictest_member(void **state)
{
	struct ctype_machine large = ctype_machine_of(EM_X86_64, 8);
	struct ctype_machine small = ctype_machine_of(EM_386, 4);

	(void)state;
	assert_int_equal(ctype_layout(&list, &large).size, 32);
	assert_int_equal(ctype_layout(&list, &large).align, 8);
	assert_int_equal(ctype_layout(&list, &small).align, 4);
}

static void the_same_is_found_by_structure(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{"int", "signed int x", true},
		{"const char *s", "char const *", true},
		{"const char *s", "char *s", false},
		{"int (*f)(int a, ...)", "int (*)(int, ...)", true},
		{"int (*f)(int, ...)", "int (*f)(int)", false},
		{"char s[3]", "char s[4]", false},
		{"struct s *p", "union s *p", false},
		{"port_t p", "unsigned short p", false},
	};
	struct ctype_member moved[4];
	struct ctype other = list;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct provider_file a, b;

		assert_int_equal(ctype_same(parse(&a, cases[i].a), parse(&b, cases[i].b)),
				 cases[i].same);
		provider_free(&a);
		provider_free(&b);
	}
	assert_true(ctype_same(&list, &list));
	memcpy(moved, list_members, sizeof(moved));
	other.members = moved;
	assert_true(ctype_same(&list, &other));
	moved[2].bit_offset = 2;
	assert_false(ctype_same(&list, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_measure_what_the_abi_says),
		cmocka_unit_test(arrays_and_functions_are_passed_as_addresses),
		cmocka_unit_test(text_is_an_address_of_plain_characters),
		cmocka_unit_test(types_without_a_name_have_that_of_their_size),
		cmocka_unit_test(members_are_found_also_in_nameless_ones),
		cmocka_unit_test(a_struct_is_aligned_as_its_strictest_member),
		cmocka_unit_test(the_same_is_found_by_structure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
