/* Notes of ELF files -> sites: addresses, offsets, prelink, damage, symbols in operands. */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "help/elf_builder.h"
#include "probe/sites.h"

#define BASE_AT 0x400800 /* of .stapsdt.base */

static struct buf *notes_of(struct made_elf *e)
{
	struct buf *notes = add_section(e, ".note.stapsdt", SHT_NOTE, 0, 0);

	return notes;
}

static void add_base(struct made_elf *e)
{
	buf_char(add_section(e, ".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, BASE_AT), 0);
}

static int read_bytes(const void *bytes, size_t len, struct site_list *list, struct diag *d)
{
	struct image *image;
	int err = image_open_memory(bytes, len, STR("made"), &image, d);

	*list = (struct site_list){0};
	if (err)
		return err;
	err = site_list_read(image, STR(""), STR(""), list, d);
	image_close(image);
	return err;
}

static int read_elf(struct made_elf *e, struct site_list *list, struct diag *d)
{
	struct buf file = finish_elf(e);
	int err = read_bytes(file.ptr, file.len, list, d);

	buf_free(&file);
	return err;
}

/* The last message has this tag and this text. */
static void assert_message(struct diag *d, const char *tag, const char *text)
{
	struct buf out = BUF_INIT;

	diag_render(d, &out);
	assert_non_null(d->last);
	assert_string_equal(d->last->tag, tag);
	if (!strstr(out.ptr, text))
		fail_msg("no '%s' in\n%s", text, out.ptr);
	buf_free(&out);
	diag_free(d);
}

static void assert_text(struct str s, const char *text)
{
	assert_int_equal(s.len, strlen(text));
	assert_memory_equal(s.ptr, text, s.len);
}

static void every_word_size_and_byte_order(void **state)
{
	static const struct {
		unsigned word;
		bool big_endian;
		uint16_t machine;
		const char *args;
	} cases[] = {
		{8, false, EM_X86_64, "-4@%edi"},
		{4, false, EM_386, "-4@%edi"},
		{8, true, EM_S390, "-4@%r2"},
		{4, true, EM_MIPS, "-4@$2"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct made_elf e = make_elf(cases[i].word, cases[i].big_endian, cases[i].machine);
		struct diag d = DIAG_INIT;
		struct site_list list;

		add_note(&e, notes_of(&e), 3, CODE_AT + 0x123, BASE_AT, DATA_AT + 0x44, "prov",
			 "name", cases[i].args);
		add_base(&e);
		assert_int_equal(read_elf(&e, &list, &d), 0);
		assert_int_equal(list.count, 1);
		assert_text(list.sites[0].provider, "prov");
		assert_text(list.sites[0].name, "name");
		assert_text(list.sites[0].args_text, cases[i].args);
		assert_int_equal(list.sites[0].location, CODE_AT + 0x123);
		assert_int_equal(list.sites[0].offset, CODE_OFFSET + 0x123);
		assert_int_equal(list.sites[0].semaphore, DATA_AT + 0x44);
		assert_int_equal(list.sites[0].sema_offset, DATA_OFFSET + 0x44);
		assert_null(list.sites[0].problem);
		assert_int_equal(d.errors, 0);
		site_list_free(&list);
	}
}

/* Prelink moved the file by -k after the note was written: note and base say k too much. */
static void prelink_moves_location_and_semaphore(void **state)
{
	(void)state;
	for (int64_t k = -0x10000; k <= 0x10000; k += 0x8000) {
		struct made_elf e = make_elf(8, false, EM_X86_64);
		struct site_list list;
		struct buf *notes = notes_of(&e);

		add_note(&e, notes, 3, CODE_AT + 1 + k, BASE_AT + k, DATA_AT + 2 + k, "p", "q", "");
		add_note(&e, notes, 3, CODE_AT + 2 + k, BASE_AT + k, 0, "p", "r", "");
		add_base(&e);
		assert_int_equal(read_elf(&e, &list, NULL), 0);
		assert_int_equal(list.sites[0].location, CODE_AT + 1);
		assert_int_equal(list.sites[0].semaphore, DATA_AT + 2);
		assert_int_equal(list.sites[0].base, BASE_AT + k);
		assert_int_equal(list.sites[1].location, CODE_AT + 2);
		assert_int_equal(list.sites[1].semaphore, 0);
		site_list_free(&list);
	}
}

static void nothing_moves_without_base(void **state)
{
	(void)state;
	for (int with_section = 0; with_section < 2; with_section++) {
		struct made_elf e = make_elf(8, false, EM_X86_64);
		struct site_list list;

		add_note(&e, notes_of(&e), 3, CODE_AT + 1, with_section ? 0 : 0x1234, DATA_AT + 2,
			 "p", "q", "");
		if (with_section)
			add_base(&e);
		assert_int_equal(read_elf(&e, &list, NULL), 0);
		assert_int_equal(list.sites[0].location, CODE_AT + 1);
		assert_int_equal(list.sites[0].semaphore, DATA_AT + 2);
		site_list_free(&list);
	}
}

static void sites_that_cannot_be_attached_say_why(void **state)
{
	static const struct {
		uint64_t location, semaphore;
		const char *why;
	} cases[] = {
		{DATA_AT + 4, 0, "its address is not in an executable segment of the file"},
		{0, 0, "its address is not in an executable segment of the file"},
		{UINT64_MAX, 0, "its address is not in an executable segment of the file"},
		{CODE_AT + PART_SIZE, 0, "its address is not in an executable segment of the file"},
		{CODE_AT, CODE_AT, "its semaphore is not in a writable segment of the file"},
		{CODE_AT, DATA_AT + PART_SIZE,
		 "its semaphore is not in a writable segment of the file"},
		{CODE_AT, DATA_AT + 1,
		 "its semaphore is at an odd address, which the kernel refuses"},
		{CODE_AT + PART_SIZE - 1, DATA_AT, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct made_elf e = make_elf(8, false, EM_X86_64);
		struct site_list list;

		add_note(&e, notes_of(&e), 3, cases[i].location, 0, cases[i].semaphore, "p", "q",
			 "");
		assert_int_equal(read_elf(&e, &list, NULL), 0);
		if (cases[i].why)
			assert_string_equal(list.sites[0].problem, cases[i].why);
		else
			assert_null(list.sites[0].problem);
		site_list_free(&list);
	}
}

/* What is counted up is a word of other people's memory. */
static void semaphores_lie_where_data_is(void **state)
{
	static const char no_file[] = "its semaphore is in memory that is not in the file, where "
				      "the kernel cannot count";
	static const struct {
		uint64_t semaphore;
		uint32_t flags;
		uint64_t bss;
		const char *why;
	} cases[] = {
		{DATA_AT, 0, 0, NULL},
		{DATA_AT + PART_SIZE - 2, 0, 0, NULL},
		{DATA_AT, PF_X, 0, "its semaphore is in an executable segment"},
		{DATA_AT + PART_SIZE - 1, 0, 0, no_file},
		{DATA_AT + PART_SIZE - 1, 0, 16, no_file},
		{DATA_AT + PART_SIZE, 0, 16, no_file},
		{DATA_AT + PART_SIZE + 15, 0, 16, no_file},
		{DATA_AT + PART_SIZE + 16, 0, 16,
		 "its semaphore is not in a writable segment of the file"},
		{DATA_AT + 7, 0, 0, "its semaphore is at an odd address, which the kernel refuses"},
		{UINT64_MAX, 0, 0, "its semaphore is not in a writable segment of the file"},
		{1, 0, 0, "its semaphore is not in a writable segment of the file"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct made_elf e = make_elf(8, false, EM_X86_64);
		struct site_list list;

		e.data_flags = cases[i].flags;
		e.bss = cases[i].bss;
		add_note(&e, notes_of(&e), 3, CODE_AT, 0, cases[i].semaphore, "p", "q", "");
		assert_int_equal(read_elf(&e, &list, NULL), 0);
		if (cases[i].why)
			assert_string_equal(list.sites[0].problem, cases[i].why);
		else
			assert_null(list.sites[0].problem);
		assert_int_equal(list.sites[0].sema_offset,
				 cases[i].why ? 0 : cases[i].semaphore - DATA_AT + DATA_OFFSET);
		site_list_free(&list);
	}
}

static void several_sections_of_notes_are_one_list(void **state)
{
	struct made_elf e = make_elf(8, false, EM_X86_64);
	struct site_list list;

	(void)state;
	add_note(&e, notes_of(&e), 3, CODE_AT, 0, 0, "p", "one", "");
	add_note(&e, notes_of(&e), 3, CODE_AT, 0, 0, "p", "two", "");
	assert_int_equal(read_elf(&e, &list, NULL), 0);
	assert_int_equal(list.count, 2);
	assert_text(list.sites[0].name, "one");
	assert_text(list.sites[1].name, "two");
	site_list_free(&list);
}

static void a_bad_note_spoils_only_itself(void **state)
{
	struct made_elf e = make_elf(8, false, EM_X86_64);
	struct diag d = DIAG_INIT;
	struct buf *notes = notes_of(&e);
	struct site_list list;

	(void)state;
	add_note(&e, notes, 3, CODE_AT, 0, 0, "p", "one", "8@%rax");
	put(&e, notes, 8, 4); /* its content is too short for three addresses */
	put(&e, notes, 4, 4);
	put(&e, notes, 3, 4);
	buf_add(notes, "stapsdt\0abc", 12);
	add_note(&e, notes, 3, CODE_AT, 0, 0, "p", "two", "nonsense@% 8@%rax");
	assert_int_equal(read_elf(&e, &list, &d), -EBADMSG);
	assert_int_equal(list.count, 2);
	assert_text(list.sites[1].name, "two");
	assert_int_equal(list.sites[1].arg_count, 2);
	assert_int_equal(list.sites[1].args[0].operand.kind, OPERAND_BAD);
	assert_int_equal(list.sites[1].args[1].operand.kind, OPERAND_REG);
	site_list_free(&list);
	assert_message(&d, "corrupt-notes",
		       "error: 'made' is damaged: the probe note at byte 60 of "
		       "its section .note.stapsdt is malformed\n");
}

static void sizes_beyond_the_section_end_it(void **state)
{
	struct made_elf e = make_elf(8, false, EM_X86_64);
	struct diag d = DIAG_INIT;
	struct buf *notes = notes_of(&e);
	struct site_list list;

	(void)state;
	add_note(&e, notes, 3, CODE_AT, 0, 0, "p", "one", "");
	put(&e, notes, 8, 4);
	put(&e, notes, 0xfffffff0, 4);
	put(&e, notes, 3, 4);
	buf_add(notes, "stapsdt", 8);
	assert_int_equal(read_elf(&e, &list, &d), -EBADMSG);
	assert_int_equal(list.count, 1);
	site_list_free(&list);
	assert_message(&d, "corrupt-notes", "extends past the end of the section");
}

static void old_formats_are_recognised(void **state)
{
	(void)state;
	for (int form = 0; form < 3; form++) {
		struct made_elf e = make_elf(8, form == 2, form == 2 ? EM_S390 : EM_X86_64);
		struct diag d = DIAG_INIT;
		struct site_list list;

		if (form == 0)
			add_note(&e, notes_of(&e), 2, CODE_AT, 0, 0, "p", "q", "");
		else
			put(&e,
			    add_section(&e, ".probes", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE,
					DATA_AT),
			    form == 1 ? 0x31425250 : 0x32425055, 4);
		assert_int_equal(read_elf(&e, &list, &d), 0);
		assert_int_equal(list.count, 0);
		assert_int_equal(d.warnings, 1);
		assert_message(&d, "old-notes", "format 1 or 2 (before 2010)");
		site_list_free(&list);
	}
}

static void object_files_are_refused(void **state)
{
	struct made_elf e = make_elf(8, false, EM_X86_64);
	struct diag d = DIAG_INIT;
	struct site_list list;

	(void)state;
	e.type = ET_REL;
	add_note(&e, notes_of(&e), 3, 0, 0, 0, "p", "q", "");
	assert_int_equal(read_elf(&e, &list, &d), -ENOEXEC);
	site_list_free(&list);
	assert_message(&d, "not-linked", "not an executable or shared library");
}

/* A file with all that is read: notes, symbols, base, semaphore. */
static struct buf full_file(void)
{
	struct made_elf e = make_elf(8, false, EM_X86_64);
	struct buf *notes = notes_of(&e), *symbols, *texts;

	add_note(&e, notes, 3, CODE_AT + 16, BASE_AT, DATA_AT, "p", "one",
		 "-4@8+global(%rip) 8@$local -4@%fs:thread@tpoff 8@twice(%rip) 8@none(%rip)");
	add_note(&e, notes, 3, CODE_AT + 17, BASE_AT, 0, "p", "two", "8@%rax -2@-8(%rbp,%rcx,4)");
	add_base(&e);
	symbols = add_section(&e, ".symtab", SHT_SYMTAB, 0, 0);
	e.sections[e.count - 1].link = e.count;
	texts = add_section(&e, ".strtab", SHT_STRTAB, 0, 0);
	add_symbol(&e, symbols, texts, "global", STB_GLOBAL << 4 | STT_OBJECT, DATA_AT + 0x100, 8);
	add_symbol(&e, symbols, texts, "local", STB_LOCAL << 4 | STT_OBJECT, DATA_AT + 0x108, 8);
	add_symbol(&e, symbols, texts, "twice", STB_LOCAL << 4 | STT_OBJECT, DATA_AT + 0x110, 8);
	add_symbol(&e, symbols, texts, "twice", STB_LOCAL << 4 | STT_OBJECT, DATA_AT + 0x118, 8);
	add_symbol(&e, symbols, texts, "thread", STB_LOCAL << 4 | STT_TLS, 4, 4);
	return finish_elf(&e);
}

static void symbols_of_operands_become_numbers(void **state)
{
	struct buf file = full_file();
	struct site_list list;
	const struct argument *args;

	(void)state;
	assert_int_equal(read_bytes(file.ptr, file.len, &list, NULL), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.sites[0].arg_count, 5);
	args = list.sites[0].args;
	assert_int_equal(args[0].operand.kind, OPERAND_MEM);
	assert_int_equal(args[0].operand.base, list.arch->pc);
	assert_int_equal(args[0].operand.value, DATA_AT + 0x100 + 8 - (CODE_AT + 16));
	assert_int_equal(args[1].operand.kind, OPERAND_CONST);
	assert_int_equal(args[1].operand.value, DATA_AT + 0x108);
	/* 20 bytes of thread-local storage, aligned to 16, end at the thread pointer: offset 4 is
	 * at -32 + 4. */
	assert_int_equal(args[2].operand.kind, OPERAND_MEM);
	assert_int_equal(args[2].operand.base, list.arch->tls);
	assert_int_equal(args[2].operand.value, -28);
	assert_int_equal(args[3].operand.kind, OPERAND_BAD);
	assert_string_equal(args[3].operand.why, "several symbols of the file have its name");
	assert_int_equal(args[4].operand.kind, OPERAND_BAD);
	assert_non_null(strstr(args[4].operand.why, "not in the symbol tables"));
	site_list_free(&list);
	buf_free(&file);
}

/* Whatever is cut off: an error or fewer sites, and those that are there are right. */
static void cut_at_every_byte(void **state)
{
	struct buf file = full_file();
	unsigned errors = 0;

	(void)state;
	for (size_t len = 0; len < file.len; len++) {
		char *copy = malloc(len + 1);
		struct diag d = DIAG_INIT;
		struct site_list list;

		/* The parts between the headers and the sections are empty: one cut there
		 * will do. */
		if (len > 0x200 && len < DATA_OFFSET + PART_SIZE - 16 && len % 512)
			goto next;
		memcpy(copy, file.ptr, len); /* on the heap, so that a sanitizer sees its end */
		errors += read_bytes(copy, len, &list, &d) != 0;
		for (size_t i = 0; i < list.count; i++)
			assert_text(list.sites[i].provider, "p");
		site_list_free(&list);
		diag_free(&d);
next:
		free(copy);
	}
	assert_true(errors > 100);
	buf_free(&file);
}

/* Each byte that means something, set to values that hurt: never a crash. */
static void every_byte_wrong(void **state)
{
	static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	struct buf file = full_file();

	(void)state;
	for (size_t at = 0; at < file.len; at++) {
		char old = file.ptr[at];

		if (at >= 64 + 3 * 56 && at < DATA_OFFSET + PART_SIZE)
			continue;
		for (size_t v = 0; v < sizeof(values); v++) {
			struct diag d = DIAG_INIT;
			struct site_list list;

			file.ptr[at] = (char)values[v];
			read_bytes(file.ptr, file.len, &list, &d);
			assert_true(list.count <= 2);
			site_list_free(&list);
			diag_free(&d);
		}
		file.ptr[at] = old;
	}
	buf_free(&file);
}

static void what_is_no_elf_file_is_said(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int err;
		const char *tag, *text;
	} cases[] = {
		{"", 0, -ENOEXEC, "not-elf", "error: 'made' is not an ELF file\n"},
		{"#!/bin/sh\n", 10, -ENOEXEC, "not-elf", "error: 'made' is not an ELF file\n"},
		{"\177ELF", 4, -EBADMSG, "corrupt-elf",
		 "error: 'made' is damaged: its header is truncated\n"},
		{"\177ELF\003\001\001\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
		 "\0\0"
		 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
		 64, -EBADMSG, "corrupt-elf",
		 "error: 'made' is damaged: its header has an unknown class or byte order\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct diag d = DIAG_INIT;
		struct site_list list;

		assert_int_equal(read_bytes(cases[i].bytes, cases[i].len, &list, &d), cases[i].err);
		assert_message(&d, cases[i].tag, cases[i].text);
	}
}

static void too_many_sections_are_refused(void **state)
{
	struct buf file = full_file();
	struct diag d = DIAG_INIT;
	struct site_list list;
	uint64_t table;

	(void)state;
	memcpy(&table, file.ptr + 40, 8);
	memset(file.ptr + 60, 0, 2); /* e_shnum 0: the count is in the first section header */
	memcpy(file.ptr + table + 32, &(uint64_t){1ull << 40}, 8);
	assert_int_equal(read_bytes(file.ptr, file.len, &list, &d), -EBADMSG);
	assert_message(&d, "corrupt-elf", "more than 65536 sections");
	buf_free(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_size_and_byte_order),
		cmocka_unit_test(prelink_moves_location_and_semaphore),
		cmocka_unit_test(nothing_moves_without_base),
		cmocka_unit_test(sites_that_cannot_be_attached_say_why),
		cmocka_unit_test(semaphores_lie_where_data_is),
		cmocka_unit_test(several_sections_of_notes_are_one_list),
		cmocka_unit_test(a_bad_note_spoils_only_itself),
		cmocka_unit_test(sizes_beyond_the_section_end_it),
		cmocka_unit_test(old_formats_are_recognised),
		cmocka_unit_test(object_files_are_refused),
		cmocka_unit_test(symbols_of_operands_become_numbers),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(every_byte_wrong),
		cmocka_unit_test(what_is_no_elf_file_is_said),
		cmocka_unit_test(too_many_sections_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
