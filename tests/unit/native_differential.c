/* Random programs as machine code in this process: help/differential.h. */
#include "help/check.h"
#include "help/differential.h"
#include "help/in_process.h"

static void engines_agree(void **state)
{
	(void)state;
	differential_run(&engine_in_process, repetitions(400, 2000), native_undoable);
}

static void engines_agree_on_clauses(void **state)
{
	(void)state;
	differential_clauses(&engine_in_process, 1024, native_undoable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_agree),
		cmocka_unit_test(engines_agree_on_clauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
