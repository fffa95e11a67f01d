/* Where interpreters keep what a walk reads, one row a version. x86-64; from the headers that each
 * version's own developers use, and checked on running interpreters:
 * Python 3.9.18, 3.10.13, 3.11.2, 3.11.7, 3.12.1 and 3.13.0, PHP 8.2, Ruby 3.1.2, Perl 5.36. The
 * other rows of PHP differ from 8.2 by one offset, which is from its source. */
#include "lang/inside.h"

#define NO LANG_NOTHING

/* clang-format off */

/*                      runtime: interpreters, of one: next, first thread; of a thread: next, pthread_self();
 *                                              -> frame:       frame: size, code, position, next, bytes  skip */
#define PY_SHAPE(head, inext, ithread, tnext, tself, to, again, bytes, code, at, back, wide, relative, owner, shim, first) \
	{.start = LANG_START_PYTHON, .shape = LANG_LINKED, .interpreters = (head), .next_interpreter = (inext),     \
	 .first_thread = (ithread), .next_thread = (tnext), .thread_pointer = (tself), .top = (to),                 \
	 .top_again = (again), .size = (bytes), .object = (code), .position = (at), .next = (back),                 \
	 .position_size = (wide), .is_relative = (relative), .line = NO, .skip_at = (owner), .skip = (shim), .check = (first)}

#define PHP_SHAPE(file)                                                                                                \
	{.start = LANG_START_ROOT, .shape = LANG_LINKED, .top = 488, .top_again = NO, .size = 56, .object = 24,         \
	 .position = 0, .next = 48, .position_size = 8, .line = 24, .check = (file) + 8}

#define RUBY_SHAPE(bytes)                                                                                             \
	{.start = LANG_START_TLS, .shape = LANG_ARRAY, .top = 16, .top_again = NO, .base = 0, .words = 8,               \
	 .size = (bytes), .object = 16, .position = 0, .position_size = 8, .line = NO, .check = 16}

#define PERL_SHAPE                                                                                                    \
	{.start = LANG_START_TLS, .shape = LANG_BLOCKS, .top = 208, .top_again = NO, .base = 224, .words = 8,           \
	 .last = 32, .type = 0, .size = 104, .object = 72, .position = 16, .next = 16, .line = NO, .check = NO,         \
	 .is_pair = true}

static const struct lang_layout layouts[] = {
	{LANG_PYTHON, 3, 9,  PY_SHAPE(32,  0,    8,    8, 176, 24, NO, 112, 32, 104, 24, 4, false, 0,  0, 40),
	 .python = {104, 112, NO,  40, 120, 0,   48, 72, 1, LINES_PAIRS}},
	{LANG_PYTHON, 3, 10, PY_SHAPE(32,  0,    8,    8, 176, 24, NO, 104, 32, 96,  24, 4, false, 0,  0, 40),
	 .python = {104, 112, NO,  40, 120, 0,   48, 72, 1, LINES_SIGNED}},
	{LANG_PYTHON, 3, 11, PY_SHAPE(40,  0,    16,   8, 152, 56, 8,  72,  32, 56,  48, 8, true,  0,  0, 72),
	 .python = {112, 120, 128, 72, 136, 184, 48, 72, 2, LINES_LOCATIONS}},
	{LANG_PYTHON, 3, 12, PY_SHAPE(40,  0,    72,   8, 136, 56, 0,  72,  0,  56,  8,  8, true,  70, 3, 68),
	 .python = {112, 120, 128, 68, 136, 192, 40, 56, 2, LINES_LOCATIONS}},
	{LANG_PYTHON, 3, 13, PY_SHAPE(632, 7264, 7344, 8, 152, 72, NO, 72,  0,  56,  8,  8, true,  70, 3, 68),
	 .python = {112, 120, 128, 68, 136, 200, 40, 56, 2, LINES_LOCATIONS}},

	{LANG_PHP, 7, 4, PHP_SHAPE(136), .php = {136}},
	{LANG_PHP, 8, 0, PHP_SHAPE(144), .php = {144}},
	{LANG_PHP, 8, 1, PHP_SHAPE(144), .php = {144}},
	{LANG_PHP, 8, 2, PHP_SHAPE(152), .php = {152}},
	{LANG_PHP, 8, 3, PHP_SHAPE(144), .php = {144}},
	{LANG_PHP, 8, 4, PHP_SHAPE(168), .php = {168}},

	{LANG_RUBY, 3, 1, RUBY_SHAPE(64), .ruby = {16, 8, 64, 120, 136, 144, 12}},

	{LANG_PERL, 5, 36, PERL_SHAPE, .perl = {36, 48, 92, 56, 32, 32, 56, 40, 32}},
};
/* clang-format on */

const struct lang_layout *layout_find(enum lang_kind kind, unsigned major, unsigned minor)
{
#ifdef __x86_64__
	for (size_t i = 0; i < COUNT(layouts); i++)
		if (layouts[i].kind == kind && layouts[i].major == major &&
		    layouts[i].minor == minor)
			return &layouts[i];
#else
	(void)kind, (void)major, (void)minor;
	(void)layouts;
#endif
	return NULL;
}
