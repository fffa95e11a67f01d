/* The function that runs Ruby's instructions, found by the table of its parts. */
#include "help/check.h"

#include <elf.h>

#include "help/elf_builder.h"
#include "lang/inside.h"

#include "elf/image.h"

#define HEADER 0x400800
#define TABLE  0x600100

static const uint64_t functions[] = {0x400000, 0x400100, 0x400200, 0x400300};

struct slot {
	uint64_t at, to;
	unsigned kind;
};

/* Look in a file with these relocations for a table of `instructions`. */
static bool find(const struct slot *slots, size_t count, unsigned instructions, const char *format,
		 struct lang_code_range *out)
{
	struct made_elf e = make_elf(8, false, EM_X86_64);
	struct buf *relocations = add_section(&e, ".rela.dyn", SHT_RELA, SHF_ALLOC, 0x400400);
	struct buf *header, file;
	struct image *image;
	bool found;

	for (size_t i = 0; i < count; i++) {
		put(&e, relocations, slots[i].at, 8);
		put(&e, relocations, slots[i].kind, 8);
		put(&e, relocations, slots[i].to, 8);
	}
	header = add_section(&e, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, HEADER);
	buf_add(header, format, 4);
	put(&e, header, 0, 4);
	put(&e, header, COUNT(functions), 4);
	for (size_t i = 0; i < COUNT(functions); i++) {
		put(&e, header, functions[i] - HEADER, 4);
		put(&e, header, 0, 4);
	}
	file = finish_elf(&e);
	assert_int_equal(image_open_memory(file.ptr, file.len, STR("made"), &image, NULL), 0);
	found = evaluator_find(image, instructions, out);
	image_close(image);
	buf_free(&file);
	return found;
}

#define USUAL "\x01\x1b\x03\x3b"

/* Three addresses in the second function, after some of the first; then another in the second. */
static const struct slot table[] = {
	{TABLE, 0x400010, R_X86_64_RELATIVE},	   {TABLE + 8, 0x400110, R_X86_64_RELATIVE},
	{TABLE + 16, 0x4001f0, R_X86_64_RELATIVE}, {TABLE + 24, 0x400100, R_X86_64_RELATIVE},
	{TABLE + 40, 0x400120, R_X86_64_RELATIVE},
};

static void a_table_with_all_instructions_says_where_the_function_is(void **state)
{
	struct lang_code_range range = {0};

	(void)state;
	assert_true(find(table, COUNT(table), 3, USUAL, &range));
	assert_int_equal(range.start, CODE_OFFSET + 0x100);
	assert_int_equal(range.end, CODE_OFFSET + 0x200);
}

static void a_table_of_another_length_says_nothing(void **state)
{
	struct lang_code_range range;

	(void)state;
	assert_false(find(table, COUNT(table), 2, USUAL, &range));
	assert_false(find(table, COUNT(table), 4, USUAL, &range));
	assert_false(find(table, 3, 3, USUAL, &range));
	assert_false(find(table, 0, 3, USUAL, &range));
}

static void two_such_tables_say_nothing(void **state)
{
	struct slot two[8];
	struct lang_code_range range;

	(void)state;
	memcpy(two, table + 1, 3 * sizeof(*two));
	memcpy(two + 3, table + 1, 3 * sizeof(*two));
	for (unsigned i = 3; i < 6; i++)
		two[i].at += 0x100;
	assert_false(find(two, 6, 3, USUAL, &range));
}

static void addresses_of_another_kind_or_in_no_function_are_no_table(void **state)
{
	struct slot other[COUNT(table)];
	struct lang_code_range range;

	(void)state;
	memcpy(other, table, sizeof(other));
	other[2].kind = R_X86_64_64;
	assert_false(find(other, COUNT(other), 3, USUAL, &range));
	memcpy(other, table, sizeof(other));
	for (unsigned i = 1; i < 4; i++)
		other[i].to += 0x200; /* in the last function, of which the end is not known */
	assert_false(find(other, COUNT(other), 3, USUAL, &range));
}

static void a_list_of_functions_in_another_format_is_not_read(void **state)
{
	struct lang_code_range range;

	(void)state;
	assert_false(find(table, COUNT(table), 3, "\x01\x1b\x03\x1b", &range));
	assert_false(find(table, COUNT(table), 3, "\x02\x1b\x03\x3b", &range));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_with_all_instructions_says_where_the_function_is),
		cmocka_unit_test(a_table_of_another_length_says_nothing),
		cmocka_unit_test(two_such_tables_say_nothing),
		cmocka_unit_test(addresses_of_another_kind_or_in_no_function_are_no_table),
		cmocka_unit_test(a_list_of_functions_in_another_format_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
