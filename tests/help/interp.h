/* Help for tests of the interpreter: a program as text, a process to run it on, and all that came
 * out of it as text. */
#ifndef NOPAL_TESTS_HELP_INTERP_H
#define NOPAL_TESTS_HELP_INTERP_H

#include "base/array.h"
#include "help/program_text.h"
#include "engine/interp/interp.h"

/* An engine around a program, and what came out of it. */
struct bench {
	struct test_program t;
	struct diag d;
	struct engine *e;
	struct buf out; /* records and maps as text */
};

struct context test_context(void);
void bench_open(struct bench *b, const char *text, const struct engine_options *options);
void bench_close(struct bench *b);

/* Everything that can be seen: records, maps, faults. */
const char *bench_show(struct bench *b);
void run_row(const char *prologue, const char *code, const char *want, const struct arch *arch);

#endif
