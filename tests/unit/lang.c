/* Language runtimes: walks and names in memory that is made here: lists with loops, tables of
 * lines, texts. Real interpreters are in tests/cli/lang.bats. */
#include "help/check.h"

#include <errno.h>

#include "lang/inside.h"

#define BASE 0x10000u
#define SIZE 0x8000u

struct fake {
	char bytes[SIZE];
};

static bool read_fake(void *self, uint64_t address, void *to, size_t len)
{
	const struct fake *f = self;

	if (address < BASE || address - BASE > SIZE || SIZE - (address - BASE) < len)
		return false;
	memcpy(to, f->bytes + (address - BASE), len);
	return true;
}

static void put(struct fake *f, uint64_t at, uint64_t value, size_t size)
{
	memcpy(f->bytes + (at - BASE), &value, size);
}

static void put_bytes(struct fake *f, uint64_t at, const void *bytes, size_t len)
{
	memcpy(f->bytes + (at - BASE), bytes, len);
}

static struct fake fake;

static struct lang_memory memory(void)
{
	memset(&fake, 0, sizeof(fake));
	return (struct lang_memory){&fake, read_fake};
}

static struct lang_runtime runtime(enum lang_kind kind, unsigned major, unsigned minor)
{
	return (struct lang_runtime){.kind = kind,
				     .major = major,
				     .minor = minor,
				     .has_version = true,
				     .layout = layout_find(kind, major, minor),
				     .root = BASE};
}

static void an_unknown_version_has_no_layout(void **state)
{
	(void)state;
	assert_null(layout_find(LANG_PYTHON, 3, 8));
	assert_null(layout_find(LANG_PYTHON, 3, 99));
	assert_null(layout_find(LANG_PHP, 9, 0));
	assert_null(layout_find(LANG_NODE, 20, 0));
}

/* Asserts in it hold for every version: what is copied fits. */
static void every_version_can_be_given_to_the_kernel(void **state)
{
	unsigned count = 0;

	(void)state;
	for (unsigned kind = LANG_PYTHON; kind < LANG_KINDS; kind++)
		for (unsigned minor = 0; minor < 64; minor++)
			for (unsigned major = 2; major < 9; major++) {
				struct lang_runtime r = {
					.kind = (enum lang_kind)kind,
					.layout = layout_find((enum lang_kind)kind, major, minor)};
				struct lang_target t;

				if (!r.layout)
					continue;
				assert_int_equal(lang_target(&r, 0, &t), 0);
				assert_true(t.bytes <= LANG_BYTES);
				assert_true(t.shape.size <= LANG_FRAME_MOST);
				count++;
			}
#ifdef __x86_64__
	assert_true(count > 20);
#endif
}

#ifdef __x86_64__

/* ---- frames */

#define FIRST (BASE + 0x1000)

/* PHP: globals -> frames of 56 bytes, each with its function, statement and caller. */
static void put_frame(struct fake *f, uint64_t at, uint64_t function, uint64_t line_at,
		      uint64_t next)
{
	put(f, at, line_at, 8);
	put(f, at + 24, function, 8);
	put(f, at + 48, next, 8);
}

static void frames_are_read_to_the_root(void **state)
{
	struct lang_runtime r = runtime(LANG_PHP, 8, 2);
	struct lang_memory m = memory();
	struct lang_frame frames[8];
	size_t count;

	(void)state;
	put(&fake, BASE + 488, FIRST, 8);
	put_frame(&fake, FIRST, 0x111, BASE + 0x2000, FIRST + 0x100);
	put_frame(&fake, FIRST + 0x100, 0, 0, FIRST + 0x200); /* of no function */
	put_frame(&fake, FIRST + 0x200, 0x222, BASE + 0x2100, 0);
	put(&fake, BASE + 0x2000 + 24, 7, 4);
	put(&fake, BASE + 0x2100 + 24, 9, 4);
	assert_int_equal(lang_walk(&r, &m, 0, frames, 8, &count), LANG_ROOT);
	assert_int_equal(count, 2);
	assert_int_equal(frames[0].object, 0x111);
	assert_int_equal(frames[0].position, 7);
	assert_int_equal(frames[1].object, 0x222);
	assert_int_equal(frames[1].position, 9);
	assert_int_equal(lang_walk(&r, &m, 0, frames, 1, &count), LANG_LIMIT);
	assert_int_equal(count, 1);
}

/* PHP says it of a frame; Python 3.12 by one that is skipped after it. */
static void frames_by_which_the_interpreter_was_entered_are_marked(void **state)
{
	struct lang_runtime php = runtime(LANG_PHP, 8, 2), python = runtime(LANG_PYTHON, 3, 12);
	struct lang_memory m = memory();
	struct lang_frame frames[8];
	struct lang_walking w = {.shape = lang_shape_of(&php),
				 .root = BASE,
				 .memory = &m,
				 .marks = true,
				 .frames = frames,
				 .most = 8};
	const uint64_t thread = BASE + 0x3000, cframe = BASE + 0x3100;

	(void)state;
	put(&fake, BASE + 488, FIRST, 8);
	put_frame(&fake, FIRST, 0x111, 0, FIRST + 0x100);
	put_frame(&fake, FIRST + 0x100, 0x222, 0, 0);
	put(&fake, FIRST + 0x100 + 40, 1 << 17, 4);
	assert_int_equal(lang_walk_thread(&w), LANG_ROOT);
	assert_int_equal(w.count, 2);
	assert_int_equal(frames[0].object, 0x111);
	assert_int_equal(frames[1].object, 0x222 | LANG_ENTRY);

	memory();
	w.shape = lang_shape_of(&python);
	w.thread_pointer = 5;
	put(&fake, BASE + 40, FIRST, 8);
	put(&fake, FIRST + 72, thread, 8);
	put(&fake, thread + 136, 5, 8);
	put(&fake, thread + 56, cframe, 8);
	put(&fake, cframe, BASE + 0x3200, 8);
	put(&fake, BASE + 0x3200, 0x111, 8); /* a frame, then one of C's own */
	put(&fake, BASE + 0x3208, BASE + 0x3300, 8);
	put(&fake, BASE + 0x3300, 0x222, 8);
	put(&fake, BASE + 0x3300 + 70, 3, 1);
	assert_int_equal(lang_walk_thread(&w), LANG_ROOT);
	assert_int_equal(w.count, 1);
	assert_int_equal(frames[0].object, 0x111 | LANG_ENTRY);
	w.marks = false;
	assert_int_equal(lang_walk_thread(&w), LANG_ROOT);
	assert_int_equal(frames[0].object, 0x111);
}

/* Ruby says it of a frame in its environment; not of frames of C. */
static void ruby_says_in_its_environment_by_what_it_was_entered(void **state)
{
	struct lang_runtime r = runtime(LANG_RUBY, 2, 7);
	struct lang_memory m = memory();
	struct lang_frame frames[8];
	struct lang_walking w = {.shape = lang_shape_of(&r),
				 .root = BASE,
				 .thread_pointer = 5,
				 .memory = &m,
				 .marks = true,
				 .frames = frames,
				 .most = 8};
	static const uint32_t flags[] = {0x11110001, 0x22220021, 0x11110061, 0x799900a1};
	const uint64_t ring = FIRST + 312, thread = BASE + 0x2000, context = BASE + 0x3000;
	const uint64_t stack = BASE + 0x4000;

	(void)state;
	put(&fake, BASE, FIRST, 8);
	put(&fake, ring, thread, 8);
	put(&fake, thread, ring, 8);
	put(&fake, thread + 72, 5, 8);
	put(&fake, thread + 32, context, 8);
	put(&fake, context, stack, 8);
	put(&fake, context + 8, 4 * 56 / 8, 8);
	put(&fake, context + 16, stack, 8);
	for (unsigned i = 0; i < 4; i++) {
		put(&fake, stack + i * 56 + 16, 0x111 + i, 8);
		put(&fake, stack + i * 56 + 32, BASE + 0x5000 + i * 8, 8);
		put(&fake, BASE + 0x5000 + i * 8, flags[i], 4);
	}
	assert_int_equal(lang_walk_thread(&w), LANG_ROOT);
	assert_int_equal(w.count, 4);
	assert_int_equal(frames[0].object, 0x111);
	assert_int_equal(frames[1].object, 0x112 | LANG_ENTRY);
	assert_int_equal(frames[2].object, 0x113 | LANG_ENTRY);
	assert_int_equal(frames[3].object, 0x114);
}

#define PERL_STATEMENT 0x777

/* A stack of Perl's blocks, each { type, address of a sub, where it returns to }. */
static void put_blocks(uint64_t stack, uint32_t use, uint64_t below, const uint64_t (*blocks)[3],
		       uint32_t count)
{
	put(&fake, stack + 8, stack + 0x100, 8);
	put(&fake, stack + 16, below, 8);
	put(&fake, stack + 32, count - 1, 4);
	put(&fake, stack + 40, use, 4);
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t at = stack + 0x100 + i * 96;

		put(&fake, at, blocks[i][0], 1);
		put(&fake, at + 16, PERL_STATEMENT, 8);
		put(&fake, at + 48, blocks[i][2], 8);
		put(&fake, at + 64, blocks[i][1], 8);
	}
}

/* Perl's stack as text: a letter for each sub, '!' after those by which the interpreter was
 * entered, '+' for a part of the next, 'M' for the program. `use`: of the innermost stack. */
static const char *perl_marks(uint32_t use, const uint64_t (*blocks)[3], uint32_t count)
{
	struct lang_runtime r = runtime(LANG_PERL, 5, 30);
	const uint64_t thread = BASE + 0x2000, interpreter = BASE + 0x3000;
	static const uint64_t outer[][3] = {{LANG_BLOCK_SUB, 'z', 1}};
	static char text[64];
	struct lang_memory m = memory();
	struct lang_frame frames[16];
	struct lang_walking w = {.shape = lang_shape_of(&r),
				 .root = BASE,
				 .thread_pointer = thread,
				 .memory = &m,
				 .marks = true,
				 .frames = frames,
				 .most = 16};
	size_t len = 0;

	put(&fake, BASE, 3, 4);
	put(&fake, thread + 0x310 + 3 * 16 + 8, interpreter, 8);
	put(&fake, interpreter + 224, PERL_STATEMENT, 8);
	put(&fake, interpreter + 240, BASE + 0x4000, 8);
	put_blocks(BASE + 0x4000, use, BASE + 0x5000, blocks, count);
	put_blocks(BASE + 0x5000, 1, 0, outer, 1);
	assert_int_equal(lang_walk_thread(&w), LANG_ROOT);
	for (size_t i = 0; i < w.count; i++) {
		uint64_t object = LANG_ADDRESS(frames[i].object);

		text[len++] = !object ? '+' : object == LANG_MAIN ? 'M' : (char)object;
		if (frames[i].object & LANG_ENTRY)
			text[len++] = '!';
	}
	text[len] = '\0';
	return text;
}

static void perl_was_entered_by_what_returns_to_no_statement(void **state)
{
	enum { SUB = LANG_BLOCK_SUB, EVAL = LANG_BLOCK_EVAL, LOOP = 5 };
	static const uint64_t calls[][3] = {{SUB, 'a', 0}, {LOOP, 0, 0}, {SUB, 'b', 1}};
	static const uint64_t caught[][3] = {{EVAL | LANG_BLOCK_TRY, 0, 0}, {SUB, 'a', 0}};
	static const uint64_t text[][3] = {{EVAL, 0, 0}, {SUB, 'a', 1}};
	static const uint64_t sort[][3] = {{LANG_BLOCK_NULL, 0, 0}, {SUB, 'a', 1}};
	static const uint64_t last[][3] = {{LANG_BLOCK_NULL, 0, 0}, {SUB, 'a', 0}};
	static const uint64_t code[][3] = {{SUB | LANG_BLOCK_CODE, 'r', 0}, {SUB, 'a', 0}};
	static const uint64_t fake_sub[][3] = {{SUB | LANG_BLOCK_CODE | LANG_BLOCK_FAKE, 'r', 0},
					       {SUB, 'a', 1}};
	static const uint64_t defer[][3] = {{SUB, 'a', 1}, {LANG_BLOCK_DEFER, 0, 0}, {SUB, 'b', 1}};

	(void)state;
	assert_string_equal(perl_marks(2, calls, 3), "ba!zM!");
	assert_string_equal(perl_marks(2, caught, 2), "a!zM!");
	assert_string_equal(perl_marks(2, text, 2), "a+zM!");
	assert_string_equal(perl_marks(LANG_BLOCK_SORT, sort, 2), "a+zM!");
	assert_string_equal(perl_marks(2, sort, 2), "azM!");
	assert_string_equal(perl_marks(LANG_BLOCK_SORT, last, 2), "a!zM!");
	assert_string_equal(perl_marks(10, code, 2), "a!rzM!");
	assert_string_equal(perl_marks(10, fake_sub, 2), "a+zM!");
	assert_string_equal(perl_marks(2, defer, 3), "b+azM!");
}

static void a_loop_of_frames_ends(void **state)
{
	struct lang_runtime r = runtime(LANG_PHP, 8, 2);
	struct lang_memory m = memory();
	struct lang_frame frames[8];
	size_t count;

	(void)state;
	put(&fake, BASE + 488, FIRST, 8);
	put_frame(&fake, FIRST, 0, 0, FIRST);
	assert_int_equal(lang_walk(&r, &m, 0, frames, 8, &count), LANG_UNREADABLE);
	assert_int_equal(count, 0);
	put_frame(&fake, FIRST, 0x111, 0, FIRST);
	assert_int_equal(lang_walk(&r, &m, 0, frames, 8, &count), LANG_LIMIT);
	put_frame(&fake, FIRST, 0x111, 0, 1);
	assert_int_equal(lang_walk(&r, &m, 0, frames, 8, &count), LANG_UNREADABLE);
	assert_int_equal(count, 1);
}

static void a_loop_of_threads_ends(void **state)
{
	struct lang_runtime r = runtime(LANG_PYTHON, 3, 11);
	struct lang_memory m = memory();
	struct lang_frame frames[8];
	size_t count;

	(void)state;
	assert_int_equal(lang_walk(&r, &m, 5, frames, 8, &count), LANG_NO_THREAD);
	put(&fake, BASE + 40, FIRST, 8);
	put(&fake, FIRST, FIRST, 8); /* an interpreter that is its own next */
	assert_int_equal(lang_walk(&r, &m, 5, frames, 8, &count), LANG_UNREADABLE);
	put(&fake, FIRST + 16, FIRST + 0x100, 8);
	put(&fake, FIRST + 0x100 + 8, FIRST + 0x100, 8); /* and such a thread */
	assert_int_equal(lang_walk(&r, &m, 5, frames, 8, &count), LANG_UNREADABLE);
}

/* Ruby 2.7: one virtual machine, whose list of threads ends where it begins; a thread has the
 * address of what it runs. */
static void a_ring_of_threads_ends(void **state)
{
	struct lang_runtime r = runtime(LANG_RUBY, 2, 7);
	const uint64_t ring = FIRST + 312, one = BASE + 0x2000, other = BASE + 0x2100;
	struct lang_memory m = memory();
	struct lang_frame frames[8];
	size_t count;

	(void)state;
	put(&fake, BASE, FIRST, 8);
	put(&fake, ring, one, 8);
	put(&fake, one, other, 8);
	put(&fake, one + 72, 4, 8);
	put(&fake, other, ring, 8);
	put(&fake, other + 72, 5, 8);
	put(&fake, other + 32, BASE + 0x3000, 8);
	put(&fake, BASE + 0x3000, BASE + 0x4000, 8); /* its stack, and one frame at the end of it */
	put(&fake, BASE + 0x3008, 56 / 8, 8);
	put(&fake, BASE + 0x3010, BASE + 0x4000, 8);
	put(&fake, BASE + 0x4010, 0x111, 8);
	assert_int_equal(lang_walk(&r, &m, 5, frames, 8, &count), LANG_ROOT);
	assert_int_equal(count, 1);
	assert_int_equal(frames[0].object, 0x111);
	assert_int_equal(lang_walk(&r, &m, 6, frames, 8, &count), LANG_NO_THREAD);
	put(&fake, ring, ring, 8); /* none at all */
	assert_int_equal(lang_walk(&r, &m, 5, frames, 8, &count), LANG_NO_THREAD);
}

/* Perl before 5.36: the thread's value of a key, with glibc. */
static void a_key_leads_to_the_state(void **state)
{
	struct lang_runtime r = runtime(LANG_PERL, 5, 30);
	const uint64_t thread = BASE + 0x2000, interpreter = BASE + 0x3000;
	struct lang_memory m = memory();
	struct lang_frame frames[8];
	size_t count;

	(void)state;
	put(&fake, BASE, 3, 4);
	assert_int_equal(lang_walk(&r, &m, thread, frames, 8, &count), LANG_NO_THREAD);
	put(&fake, thread + 0x310 + 3 * 16 + 8, interpreter, 8);
	put(&fake, interpreter + 224, 0x777, 8); /* a statement of no sub */
	assert_int_equal(lang_walk(&r, &m, thread, frames, 8, &count), LANG_ROOT);
	assert_int_equal(count, 1);
	assert_int_equal(frames[0].object, LANG_MAIN);
	assert_int_equal(frames[0].position, 0x777);
	put(&fake, BASE, 32, 4); /* values of later keys lie elsewhere */
	assert_int_equal(lang_walk(&r, &m, thread, frames, 8, &count), LANG_UNREADABLE);
}

/* ---- names and lines of Python */

#define CODE	  (BASE + 0x1000)
#define NAME	  (BASE + 0x1400)
#define FILE_NAME (BASE + 0x1600)
#define TABLE	  (BASE + 0x1800)

static void put_ascii(struct fake *f, uint64_t at, const char *text)
{
	put(f, at + 16, strlen(text), 8);
	put(f, at + 32, 1u << 2 | 1u << 5 | 1u << 6, 4);
	put_bytes(f, at + 48, text, strlen(text));
}

static void put_code(struct fake *f, const struct python_code *p, uint32_t line, const void *table,
		     size_t len)
{
	put(f, CODE + (p->qualname == LANG_NOTHING ? p->name : p->qualname), NAME, 8);
	put(f, CODE + p->filename, FILE_NAME, 8);
	put(f, CODE + p->first_line, line, 4);
	put(f, CODE + p->lines, TABLE, 8);
	put(f, TABLE + 16, len, 8);
	put_bytes(f, TABLE + 32, table, len);
	put_ascii(f, NAME, "work");
	put_ascii(f, FILE_NAME, "/srv/app.py");
}

static uint64_t line_at(unsigned minor, uint64_t position, const void *table, size_t len)
{
	struct lang_runtime r = runtime(LANG_PYTHON, 3, minor);
	struct lang_memory m = memory();
	struct lang_name name = {0};
	uint64_t line;

	put_code(&fake, &r.layout->python, 10, table, len);
	assert_int_equal(lang_name(&r, &m, (struct lang_frame){CODE, position}, &name), 0);
	assert_string_equal(name.function.ptr, "work");
	assert_string_equal(name.file.ptr, "/srv/app.py");
	line = name.line;
	lang_name_free(&name);
	return line;
}

static void lines_of_pairs(void **state)
{
	static const unsigned char table[] = {0, 1, 4, 2, 4, 0xff, 6, 1};

	(void)state;
	assert_int_equal(line_at(9, (uint64_t)-1, table, sizeof(table)), 10); /* not begun */
	assert_int_equal(line_at(9, 0, table, sizeof(table)), 11);
	assert_int_equal(line_at(9, 4, table, sizeof(table)), 13);
	assert_int_equal(line_at(9, 8, table, sizeof(table)), 12);
	assert_int_equal(line_at(9, 99, table, sizeof(table)), 13);
}

static void lines_of_signed_pairs(void **state)
{
	static const unsigned char table[] = {4, 1, 4, 0x80, 4, 3};

	(void)state;
	assert_int_equal(line_at(10, 0, table, sizeof(table)), 11);
	assert_int_equal(line_at(10, 2, table, sizeof(table)), 0); /* bytes 4 and 5: of no line */
	assert_int_equal(line_at(10, 4, table, sizeof(table)), 14);
	assert_int_equal(line_at(10, 6, table, sizeof(table)), 0); /* after its end */
}

static void lines_of_locations(void **state)
{
	static const unsigned char table[] = {
		0x80 | 11 << 3 | 1, 0,	  0,	      /* two units, one line on */
		0x80 | 2 << 3 | 0,  0,		      /* one unit, the same line */
		0x80 | 13 << 3 | 0, 5,		      /* one unit, two lines back */
		0x80 | 14 << 3 | 0, 0x48, 1, 0, 0, 0, /* one unit, 36 lines on */
		0x80 | 15 << 3 | 0,		      /* one unit, of no line */
	};
	const unsigned start = 184;

	(void)state;
	assert_int_equal(line_at(11, 0, table, sizeof(table)), 10);
	assert_int_equal(line_at(11, start, table, sizeof(table)), 11);
	assert_int_equal(line_at(11, start + 4, table, sizeof(table)), 11);
	assert_int_equal(line_at(11, start + 6, table, sizeof(table)), 9);
	assert_int_equal(line_at(11, start + 8, table, sizeof(table)), 45);
	assert_int_equal(line_at(11, start + 10, table, sizeof(table)), 0);
}

static void a_table_that_ends_too_early_has_no_line(void **state)
{
	static const unsigned char table[] = {0x80 | 14 << 3 | 7, 0x40};

	(void)state;
	assert_int_equal(line_at(11, 184, table, sizeof(table)), 0);
	assert_int_equal(line_at(11, 184, table, 0), 0);
}

static void what_is_no_text_is_no_name(void **state)
{
	struct lang_runtime r = runtime(LANG_PYTHON, 3, 11);
	struct lang_memory m = memory();
	struct lang_name name = {0};
	struct buf line = BUF_INIT;

	(void)state;
	put_code(&fake, &r.layout->python, 10, "", 0);
	put(&fake, NAME + 16, UINT64_MAX, 8);
	assert_int_equal(lang_name(&r, &m, (struct lang_frame){CODE, 0}, &name), -EFAULT);
	put(&fake, NAME + 16, 4, 8);
	put(&fake, NAME + 32, 3u << 2 | 1u << 5, 4); /* characters of three bytes */
	assert_int_equal(lang_name(&r, &m, (struct lang_frame){CODE, 0}, &name), -EFAULT);
	lang_print_name(&name, true, &line);
	assert_string_equal(line.ptr, "(unreadable)");
	r.code_type = 1; /* the object is something else than code */
	assert_int_equal(lang_name(&r, &m, (struct lang_frame){CODE, 0}, &name), 0);
	assert_true(name.is_hidden);
	buf_free(&line);
	lang_name_free(&name);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unknown_version_has_no_layout),
		cmocka_unit_test(every_version_can_be_given_to_the_kernel),
#ifdef __x86_64__
		cmocka_unit_test(frames_are_read_to_the_root),
		cmocka_unit_test(frames_by_which_the_interpreter_was_entered_are_marked),
		cmocka_unit_test(ruby_says_in_its_environment_by_what_it_was_entered),
		cmocka_unit_test(perl_was_entered_by_what_returns_to_no_statement),
		cmocka_unit_test(a_loop_of_frames_ends),
		cmocka_unit_test(a_loop_of_threads_ends),
		cmocka_unit_test(a_ring_of_threads_ends),
		cmocka_unit_test(a_key_leads_to_the_state),
		cmocka_unit_test(lines_of_pairs),
		cmocka_unit_test(lines_of_signed_pairs),
		cmocka_unit_test(lines_of_locations),
		cmocka_unit_test(a_table_that_ends_too_early_has_no_line),
		cmocka_unit_test(what_is_no_text_is_no_name),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
