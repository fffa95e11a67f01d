/* The cases of tests/cases/run/: scripts with all that they print, from text to text: script ->
 * program -> an engine in this process -> report. The cases name no engine; here `tick ARGS` is
 * played by a table of what tests/targets/tick.c fires for these arguments. */
#ifndef NOPAL_TESTS_HELP_TICK_CASE_H
#define NOPAL_TESTS_HELP_TICK_CASE_H

#include "help/case_suite.h"

#include "engine/interp/interp.h"

#define TICK_CASES "tests/cases/run/*.txt"
#define TICK_KEYS  "script args fire out"

/* An engine whose sites are hit by calls. */
struct case_engine {
	const struct engine_ops *ops;
	int (*fire)(struct engine *e, uint32_t clause, uint32_t attach, const struct context *c);
	void (*started)(struct engine *e, uint64_t nsecs); /* what `elapsed` counts from; or NULL */
};

/* Fails the test unless the case prints what it says. */
void tick_case_run(const struct test_case *test, const struct case_engine *engine);

#endif
