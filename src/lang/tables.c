/* Where interpreters keep what a walk reads, one row a version. x86-64; from the headers that each
 * version's own developers use, and each checked on running interpreters: doc/stacks.md has which.
 */
#include "lang/inside.h"

#define NO	   LANG_NOTHING
#define IN_EACH	   LANG_ENTRY_EACH
#define IN_BITS	   LANG_ENTRY_BITS
#define IN_SKIPPED LANG_ENTRY_SKIPPED

/* Flags of a frame in vm_core.h: the evaluator returns after it; it is of C */
#define RUBY_FINISH 0x20
#define RUBY_C	    0x80

/* clang-format off */

/*                      runtime: interpreters, of one: next, first thread; of a thread: next, pthread_self();
 *                                              -> frame:       frame: size, code, position, next, bytes  skip; where it is entered */
#define PY_SHAPE(head, inext, ithread, tnext, tself, to, again, bytes, code, at, back, wide, relative, owner, shim, first, in) \
	{.start = LANG_START_LIST, .shape = LANG_LINKED, .of_thread = NO, .interpreters = (head), .next_interpreter = (inext),     \
	 .first_thread = (ithread), .next_thread = (tnext), .thread_pointer = (tself), .top = (to),                 \
	 .top_again = (again), .size = (bytes), .object = (code), .position = (at), .next = (back),                 \
	 .position_size = (wide), .is_relative = (relative), .line = NO, .skip_at = (owner), .skip = (shim), .check = (first), \
	 .entry = (in), .entry_at = 68, .entry_bits = 0xff}

/*               of the executor's globals: frame; of a function: file */
#define PHP_SHAPE(frame, file)                                                                                         \
	{.start = LANG_START_ROOT, .shape = LANG_LINKED, .top = (frame), .top_again = NO, .size = 56, .object = 24,     \
	 .position = 0, .next = 48, .position_size = 8, .line = 24, .check = (file) + 8, .entry = IN_BITS,              \
	 .entry_at = 40, .entry_bits = 1u << 17 /* it is at the bottom of a loop */}

/*                of a control frame: bytes */
#define RUBY_FRAMES(bytes)                                                                                            \
	.shape = LANG_ARRAY, .top = 16, .top_again = NO, .base = 0, .words = 8, .size = (bytes), .object = 16,          \
	.position = 0, .position_size = 8, .line = NO, .check = 16, .entry = LANG_ENTRY_FLAGS, .entry_at = 32,          \
	.entry_bits = RUBY_FINISH | RUBY_C, .entry_value = RUBY_FINISH
#define RUBY_SHAPE(bytes) {.start = LANG_START_TLS, RUBY_FRAMES(bytes)}
/*                the virtual machine: its threads; of one: next, pthread_self(), execution context */
#define RUBY_LIST(threads, tnext, tself, context, bytes)                                                              \
	{.start = LANG_START_LIST, .next_interpreter = LANG_NO_NEXT, .first_thread = (threads), .next_thread = (tnext), \
	 .thread_pointer = (tself), .of_thread = (context), RUBY_FRAMES(bytes)}

/*                of the interpreter: statement, stack; of a block: bytes, sub; of a stack: what it is for */
#define PERL_SHAPE(from, cop, stacks, bytes, sub, use)                                                                   \
	{.start = (from), .shape = LANG_BLOCKS, .top = (cop), .top_again = NO, .base = (stacks), .words = 8,            \
	 .last = 32, .type = 0, .size = (bytes), .object = (sub), .position = 16, .next = 16, .line = NO, .check = NO,  \
	 .is_pair = true, .entry = LANG_ENTRY_RETURNS, .entry_at = 48, .stack_use = (use)}
#define PERL_OF_KEY    LANG_START_KEY
#define PERL_OF_THREAD LANG_START_TLS
#define PERL_NAMES(aux) .perl = {36, 48, 92, 56, 32, 32, 56, 40, (aux)}

static const struct lang_layout layouts[] = {
	{LANG_PYTHON, 3, 9,  PY_SHAPE(32,  0,    8,    8, 176, 24, NO, 112, 32, 104, 24, 4, false, 0,  0, 40, IN_EACH),
	 .python = {104, 112, NO,  40, 120, 0,   48, 72, 1, LINES_PAIRS}},
	{LANG_PYTHON, 3, 10, PY_SHAPE(32,  0,    8,    8, 176, 24, NO, 104, 32, 96,  24, 4, false, 0,  0, 40, IN_EACH),
	 .python = {104, 112, NO,  40, 120, 0,   48, 72, 1, LINES_SIGNED}},
	{LANG_PYTHON, 3, 11, PY_SHAPE(40,  0,    16,   8, 152, 56, 8,  72,  32, 56,  48, 8, true,  0,  0, 72, IN_BITS),
	 .python = {112, 120, 128, 72, 136, 184, 48, 72, 2, LINES_LOCATIONS}},
	{LANG_PYTHON, 3, 12, PY_SHAPE(40,  0,    72,   8, 136, 56, 0,  72,  0,  56,  8,  8, true,  70, 3, 68, IN_SKIPPED),
	 .python = {112, 120, 128, 68, 136, 192, 40, 56, 2, LINES_LOCATIONS}},
	{LANG_PYTHON, 3, 13, PY_SHAPE(632, 7264, 7344, 8, 152, 72, NO, 72,  0,  56,  8,  8, true,  70, 3, 68, IN_SKIPPED),
	 .python = {112, 120, 128, 68, 136, 200, 40, 56, 2, LINES_LOCATIONS}},

	{LANG_PHP, 7, 4, PHP_SHAPE(488, 136), .php = {136}},
	{LANG_PHP, 8, 0, PHP_SHAPE(488, 144), .php = {144}},
	{LANG_PHP, 8, 1, PHP_SHAPE(488, 144), .php = {144}},
	{LANG_PHP, 8, 2, PHP_SHAPE(488, 152), .php = {152}},
	{LANG_PHP, 8, 3, PHP_SHAPE(488, 144), .php = {144}},
	{LANG_PHP, 8, 4, PHP_SHAPE(488, 168), .php = {168}},
	{LANG_PHP, 8, 5, PHP_SHAPE(512, 168), .php = {168}},

	{LANG_RUBY, 2, 7, RUBY_LIST(312, 0, 72, 32, 56), .ruby = {16, 8, 64, 120, 136, 144, 8,  TEXT_SHORT, 206}},
	{LANG_RUBY, 3, 0, RUBY_SHAPE(56), .ruby = {16, 8, 64, 120, 136, 144, 8,  TEXT_SHORT, 202}},
	{LANG_RUBY, 3, 1, RUBY_SHAPE(64), .ruby = {16, 8, 64, 120, 136, 144, 12, TEXT_SHORT, 202}},
	{LANG_RUBY, 3, 2, RUBY_SHAPE(64), .ruby = {16, 8, 64, 112, 128, 136, 12, TEXT_ANY, 202}},
	{LANG_RUBY, 3, 3, RUBY_SHAPE(56), .ruby = {16, 8, 64, 112, 128, 136, 12, TEXT_ANY, 204}},
	{LANG_RUBY, 3, 4, RUBY_SHAPE(56), .ruby = {16, 8, 64, 112, 128, 136, 12, TEXT_ANY, 220}},

	{LANG_PERL, 5, 30, PERL_SHAPE(PERL_OF_KEY,    224, 240, 96,  64, 40), PERL_NAMES(NO)},
	{LANG_PERL, 5, 32, PERL_SHAPE(PERL_OF_KEY,    224, 240, 104, 72, 44), PERL_NAMES(NO)},
	{LANG_PERL, 5, 34, PERL_SHAPE(PERL_OF_KEY,    208, 224, 104, 72, 44), PERL_NAMES(NO)},
	{LANG_PERL, 5, 36, PERL_SHAPE(PERL_OF_THREAD, 208, 224, 104, 72, 44), PERL_NAMES(32)},
	{LANG_PERL, 5, 38, PERL_SHAPE(PERL_OF_THREAD, 208, 224, 104, 72, 44), PERL_NAMES(32)},
	{LANG_PERL, 5, 40, PERL_SHAPE(PERL_OF_THREAD, 208, 224, 104, 72, 44), PERL_NAMES(32)},
	{LANG_PERL, 5, 42, PERL_SHAPE(PERL_OF_THREAD, 208, 224, 104, 72, 44), PERL_NAMES(32)},
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
