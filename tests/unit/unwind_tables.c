/* The tables of a run: files once, mappings shared by processes, the memory that is given to them.
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "help/elf_builder.h"
#include "unwind/tables.h"

#define WORDS	   64
#define FILE_WORDS 8 /* of add_file() */
#define MAPPINGS   64

/* What the kernel would read. */
struct kernel {
	union unwind_word words[WORDS];
	struct unwind_rule rules[UNWIND_RULES_MOST];
	struct unwind_mapping mappings[MAPPINGS];
	struct unwind_memory memory;
	struct unwind_run runs[8]; /* by pid */
	unsigned files;
	struct unwind_file file; /* published last */
};

static void take_process(void *arg, pid_t pid, struct unwind_run run)
{
	((struct kernel *)arg)->runs[pid] = run;
}

static void take_file(void *arg, struct unwind_file_key key, const struct unwind_file *file)
{
	struct kernel *k = arg;

	assert_true(key.inode > 0);
	k->files++;
	k->file = *file;
}

static struct kernel *new_kernel(void)
{
	struct kernel *k = calloc(1, sizeof(*k));

	k->memory = (struct unwind_memory){k->words, k->rules, k->mappings, WORDS, MAPPINGS};
	return k;
}

#define NOTE_AT 0x400900

/* A file with a build-id, and two functions at CODE_AT: a chunk and its end, 4 rows and the ends.
 */
static void add_file(struct unwind_tables *u, uint32_t number)
{
	struct made_elf e = make_elf(8, false, EM_X86_64);
	struct buf *b = add_section(&e, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, NOTE_AT), file;
	struct image *image;

	put(&e, b, 4, 4);
	put(&e, b, 20, 4);
	put(&e, b, NT_GNU_BUILD_ID, 4);
	buf_add(b, "GNU", 4);
	put(&e, b, 0x1122334455667788, 8);
	buf_add(b, "and the rest", 12);
	b = add_section(&e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x400800);

	put(&e, b, 20, 4);
	put(&e, b, 0, 4);
	buf_add(b, "\1zR\0\1\x78\x10\1\0\x0c\7\x08\x90\1\0\0", 16);
	for (unsigned i = 0; i < 2; i++) {
		put(&e, b, 28, 4);
		put(&e, b, b->len, 4);
		put(&e, b, CODE_AT + 0x100 * i, 8);
		put(&e, b, 0x20, 8);
		buf_add(b, "\0\x44\x0e\x18\0\0\0\0", 8);
	}
	file = finish_elf(&e);
	assert_int_equal(image_open_memory(file.ptr, file.len, STR("made"), &image, NULL), 0);
	assert_int_equal(unwind_tables_add(u, number, (struct unwind_file_key){number, 7},
					   &(struct unwind_source){.image = image}),
			 0);
	image_close(image);
	buf_free(&file);
}

/* A process that maps a file's code at an address, and something without a file before it. */
static int see_made(struct unwind_tables *u, pid_t pid, uint32_t file, uint64_t at, bool unframed)
{
	struct unwind_code code[] = {
		{at, at + PART_SIZE, CODE_OFFSET, file},
		{at - 0x10000, at - 0xf000, 0, 0},
	};

	return unwind_tables_process(u, pid, code, 2, unframed);
}

static int see(struct unwind_tables *u, pid_t pid, uint32_t file, uint64_t at)
{
	return see_made(u, pid, file, at, false);
}

static const struct unwind_mapping *mapping(const struct kernel *k, pid_t pid, unsigned i)
{
	assert_true(i < k->runs[pid].count);
	return &k->mappings[k->runs[pid].first + i];
}

static int move(struct unwind_tables *u, struct kernel *k)
{
	return unwind_tables_move(u, &k->memory,
				  &(struct unwind_publisher){k, take_process, take_file});
}

static void files_are_kept_once_and_runs_are_shared(void **state)
{
	struct kernel *k = new_kernel();
	struct unwind_tables *u;
	const struct unwind_mapping *m;

	(void)state;
	assert_int_equal(unwind_tables_new(&u), 0);
	assert_false(unwind_tables_has(u, 3));
	add_file(u, 3);
	assert_true(unwind_tables_has(u, 3));
	assert_false(unwind_tables_has(u, 2));
	assert_int_equal(unwind_tables_words(u), FILE_WORDS);
	assert_int_equal(see(u, 1, 3, 0x7f0000010000), 0);
	assert_int_equal(see(u, 2, 3, 0x7f0000010000), 0);
	assert_int_equal(see(u, 4, 3, 0x7f0000020000), 0);
	assert_int_equal(move(u, k), 0);
	assert_int_equal(k->files, 1);
	assert_int_equal(k->runs[1].first, k->runs[2].first);
	assert_int_not_equal(k->runs[1].first, k->runs[4].first);
	/* By address: code without a file comes first. */
	m = mapping(k, 1, 0);
	assert_int_equal(m->first, UNWIND_NO_FILE);
	assert_int_equal(m->frame, 0);
	m = mapping(k, 1, 1);
	assert_int_equal(m->start, 0x7f0000010000);
	assert_int_equal(m->count, 1);
	assert_int_equal(k->words[m->first].before, m->first + 2);
	assert_int_equal(k->words[m->first + 1].before, m->first + 7);
	assert_int_equal(k->words[m->first + 7].row.rule, UNWIND_RULE_NONE);
	assert_int_equal(m->start - m->base, 0); /* the first row is of the first byte of code */
	assert_int_equal(UNWIND_FRAME_NUMBER(m->start + 5 + m->frame), 3);
	assert_int_equal(UNWIND_FRAME_OFFSET(m->start + 5 + m->frame), CODE_OFFSET + 5);
	/* The kernel computes the same from the file. */
	assert_int_equal(m->start - CODE_OFFSET + k->file.base, m->base);
	assert_int_equal(k->file.frame - (m->start - CODE_OFFSET), m->frame);
	/* Where the file's build-id is in the process, and what of it. */
	assert_int_equal(m->proof_at, m->start + (NOTE_AT - CODE_AT) + 16);
	assert_int_equal(m->proof, 0x1122334455667788);
	assert_int_equal(m->start - CODE_OFFSET + k->file.proof_at, m->proof_at);
	assert_int_equal(k->file.proof, m->proof);
	unwind_tables_fork(u, 4, 5);
	assert_int_equal(k->runs[5].first, k->runs[4].first);
	unwind_tables_end(u, 4);
	assert_int_equal(k->runs[4].count, 0);
	assert_false(unwind_tables_knows(u, 4));
	assert_true(unwind_tables_knows(u, 5));
	unwind_tables_free(u);
	free(k);
}

/* The kernel looks up what such a process maps later by its run. */
static void code_without_frame_pointers_is_marked(void **state)
{
	struct kernel *k = new_kernel();
	struct unwind_tables *u;

	(void)state;
	assert_int_equal(unwind_tables_new(&u), 0);
	add_file(u, 3);
	assert_int_equal(see(u, 1, 3, 0x7f0000010000), 0);
	assert_int_equal(see_made(u, 2, 3, 0x7f0000010000, true), 0);
	assert_int_equal(move(u, k), 0);
	assert_int_equal(k->runs[1].count, 2);
	assert_int_equal(k->runs[2].count, 2 | UNWIND_RUN_UNFRAMED);
	assert_int_equal(mapping(k, 1, 0)->first, UNWIND_NO_FILE);
	assert_int_equal(mapping(k, 2, 0)->first, UNWIND_CODE_UNFRAMED);
	assert_int_equal(mapping(k, 2, 1)->count, 1);
	/* Its flag was read in the meantime. */
	assert_int_equal(see(u, 2, 3, 0x7f0000010000), 0);
	assert_int_equal(k->runs[2].count, 2);
	assert_int_equal(k->runs[2].first, k->runs[1].first);
	unwind_tables_free(u);
	free(k);
}

static void what_finds_no_room_is_left_out(void **state)
{
	struct kernel *k = new_kernel();
	struct unwind_tables *u;
	int err = 0;

	(void)state;
	assert_int_equal(unwind_tables_new(&u), 0);
	add_file(u, 1);
	assert_int_equal(move(u, k), 0);
	for (uint32_t i = 2; i <= WORDS / FILE_WORDS + 1; i++)
		add_file(u, i);
	assert_int_equal(see(u, 1, WORDS / FILE_WORDS, 0x10000000), 0);
	assert_int_equal(mapping(k, 1, 1)->count, 1);
	assert_int_equal(see(u, 1, WORDS / FILE_WORDS + 1, 0x10000000), 0);
	assert_int_equal(mapping(k, 1, 1)->count, 0);
	assert_int_equal(mapping(k, 1, 1)->first, UNWIND_FILE_NO_ROOM);
	/* Runs that were left are not used again at once: a walk may still read them. */
	for (uint64_t at = 1; at < 20 && !err; at++)
		err = see(u, 2, 1, 0x20000000 + at * 0x10000);
	assert_int_equal(err, -E2BIG);
	assert_int_equal(k->runs[2].count, 0);
	assert_int_equal(k->runs[1].count, 2);
	unwind_tables_leave(u);
	assert_int_equal(see(u, 3, 1, 0x1000000), 0);
	assert_int_equal(k->runs[3].count, 0);
	unwind_tables_free(u);
	free(k);
}

static void too_little_memory_is_refused(void **state)
{
	struct kernel *k = new_kernel();
	struct unwind_tables *u;

	(void)state;
	assert_int_equal(unwind_tables_new(&u), 0);
	add_file(u, 1);
	k->memory.word_cap = FILE_WORDS - 1;
	assert_int_equal(move(u, k), -E2BIG);
	k->memory.word_cap = FILE_WORDS;
	assert_int_equal(move(u, k), 0);
	assert_int_equal(move(u, k), -E2BIG); /* a second time */
	unwind_tables_free(u);
	unwind_tables_free(NULL);
	free(k);
}

static void files_without_rows_say_why(void **state)
{
	struct kernel *k = new_kernel();
	struct unwind_tables *u;

	(void)state;
	assert_int_equal(unwind_tables_new(&u), 0);
	assert_int_equal(unwind_tables_add(u, 1, (struct unwind_file_key){1, 1},
					   &(struct unwind_source){.image = NULL}),
			 0);
	assert_int_equal(unwind_tables_add_code(u, 2), 0);
	assert_int_equal(see(u, 1, 1, 0x10000000), 0);
	assert_int_equal(see(u, 2, 2, 0x10000000), 0);
	assert_int_equal(move(u, k), 0);
	assert_int_equal(mapping(k, 1, 1)->first, UNWIND_FILE_CLOSED);
	assert_int_equal(UNWIND_FRAME_NUMBER(0x10000000 + mapping(k, 1, 1)->frame), 1);
	assert_int_equal(mapping(k, 2, 1)->first, UNWIND_NO_FILE);
	assert_int_equal(mapping(k, 2, 1)->frame, 0);
	unwind_tables_free(u);
	free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_kept_once_and_runs_are_shared),
		cmocka_unit_test(code_without_frame_pointers_is_marked),
		cmocka_unit_test(what_finds_no_room_is_left_out),
		cmocka_unit_test(too_little_memory_is_refused),
		cmocka_unit_test(files_without_rows_say_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
